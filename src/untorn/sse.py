"""Text to frames: the event stream interpretation of the HTML Standard.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

`_walk` is the whole interpretation, one line end after the other, and knows at
which byte it stands. It is the definition. `_blocks` gives the same frames for
whole blocks that lie in one piece, and is fast because it does not know where it
is; when somebody asks where one of its frames stands, the blocks are walked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from .faults import LimitExceeded
from .frame import Comment, Cursor, Extra, Frames, Span, SseFrame, Stray, Tail, Text
from .outcome import Boundary
from .stage import Cut, Ending

__all__ = ["BATCH", "SseFramer", "SseItem"]

SseItem: TypeAlias = SseFrame | Extra

# Frames handed on at once. A consumer must let other tasks run at least every 64
# events, and what a stalled consumer has not asked for stays unparsed.
BATCH: Final = 64

# What the line that is being read is, so far.
_AT_START, _IN_LINE, _IN_COMMENT = range(3)
# What a LF would be, were it the next character.
_LINE_END, _REST_OF_CRLF, _REST_OF_KEPT_CRLF = range(3)
# int() refuses more than 4,300 digits; 10**18 ms is longer than anybody waits.
_LONGEST_RETRY: Final = 18


class SseFramer:
    """Turn `Text` into frames, and into the `Extra` items that are asked for.

    `frame_bytes` bounds the unfinished frame; see `Limits`. The byte that
    completes a frame is not counted: with it nothing is unfinished any more.
    """

    __slots__ = (
        "_asks",
        "_begun",
        "_data",
        "_event",
        "_fields",
        "_frame_start",
        "_id",
        "_kept",
        "_kept_before_comment",
        "_last_id",
        "_limit",
        "_line",
        "_line_is",
        "_next_lf",
        "_retry",
        "_settled",
        "comments",
        "largest",
    )

    def __init__(self, frame_bytes: int, asks: Iterable[type[Extra]] = ()) -> None:
        self._limit = frame_bytes
        self._asks = frozenset(asks)
        self.comments = 0
        """Comment lines seen."""
        self.largest = 0
        """Characters of data in the largest frame."""
        # The line that is being read: its pieces, joined once when it ends.
        self._line: list[str] = []
        self._line_is = _AT_START
        self._next_lf = _LINE_END
        # The block that is being read, in the standard's words: data buffer,
        # event type buffer, last event ID buffer; and whether it has any line.
        self._data: list[str] = []
        self._event = ""
        self._id = ""
        self._retry: int | None = None
        self._fields = False
        self._kept = 0
        self._kept_before_comment = 0
        # The last event ID in force; where the block began; what is done with.
        self._last_id = ""
        self._begun = False
        self._frame_start = 0
        self._settled = 0

    @property
    def open(self) -> int:
        """Bytes of the unfinished frame."""
        return self._kept

    def feed(self, piece: Text) -> Iterable[Frames[SseItem]]:
        """Return the frames that end in `piece`; raises `LimitExceeded`."""
        text = piece.text
        if not self._begun and text:  # a BOM is no part of the first frame
            self._begun, self._frame_start = True, piece.start
        last = len(text) - 2
        if (
            # One block of one data line: the most frequent read of all.
            text.startswith("data: ")
            and text.find("\n") == last
            and text.endswith("\n\n")
            and not (self._line_is or self._fields or self._next_lf or piece.held)
            and piece.end - piece.start <= self._limit
            and "\r" not in text
        ):
            size, self._settled = piece.end - self._settled, piece.end
            self._frame_start = piece.end
            if last > self.largest:
                self.largest = last - 6
            span = (piece.start, piece.end)
            return (Frames([("message", text[6:last], self._last_id, None)], size, lambda k: span),)
        return self._feed(piece)

    def end(self, ending: Ending) -> tuple[list[Frames[SseItem]], Ending]:
        """Mark a cut that came inside a frame. Nothing is dispatched at the end."""
        if not isinstance(ending, Cut) or not (self._fields or self._line_is):
            return [], ending
        torn = ending.inside(Boundary.FRAME)
        if Tail not in self._asks:
            return [], torn
        span = (self._frame_start, ending.offset)
        tail = Tail("\n".join(self._data), "".join(self._line))
        return [Frames[SseItem]([tail], 0, lambda k: span)], torn

    def _feed(self, piece: Text) -> Iterator[Frames[SseItem]]:
        """Walk to the end of the open block, take the whole blocks, walk the rest."""
        batch = _Batch()
        try:
            at, offset = self._walk(piece, 0, piece.start, batch, to_clean=True)
            blocks, stop = self._whole_blocks(piece, at)
            if blocks:
                where = _Blocks(piece.text[at:stop], offset, self._asks)
                for items, first in self._blocks(blocks):
                    if len(batch.items) + len(items) > BATCH:
                        yield Frames(batch.items, 0, batch.span)
                        batch = _Batch()
                    batch.take(items, where, first)
                at, offset = stop, offset + piece.size(at, stop)
                self._frame_start = offset
            while at < len(piece.text):
                at, offset = self._walk(piece, at, offset, batch)
                if len(batch.items) >= BATCH:
                    yield Frames(batch.items, 0, batch.span)
                    batch = _Batch()
            self._check_held(piece)
        except LimitExceeded:
            yield Frames(batch.items, 0, batch.span)
            raise
        settled = piece.end - self._kept
        size, self._settled = settled - self._settled, settled
        yield Frames(batch.items, size, batch.span)

    # --- the definition -------------------------------------------------------

    def _walk(
        self, piece: Text, at: int, offset: int, batch: _Batch, *, to_clean: bool = False
    ) -> tuple[int, int]:
        """Read on from the character `at`, byte `offset`; stop when the batch is full.

        `to_clean`: stop as soon as no block is open.
        """
        text = piece.text
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
                size = piece.size(at, stop)
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
            self._kept_before_comment = self._kept
        if self._line_is == _IN_LINE or Comment in self._asks:
            self._keep(size, offset)
            self._line.append(part)

    def _line_end(self, offset: int, is_cr: bool, batch: _Batch) -> None:
        """Read the line end that stands at `offset`."""
        line_is, self._line_is = self._line_is, _AT_START
        next_lf = _REST_OF_CRLF
        if line_is == _IN_LINE:
            self._keep(1, offset)
            self._fields = True
            self._field(self._take_line(), batch.walked(self._frame_start, offset + 1))
            next_lf = _REST_OF_KEPT_CRLF
        elif line_is == _IN_COMMENT:
            self.comments += 1
            if Comment in self._asks:
                self._kept = self._kept_before_comment
                place = batch.walked(self._frame_start, offset + 1)
                place.append(Comment(self._take_line()[1:]))
            if not self._fields:  # a frame begins with its first line that counts
                self._frame_start = offset + 1
        else:
            self._dispatch(batch.walked(self._frame_start, offset + 1))
            self._fields, self._kept, self._frame_start = False, 0, offset + 1
        self._next_lf = next_lf if is_cr else _LINE_END

    def _swallow_lf(self, offset: int) -> None:
        """Read the LF of a CRLF, whose CR has ended the line already."""
        if self._next_lf == _REST_OF_KEPT_CRLF:
            self._keep(1, offset)
        elif offset == self._frame_start:
            self._frame_start += 1
        self._next_lf = _LINE_END

    def _take_line(self) -> str:
        line = "".join(self._line)
        self._line = []
        return line

    def _keep(self, size: int, offset: int) -> None:
        """Keep `size` more bytes, of which the first stands at `offset`."""
        beyond = self._kept + size - self._limit
        if beyond > 0:
            first = offset + size - beyond
            raise LimitExceeded("frame_bytes", self._limit, offset=first)
        self._kept += size

    def _check_held(self, piece: Text) -> None:
        """Count the bytes of an unfinished character, so that a limit is seen in its midst."""
        if piece.held and (self._line_is != _IN_COMMENT or Comment in self._asks):
            kept = self._kept
            self._keep(piece.held, piece.end)
            self._kept = kept

    def _field(self, line: str, items: list[SseItem]) -> None:
        """Process a line that is neither blank nor a comment."""
        name, _, value = line.partition(":")
        if value.startswith(" "):
            value = value[1:]
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id":
            if "\0" not in value:
                self._id = value
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
            items.append((self._event or "message", data, self._id, self._retry))
            self._data = []
            self.largest = max(self.largest, len(data))
        elif self._id != self._last_id and Cursor in self._asks:
            items.append(Cursor(self._id, None))
        self._last_id = self._id
        self._event, self._retry = "", None

    def _find(self, piece: Text, number: int) -> Span:
        """Walk `piece` from a clean start and return where the item of this number stands."""
        self._begun, self._frame_start = True, piece.start
        at, offset, before = 0, piece.start, 0
        while True:
            batch = _Batch()
            at, offset = self._walk(piece, at, offset, batch)
            if number < before + len(batch.items):
                return batch.span(number - before)
            before += len(batch.items)

    # --- the shortcut ---------------------------------------------------------

    def _whole_blocks(self, piece: Text, at: int) -> tuple[str, int]:
        """Return the whole blocks from `at` on, with LF for every line end, and where they stop.

        The empty string where the shortcut is not open: a block lies open, the
        limit could be passed, or the line ends are mixed.
        """
        text = piece.text
        if self._line_is or self._fields or piece.end - piece.start > self._limit:
            return "", at
        if "\r" not in text:
            stop = text.rfind("\n\n", at) + 2
            return (text[at:stop], stop) if stop > at + 1 else ("", at)
        stop = text.rfind("\r\n\r\n", at) + 4
        if stop < at + 4:
            return "", at
        blocks = text[at:stop].replace("\r\n", "\n")
        return ("", at) if "\r" in blocks else (blocks, stop)

    def _blocks(self, blocks: str) -> Iterator[tuple[list[SseItem], int]]:
        """Return the items of whole blocks, some at a time, each lot with its first's number."""
        if blocks.startswith("data: "):
            values = blocks[6:-2].split("\n\ndata: ")
            if blocks.count("\n") == 2 * len(values):  # so no value has a line end
                return self._from_values(values)
        return self._from_lines(blocks.split("\n"))

    def _from_values(self, values: list[str]) -> Iterator[tuple[list[SseItem], int]]:
        self.largest = max(self.largest, *map(len, values))
        last_id = self._last_id
        for first in range(0, len(values), BATCH):
            lot = values[first : first + BATCH]
            yield [("message", value, last_id, None) for value in lot], first

    def _from_lines(self, lines: list[str]) -> Iterator[tuple[list[SseItem], int]]:
        items: list[SseItem] = []
        first = 0
        for line in lines[:-1]:  # the last is what follows the last line end: nothing
            if line.startswith("data: "):
                self._data.append(line[6:])
            elif not line:
                self._dispatch(items)
                if len(items) >= BATCH:
                    yield items, first
                    first, items = first + len(items), []
            elif line.startswith("event: "):
                self._event = line[7:]
            elif line[0] != ":":
                self._field(line, items)
            else:
                self.comments += 1
                if Comment in self._asks:
                    items.append(Comment(line[1:]))
        if items:
            yield items, first


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


