"""A dialect around another: the same wire, other events."""

from __future__ import annotations

from typing import Any, TypeVar

from .limits import Limits
from .reduce import Decoder, Dialect, Framer

__all__ = ["Around"]

E = TypeVar("E")
V = TypeVar("V")


class Around(Dialect[E, V]):
    """Takes the first two stages of `dialect` as they are; write `reducer`."""

    def __init__(self, dialect: Dialect[Any, V]) -> None:
        self.dialect = dialect
        self.limits = dialect.limits
        self.errors = dialect.errors
        self.media_types = dialect.media_types
        self.asks = dialect.asks  # type: ignore[misc]  # its reducer is still the one that asks

    def decoder(self, limits: Limits) -> Decoder:
        """Return the dialect's own."""
        return self.dialect.decoder(limits)

    def framer(self, limits: Limits) -> Framer:
        """Return the dialect's own."""
        return self.dialect.framer(limits)
