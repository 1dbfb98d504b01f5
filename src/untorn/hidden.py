"""Texts without what requests keep secret.

Clients quote a header they refuse to send, and servers repeat what they were sent, in
bodies and inside streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from .secrets import SHORTEST, secrets_of
from .spelling import Spelled

__all__ = ["HIDDEN", "Hiding", "in_octets"]

HIDDEN: Final = "[hidden]"
_CUT: Final = "..."
"""What a sentence has where it leaves something out."""
_SENTENCE: Final = 4096
"""Characters; what is longer is a payload, and nobody has cut it."""


class Hiding:
    """Puts `[hidden]` in the place of what requests (of httpx2, httpx or aiohttp) keep secret.

    secrets
        What is secret besides.
    """

    def __init__(self, *requests: Any, secrets: Iterable[str] = ()) -> None:
        found = {secret for secret in secrets if len(secret) >= SHORTEST}
        self._spelled = Spelled(found.union(*map(secrets_of, requests)))

    def __bool__(self) -> bool:
        return bool(self._spelled)

    def text(self, text: str) -> str:
        """Return a text without them."""
        whole, last = [], 0
        for start, end in sorted(self._spelled.spans(text)):
            if start >= last:
                whole += [text[last:start], HIDDEN]
            last = max(last, end)
        return "".join([*whole, text[last:]])

    def begun(self, text: str) -> str:
        """Return a text without them, nor the beginning of one at its end, where it was cut off."""
        text = self.text(text)
        start = self._spelled.begun(text)
        return text if len(text) - start < SHORTEST else text[:start] + HIDDEN

    def sentence(self, text: str) -> str:
        """Return a text without them, nor what is left of one where dots say that it was cut."""
        text = self.text(text)
        if len(text) > _SENTENCE or _CUT not in text:
            return text
        *cut, last = text.split(_CUT)
        return _CUT.join([*map(self._cut, cut), last])

    def _cut(self, part: str) -> str:
        return part if len(part) < SHORTEST else self.begun(part)


def in_octets(data: bytes, hide: Callable[[str], str]) -> bytes:
    """Return what `hide` leaves of bytes, whether they are UTF-8 or Latin-1."""
    text = data.decode("latin-1")
    hidden = hide(text)
    return data if hidden == text else hidden.encode("latin-1")
