"""A text without the secrets that a service repeats in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from ..secrets import SHORTEST
from ..spelling import Spelled

__all__ = ["Redaction"]

_FILLER: Final = "*"
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


class Redaction:
    """Puts as many asterisks in the place of secrets as they have characters.

    In that of a secret that is a number there is another one, for the sake of JSON.

    What comes in pieces is as if it had come at once: where one ends in what may be the
    beginning of a secret, that is held back until there is more.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        secrets = {*secrets}
        self._spelled = Spelled(secrets)
        digits = (digit for digit in "123456789" if {digit} not in map(set, secrets))
        self._digit = next(digits, "1")
        # What is held back, as it came and as it is to be shown so far.
        self._held = self._shown = ""

    def feed(self, text: str) -> str:
        """Return what may be shown by now."""
        text = self._held + text
        shown = self._painted(text, self._shown + text[len(self._held) :])
        stop = self._spelled.begun(text)
        self._held, self._shown = text[stop:], shown[stop:]
        return shown[:stop]

    def end(self) -> str:
        """Return what was held back; if it tells much of a secret, asterisks."""
        shown, much = self._shown, len(self._held) >= SHORTEST
        self._held = self._shown = ""
        return _FILLER * len(shown) if much else shown

    def text(self, text: str) -> str:
        """Return what may be shown of a text that is whole."""
        return self._painted(text, text)

    def json(self, text: str) -> str:
        """Return what may be shown of a JSON text: its strings are seen to, and stay strings."""
        return _STRING.sub(self._string, text) if self._spelled else text

    def octets(self, data: bytes) -> bytes:
        """Return what may be shown by now of bytes, whether they are UTF-8 or Latin-1."""
        return self.feed(data.decode("latin-1")).encode("latin-1")

    def _string(self, found: re.Match[str]) -> str:
        text = json.loads(found[0])
        shown = self.text(text)
        return found[0] if shown == text else json.dumps(shown, ensure_ascii=False)

    def _painted(self, text: str, shown: str) -> str:
        """Return what is shown of a text, where part of it may be hidden already."""
        spans = [*self._spelled.spans(text)]
        if not spans:
            return shown
        painted = [*shown]
        for start, end in spans:
            if _is_number(text[start:end]):  # it stays one, unless it is part of another secret
                for at in range(start, end):
                    painted[at] = _FILLER if painted[at] == _FILLER else self._digit
            else:
                painted[start:end] = _FILLER * (end - start)
        return "".join(painted)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
