"""Text to frames: one per line, as NDJSON and JSON Lines have them.

https://github.com/ndjson/ndjson-spec, https://jsonlines.org: lines end with LF,
a CR before it is dropped, blank lines are skipped. A CR alone is white space in
JSON and ends nothing. The last line without its LF is torn, unless the dialect
accepts a tail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from .faults import LimitExceeded
from .frame import Frames, Pieces, Span, Text, size_of
from .outcome import Boundary
from .stage import Cut, Ending

__all__ = ["LineFramer"]

BATCH: Final = 64
_BLANK: Final = " \t\r"


class LineFramer:
    """Turn `Text` into lines that are not blank, each without its line end.

    `frame_bytes` bounds the unfinished line; the LF that ends it is not counted.
    `tail`: hand on the last line although no LF ends it, if the transport ended
    by itself and not inside a character.
    """

    # None of these is registered; each is what somebody serves.
    media_types: ClassVar = frozenset(
        {
            "application/x-ndjson",
            "application/ndjson",
            "application/jsonl",
            "application/jsonlines",
            "application/x-jsonlines",
            "application/json-lines",
            "application/stream+json",
        }
    )

    __slots__ = ("_kept", "_limit", "_line", "_settled", "_tail", "comments", "largest")

    def __init__(self, frame_bytes: int, *, tail: bool = False) -> None:
        self._limit = frame_bytes
        self._tail = tail
        self._line = Pieces()
        self._kept = 0
        self._settled = 0
        self.comments = 0
        self.largest = 0
        """Characters in the largest line."""

    @property
    def open(self) -> int:
        """Bytes of the unfinished line."""
        return self._kept

    def feed(self, piece: Text) -> Iterator[Frames[str]]:
        """Return the lines that end in `piece`; raises `LimitExceeded`."""
        items: list[str] = []
        spans: list[Span] = []
        text, offset, end, held, _ = piece
        at = 0
        try:
            while at < len(text):
                at, offset = self._read(piece, at, offset, items, spans)
                if len(items) >= BATCH:
                    yield items, self._settle(offset), spans.__getitem__
                    items, spans = [], []
            self._check(self._kept + held, end + held)
        except LimitExceeded:
            yield items, 0, spans.__getitem__
            raise
        yield items, self._settle(end), spans.__getitem__

    def _settle(self, offset: int) -> int:
        """Return how many bytes are done with at `offset`, since it was last asked."""
        settled = offset - self._kept
        size, self._settled = settled - self._settled, settled
        return size

    def end(self, ending: Ending) -> tuple[list[Frames[str]], Ending]:
        """Mark a cut that came inside a line, or hand that line on."""
        if not isinstance(ending, Cut) or not self._line:
            return [], ending
        if not (self._tail and ending.clean):
            return [], ending.inside(Boundary.FRAME)
        items: list[str] = []
        span = (ending.offset - self._kept, ending.offset)
        self._end_line(items)
        return [(items, 0, span)], ending

    def _read(
        self, piece: Text, at: int, offset: int, items: list[str], spans: list[Span]
    ) -> tuple[int, int]:
        """Read on from the character `at`, byte `offset`, up to the next LF."""
        text = piece[0]
        found = text.find("\n", at)
        stop = len(text) if found < 0 else found
        if stop > at:
            size = size_of(piece, at, stop)
            self._check(self._kept + size, offset + size)
            self._line.add(text[at:stop])
            self._kept += size
            offset += size
        if found < 0:
            return stop, offset
        spans_from = offset - self._kept
        if self._end_line(items):
            spans.append((spans_from, offset + 1))
        return stop + 1, offset + 1

    def _check(self, kept: int, end: int) -> None:
        if kept > self._limit:
            raise LimitExceeded("frame_bytes", self._limit, offset=end - (kept - self._limit))

    def _end_line(self, items: list[str]) -> bool:
        """Take the line that has ended; return whether it is one to hand on."""
        line, self._kept = self._line.take().removesuffix("\r"), 0
        if not line.strip(_BLANK):
            return False
        items.append(line)
        self.largest = max(self.largest, len(line))
        return True
