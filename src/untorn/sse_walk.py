"""Text to frames: the event stream interpretation of the HTML Standard.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

It goes from one line end to the next, and knows at which byte it stands. It is the
definition: `SseFramer` gives the same frames, and is faster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final, TypeAlias

from .faults import LimitExceeded
from .frame import (
    BATCH,
    CarriedId,
    Comment,
    Cursor,
    Extra,
    Frames,
    Pieces,
    Span,
    SseFrame,
    Stray,
    Tail,
    Text,
    size_of,
)
from .outcome import Boundary
from .stage import Cut, Ending

__all__ = ["Batch", "SseItem", "SseWalk"]

SseItem: TypeAlias = SseFrame | Extra

# What the line that is being read is, so far.
_AT_START, _IN_LINE, _IN_COMMENT = range(3)
# What a LF would be, were it the next character.
_LINE_END, _REST_OF_CRLF, _REST_OF_KEPT_CRLF = range(3)
# int() refuses more than 4,300 digits; 10**18 ms is longer than anybody waits.
_LONGEST_RETRY: Final = 18


class SseWalk:
    """The interpretation, which `SseFramer` gives as well; see there."""

    media_types: ClassVar = frozenset({"text/event-stream"})

    __slots__ = (
        "_asks",
        "_data",
        "_event",
        "_fields",
        "_frame_start",
        "_has_id",
        "_id",
        "_kept_before_comment",
        "_last_id",
        "_limit",
        "_line",
        "_line_is",
        "_next_lf",
        "_retry",
        "_settled",
        "_walking",
        "comments",
        "largest",
        "open",
    )

    def __init__(
        self, frame_bytes: int, asks: Iterable[type[Extra]] = (), last_event_id: str = ""
    ) -> None:
        self._limit = frame_bytes
        self._asks = frozenset(asks)
        self.comments = 0
        """Comment lines seen."""
        self.largest = 0
        """Characters of data in the largest frame."""
        self.open = 0
        """Bytes of the unfinished frame."""
        # The line that is being read: its pieces, joined once when it ends.
        self._line = Pieces()
        self._line_is = _AT_START
        self._next_lf = _LINE_END
        # The block that is being read, in the standard's words: data buffer,
        # event type buffer, last event ID buffer; and whether it has any line.
        self._data: list[str] = []
        self._event = ""
        self._id = CarriedId(last_event_id) if last_event_id else ""
        self._has_id = False  # of its own
        self._retry: int | None = None
        self._fields = False
        self._kept_before_comment = 0
        # Whether any of that is begun.
        self._walking = False
        # The last event ID in force; where the block began; what is done with.
        self._last_id = self._id
        self._frame_start = 0
        self._settled = 0

    def feed(self, piece: Text) -> Iterable[Frames[SseItem]]:
        """Return the frames that end in `piece`; raises `LimitExceeded`."""
        to_clean = self._walking = bool(self._line_is or self._fields or self._next_lf)
        batch = Batch()
        text, offset, end, held, made = piece
        at = 0
        if not to_clean:
            self._frame_start = offset  # a byte order mark may lie before it
        try:
            while at < len(text):
                at, offset = self._walk(piece, at, offset, batch, to_clean=to_clean)
                self._walking = bool(self._line_is or self._fields or self._next_lf)
                if to_clean and not self._walking:
                    break
                if len(batch.items) >= BATCH:
                    yield batch.items, self._settle(offset), batch.span
                    batch = Batch()
            if at == len(text) and held:
                self._check_held(held, end)
        except LimitExceeded:
            yield batch.items, 0, batch.span
            raise
        yield batch.items, self._settle(offset), batch.span
        if at < len(text):
            yield from self.feed((text[at:], offset, end, held, made))

    def end(self, ending: Ending) -> tuple[list[Frames[SseItem]], Ending]:
        """Mark a cut that came inside a frame. Nothing is dispatched at the end."""
        if not isinstance(ending, Cut) or not (self._fields or self._line_is):
            return [], ending
        torn = ending.inside(Boundary.FRAME)
        if Tail not in self._asks:
            return [], torn
        batch = Batch()
        place = batch.walked(self._frame_start, ending.offset)
        place.append(Tail("\n".join(self._data), "".join(self._line)))
        return [(batch.items, 0, batch.span)], torn

    def span_of(self, piece: Text, number: int) -> Span:
        """Walk `piece` from a clean start and return where the item of this number stands."""
        self._frame_start = offset = piece[1]
        at, before = 0, 0
        while True:
            batch = Batch()
            at, offset = self._walk(piece, at, offset, batch)
            if number < before + len(batch.items):
                return batch.span(number - before)
            before += len(batch.items)

    def _settle(self, offset: int) -> int:
        """Return how many bytes are done with at `offset`, since it was last asked."""
        settled = offset - self.open
        size, self._settled = settled - self._settled, settled
        return size

    def _walk(
        self, piece: Text, at: int, offset: int, batch: Batch, *, to_clean: bool = False
    ) -> tuple[int, int]:
        """Read on from the character `at`, byte `offset`; stop when the batch is full.

        `to_clean`: stop as soon as no block is open.
        """
        text = piece[0]
        stops = _LineEnds(text)
        while at < len(text) and len(batch.items) < BATCH:
            if self._next_lf:
                if text[at] == "\n":
                    self._swallow_lf(offset)
                    at, offset = at + 1, offset + 1
                    continue
                self._next_lf = _LINE_END
            if to_clean and not (self._line_is or self._fields):
                break
            stop = stops.after(at)
            if stop > at:
                size = size_of(piece, at, stop)
                self._content(text[at:stop], size, offset)
                at, offset = stop, offset + size
            if at < len(text):
                self._line_end(offset, text[at] == "\r", batch)
                at, offset = at + 1, offset + 1
        return at, offset

    def _content(self, part: str, size: int, offset: int) -> None:
        """Read a part of a line, of `size` bytes."""
        if self._line_is == _AT_START:
            self._line_is = _IN_COMMENT if part[0] == ":" else _IN_LINE
            self._kept_before_comment = self.open
        if self._line_is == _IN_LINE or Comment in self._asks:
            self._keep(size, offset)
            self._line.add(part)

    def _begin_line(self, part: str) -> None:
        """Go on behind a part of a line that is counted already."""
        self._line.add(part)
        self._line_is = _IN_LINE

    def _line_end(self, offset: int, is_cr: bool, batch: Batch) -> None:
        """Read the line end that stands at `offset`."""
        line_is, self._line_is = self._line_is, _AT_START
        next_lf = _REST_OF_CRLF
        if line_is == _IN_LINE:
            self._keep(1, offset)
            self._fields = True
            self._field(self._line.take(), batch.walked(self._frame_start, offset + 1))
            next_lf = _REST_OF_KEPT_CRLF
        elif line_is == _IN_COMMENT:
            self.comments += 1
            if Comment in self._asks:
                self.open = self._kept_before_comment
                place = batch.walked(self._frame_start, offset + 1)
                place.append(Comment(self._line.take()[1:]))
            if not self._fields:  # a frame begins with its first line that counts
                self._frame_start = offset + 1
        else:
            self._dispatch(batch.walked(self._frame_start, offset + 1))
            self._fields, self.open, self._frame_start = False, 0, offset + 1
        self._next_lf = next_lf if is_cr else _LINE_END

    def _swallow_lf(self, offset: int) -> None:
        """Read the LF of a CRLF, whose CR has ended the line already."""
        if self._next_lf == _REST_OF_KEPT_CRLF:
            self._keep(1, offset)
        elif offset == self._frame_start:
            self._frame_start += 1
        self._next_lf = _LINE_END

    def _keep(self, size: int, offset: int) -> None:
        """Keep `size` more bytes, of which the first stands at `offset`."""
        beyond = self.open + size - self._limit
        if beyond > 0:
            first = offset + size - beyond
            raise LimitExceeded("frame_bytes", self._limit, offset=first)
        self.open += size

    def _check_held(self, held: int, end: int) -> None:
        """Count the bytes of an unfinished character, so that a limit is seen in its midst."""
        if self._line_is != _IN_COMMENT or Comment in self._asks:
            kept = self.open
            self._keep(held, end)
            self.open = kept

    def _field(self, line: str, items: list[SseItem]) -> None:
        """Process a line that is neither blank nor a comment."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id":
            if "\0" not in value:
                self._id, self._has_id = value, True
        elif name == "retry":
            self._set_retry(value, items)
        elif Stray in self._asks:
            items.append(Stray(line))

    def _set_retry(self, value: str, items: list[SseItem]) -> None:
        if value.isascii() and value.isdigit():
            digits = value.lstrip("0") or "0"
            long = len(digits) > _LONGEST_RETRY
            self._retry = 10**_LONGEST_RETRY if long else int(digits)
            if Cursor in self._asks:
                items.append(Cursor(None, self._retry))

    def _dispatch(self, items: list[SseItem]) -> None:
        """Read a blank line."""
        if self._data:
            data = self._data[0] if len(self._data) == 1 else "\n".join(self._data)
            id = self._id if self._has_id else self._carried()
            items.append((self._event or "message", data, id, self._retry))
            self._data = []
            self.largest = max(self.largest, len(data))
        elif self._id != self._last_id and Cursor in self._asks:
            items.append(Cursor(self._id, None))
        self._last_id = self._id
        self._event, self._has_id, self._retry = "", False, None

    def _carried(self) -> str:
        """Return the id in force, for an event that has none of its own."""
        id = self._last_id
        if id and type(id) is str:
            id = self._id = self._last_id = CarriedId(id)
        return id


class _LineEnds:
    """Finds line ends from left to right, each kind of which is looked for once."""

    __slots__ = ("_cr", "_lf", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._lf = self._cr = -1

    def after(self, at: int) -> int:
        """Return where the next CR or LF stands, or the length."""
        if self._lf < at:
            self._lf = self._find("\n", at)
        if self._cr < at:
            self._cr = self._find("\r", at)
        return min(self._lf, self._cr)

    def _find(self, line_end: str, at: int) -> int:
        found = self._text.find(line_end, at)
        return found if found >= 0 else len(self._text)


class Batch:
    """Items that were walked, and where they stand."""

    __slots__ = ("_spans", "items")

    def __init__(self) -> None:
        self.items: list[SseItem] = []
        self._spans: dict[int, Span] = {}

    def walked(self, start: int, end: int) -> list[SseItem]:
        """Return the list to add an item to that stands from `start` to `end`, if one comes."""
        self._spans[len(self.items)] = (start, end)
        return self.items

    def span(self, index: int) -> Span:
        """Return where the item at `index` stands."""
        return self._spans[index]
