"""Bytes to text: the UTF-8 decoder.

"UTF-8 decode" of the Encoding Standard (https://encoding.spec.whatwg.org/#utf-8-decode):
one leading BOM is dropped, an ill-formed sequence is replaced by one U+FFFD per
maximal subpart (`errors="replace"`) or ends the stream (`errors="strict"`).

It holds at most three bytes, and hands on every character with its last byte.
"""

from __future__ import annotations

import logging
from codecs import utf_8_decode
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from .faults import InvalidUtf8, LimitExceeded
from .frame import Text
from .outcome import Boundary
from .stage import Cut, Ending

__all__ = ["Errors", "Utf8Decoder"]

Errors = Literal["strict", "replace"]

_BOM: Final = b"\xef\xbb\xbf"
# An ill-formed run is mended a window at a time: the codec copies its whole
# input into the exception, which over a whole read of bad bytes is quadratic.
_WINDOW: Final = 512
# The bytes that can begin a character of more than one byte.
_FIRST_LEAD: Final = 0xC2
_LAST_LEAD: Final = 0xF4
_log: Final = logging.getLogger("untorn")


class Utf8Decoder:
    """Turn chunks of bytes into `Text`.

    `replacements` counts the U+FFFD that were made here, `literal_replacements`
    those that came in as EF BF BD.
    """

    __slots__ = (
        "_at_start",
        "_held",
        "_strict",
        "_total",
        "literal_replacements",
        "offset",
        "replacements",
    )

    def __init__(self, errors: Errors = "strict", total_bytes: int | None = None) -> None:
        self._strict = errors == "strict"
        self._total = total_bytes
        self._held = b""
        self._at_start = True  # nothing handed on yet, so a BOM may still come
        self.offset = 0
        """Bytes fed so far."""
        self.replacements = 0
        self.literal_replacements = 0

    def feed(self, chunk: bytes) -> Iterable[Text]:
        """Return the text whose last byte is in `chunk`; raises `InvalidUtf8`, `LimitExceeded`."""
        # Nearly every read: nothing is held, and what ends with ASCII ends a character.
        plain = not (self._held or self._at_start) and self._total is None
        if plain and chunk and chunk[-1] < 0x80:
            try:
                text = chunk.decode()
            except UnicodeDecodeError:
                return self._feed(chunk)
            start = self.offset
            self.offset = end = start + len(chunk)
            if "\ufffd" in text:
                self.literal_replacements += text.count("\ufffd")
            return ((text, start, end, 0, 0),)
        return self._feed(chunk)

    def _feed(self, chunk: bytes) -> Iterable[Text]:
        if self._total is not None and self.offset + len(chunk) > self._total:
            return self._feed_to_limit(chunk[: self._total - self.offset])
        start = self.offset - len(self._held)
        self.offset += len(chunk)
        data = self._held + chunk if self._held else chunk
        try:
            text, used = utf_8_decode(data, "strict", False)
        except UnicodeDecodeError:
            return self._mend(data, start)
        held = data[used:] if used != len(data) else b""
        if _is_surrogate(held):
            return self._mend(data, start)
        self._held = held
        return (self._piece(text, start, start + used),)

    def end(self, ending: Ending) -> tuple[list[Text], Ending]:
        """Mark a cut that came inside a character."""
        if isinstance(ending, Cut) and self._held:
            return [], ending.inside(Boundary.CHARACTER)
        return [], ending

    def _feed_to_limit(self, chunk: bytes) -> Iterator[Text]:
        assert self._total is not None
        yield from self.feed(chunk)
        raise LimitExceeded("total_bytes", self._total, offset=self._total)

    def _piece(self, text: str, start: int, end: int) -> Text:
        held = len(self._held)
        if self._at_start:
            if text:
                self._at_start = False
                if text[0] == "\ufeff":
                    text, start = text[1:], start + 3
            elif _BOM.startswith(self._held):
                held = 0  # it may be a BOM, which is no part of any frame
        if "\ufffd" in text:
            self.literal_replacements += text.count("\ufffd")
        return text, start, end, held, 0

    def _mend(self, data: bytes, start: int) -> Iterator[Text]:
        """Decode bytes of which some are ill-formed; `start` is where they stand."""
        at, run = 0, 0  # the next byte; U+FFFD made in a row, all `width` wide
        width = 1
        self._held = b""
        while at < len(data):
            text, used, bad = _up_to_ill_formed(data[at : at + _WINDOW])
            if run and (used or len(bad) != width):
                yield self._made(run, width, start + at)
                run = 0
            at += used
            if text:
                yield self._piece(text, start + at - used, start + at)
            if bad:
                if self._strict:
                    yield from self._begun(bad, start + at)
                    raise InvalidUtf8(bad, offset=start + at)
                run, width, at = run + 1, len(bad), at + len(bad)
            elif not used:  # the rest is the beginning of a character
                break
        self._held = data[at:]
        if run:
            yield self._made(run, width, start + at)
        if self._held:
            yield self._piece("", start + at, start + at)

    def _begun(self, bad: bytes, start: int) -> Iterator[Text]:
        """Show that `bad` was held, if it was: a limit may have been passed in its midst."""
        if _FIRST_LEAD <= bad[0] <= _LAST_LEAD:
            self._held = bad
            yield self._piece("", start, start)

    def _made(self, count: int, width: int, end: int) -> Text:
        start = end - count * width
        if not self.replacements:
            _log.warning("ill-formed UTF-8 at byte %d was replaced by U+FFFD", start)
        self._at_start = False
        self.replacements += count
        return "\ufffd" * count, start, end, 0, count


def _up_to_ill_formed(window: bytes) -> tuple[str, int, bytes]:
    """Return the text that `window` begins with, its bytes, and the ill-formed ones behind it."""
    try:
        text, used = utf_8_decode(window, "strict", False)
    except UnicodeDecodeError as error:
        used = error.start
        return window[:used].decode(), used, window[used : error.end]
    return text, used, window[used : used + 1] if _is_surrogate(window[used:]) else b""


def _is_surrogate(held: bytes) -> bool:
    """Say whether `held` begins a surrogate, which the codec finds wrong one byte too late."""
    return b"\xed\xa0" <= held < b"\xee"
