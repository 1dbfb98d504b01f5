"""Text to frames: one per line, as NDJSON and JSON Lines have them.

https://github.com/ndjson/ndjson-spec, https://jsonlines.org: lines end with LF,
a CR before it is dropped, blank lines are skipped. A CR alone is white space in
JSON and ends nothing. The last line without its LF is torn, unless the dialect
accepts a tail.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Final, Generic, TypeVar

from .faults import LimitExceeded, StreamFault
from .frame import BATCH, Frames, Pieces, Span, Text, size_of
from .outcome import Boundary
from .stage import Cut, Ending

__all__ = ["LfFramer", "LineFramer"]

F = TypeVar("F")

_BLANK: Final = " \t\r"


class LfFramer(ABC, Generic[F]):
    """What framers do that go from one LF to the next; write `_end_line`.

    `frame_bytes` bounds the unfinished frame, of which `_kept` bytes are here.
    """

    __slots__ = ("_kept", "_limit", "_line", "_settled", "comments", "largest")

    def __init__(self, frame_bytes: int) -> None:
        self._limit = frame_bytes
        self._line = Pieces()
        self._kept = 0
        self._settled = 0
        self.comments = 0
        self.largest = 0
        """Characters of data in the largest frame."""

    @property
    def open(self) -> int:
        """Bytes of the unfinished frame."""
        return self._kept

    def feed(self, piece: Text) -> Iterator[Frames[F]]:
        """Return the frames that end in `piece`; raises a fault at the first that is wrong."""
        items: list[F] = []
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
        except StreamFault:
            yield items, 0, spans.__getitem__
            raise
        yield items, self._settle(end), spans.__getitem__

    def _read(
        self, piece: Text, at: int, offset: int, items: list[F], spans: list[Span]
    ) -> tuple[int, int]:
        """Read on from the character `at`, byte `offset`, up to the next LF."""
        text = piece[0]
        found = text.find("\n", at)
        stop = len(text) if found < 0 else found
        if stop > at:
            size = size_of(piece, at, stop)
            offset += size
            self._keep(size, offset)
            self._line.add(text[at:stop])
        if found < 0:
            return stop, offset
        self._end_line(self._line.take().removesuffix("\r"), offset + 1, items, spans)
        return stop + 1, offset + 1

    @abstractmethod
    def _end_line(self, line: str, end: int, items: list[F], spans: list[Span]) -> None:
        """Take a line whose LF ends at byte `end`; add the frame that it makes, and its span."""

    def _keep(self, size: int, end: int) -> None:
        """Keep `size` more bytes, which end at byte `end`."""
        self._check(self._kept + size, end)
        self._kept += size

    def _check(self, kept: int, end: int) -> None:
        if kept > self._limit:
            raise LimitExceeded("frame_bytes", self._limit, offset=end - (kept - self._limit))

    def _settle(self, offset: int) -> int:
        """Return how many bytes are done with at `offset`, since it was last asked."""
        settled = offset - self._kept
        size, self._settled = settled - self._settled, settled
        return size


class LineFramer(LfFramer[str]):
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

    __slots__ = ("_tail",)

    def __init__(self, frame_bytes: int, *, tail: bool = False) -> None:
        super().__init__(frame_bytes)
        self._tail = tail

    def end(self, ending: Ending) -> tuple[list[Frames[str]], Ending]:
        """Mark a cut that came inside a line, or hand that line on."""
        if not isinstance(ending, Cut) or not self._line:
            return [], ending
        if not (self._tail and ending.clean):
            return [], ending.inside(Boundary.FRAME)
        items: list[str] = []
        span = (ending.offset - self._kept, ending.offset)
        self._end_line(self._line.take().removesuffix("\r"), ending.offset, items, [])
        return [(items, 0, span)], ending

    def _end_line(self, line: str, end: int, items: list[str], spans: list[Span]) -> None:
        if line.strip(_BLANK):
            items.append(line)
            spans.append((end - 1 - self._kept, end))
            self.largest = max(self.largest, len(line))
        self._kept = 0
