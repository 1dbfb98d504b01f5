"""A body without the secrets that a service repeats in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..secrets import SHORTEST

__all__ = ["Redaction"]

_FILLER: Final = b"*"


class Redaction:
    """Puts asterisks, as many as there were bytes, in the place of secrets.

    So every byte stays where it was. A read that ends as a secret begins gives up its
    last bytes to the next one, for they may belong together.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        """Take the secrets, the longest first."""
        self._secrets = [secret.encode("utf-8", "surrogateescape") for secret in secrets]
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what may be shown of a read."""
        data = self._held + data
        for secret in self._secrets:
            data = data.replace(secret, _FILLER * len(secret))
        stop = len(data) - max((_begun(secret, data) for secret in self._secrets), default=0)
        self._held = data[stop:]
        return data[:stop]

    def text(self, text: str) -> str:
        """Return what may be shown of a text that is whole."""
        data = text.encode("utf-8", "surrogateescape")
        for secret in self._secrets:
            data = data.replace(secret, _FILLER * len(secret))
        return data.decode("utf-8", "surrogateescape")

    def end(self) -> bytes:
        """Return what was held back: the beginning of a secret, hidden if it tells much of it."""
        held, self._held = self._held, b""
        size = max((_begun(secret, held) for secret in self._secrets), default=0)
        return held if size < SHORTEST else _FILLER * len(held)


def _begun(secret: bytes, data: bytes) -> int:
    """Return how many of the last bytes are the beginning of a secret."""
    most = min(len(secret), len(data))
    return next((size for size in range(most, 0, -1) if data.endswith(secret[:size])), 0)
