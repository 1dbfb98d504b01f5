"""A dialect around another: the same wire, other events."""

from __future__ import annotations

from typing import Any, TypeVar

from .faults import shortened
from .limits import Limits
from .reduce import Decoder, Dialect, Framer

__all__ = ["Around", "require_dialect"]

E = TypeVar("E")
V = TypeVar("V")


def require_dialect(dialect: object) -> None:
    """Check what is to be wrapped; raises `TypeError`."""
    if isinstance(dialect, type):
        name = dialect.__name__
        raise TypeError(f"This takes a dialect, and {name} is a class: write {name}()")
    if not isinstance(dialect, Dialect):
        raise TypeError(f"This takes a dialect, and {shortened(repr(dialect))} is none")


class Around(Dialect[E, V]):
    """Takes the first two stages of `dialect` as they are; write `reducer`.

    Raises `TypeError` for what is no dialect.
    """

    def __init__(self, dialect: Dialect[Any, V]) -> None:
        require_dialect(dialect)
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