class _Batch:
    """Items, and where they stand: known for those walked, found by walking for the rest."""

    __slots__ = ("_known", "_taken", "items")

    def __init__(self) -> None:
        self.items: list[SseItem] = []
        self._known: dict[int, Span] = {}
        self._taken: tuple[int, int, _Blocks, int] | None = None

    def walked(self, start: int, end: int) -> list[SseItem]:
        """Return the list to add an item to that stands from `start` to `end`, if one comes."""
        self._known[len(self.items)] = (start, end)
        return self.items

    def take(self, items: list[SseItem], blocks: _Blocks, first: int) -> None:
        """Add items that are the `first` and those behind it of `blocks`."""
        before = len(self.items)
        self.items += items
        if self._taken is None:
            self._taken = (before, len(self.items), blocks, first)
        else:
            self._taken = (self._taken[0], len(self.items), *self._taken[2:])

    def span(self, index: int) -> Span:
        """Return where the item at `index` stands."""
        if self._taken is not None:
            start, stop, blocks, first = self._taken
            if start <= index < stop:
                return blocks.span(first + index - start)
        return self._known[index]


class _Blocks:
    """Whole blocks of which it is not known yet where each stands."""

    __slots__ = ("_asks", "_offset", "_text")

    def __init__(self, text: str, offset: int, asks: frozenset[type[Extra]]) -> None:
        self._text = text
        self._offset = offset
        self._asks = asks

    def span(self, number: int) -> Span:
        """Walk the blocks and return where their item of this number stands."""
        size = len(self._text.encode())
        return SseFramer(size, self._asks)._find(
            Text(self._text, self._offset, self._offset + size), number
        )
