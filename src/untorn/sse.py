"""Text to frames: the event stream interpretation of the HTML Standard.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

`_walk` is the whole interpretation, one line end after the other, and knows at
which byte it stands. It is the definition.

`_shortcut` gives the same frames, and is fast because it looks at whole blocks and
does not know where it is: it keeps the text of an open block as it came, until the
blank line is there. When somebody asks where one of its frames stands, the blocks
are walked; where it does not apply (mixed line ends, a comment that is still open,
a limit that could be passed) it hands what it keeps to `_walk`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

from .faults import LimitExceeded
from .frame import (
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

__all__ = ["BATCH", "SseFramer", "SseItem"]

SseItem: TypeAlias = SseFrame | Extra

_Origin: TypeAlias = tuple[str, str, int, frozenset[type[Extra]], str]
"""What tells where items stand: the blocks they are of, with LF for their line ends; what
those are; the first byte; what is asked for; the id in force before, on which it depends
whether a block moves the cursor."""

# Frames handed on at once. A consumer must let other tasks run at least every 64
# events, and what a stalled consumer has not asked for stays unparsed.
BATCH: Final = 64

# What the line that is being read is, so far.
_AT_START, _IN_LINE, _IN_COMMENT = range(3)
# What a LF would be, were it the next character.
_LINE_END, _REST_OF_CRLF, _REST_OF_KEPT_CRLF = range(3)
# Characters of blocks that are split at once.
_LOT: Final = 16 * 1024
# Lines looked through one after the other for a blank one. Two LFs are most often quickly
# found that way, and in a block of many short lines never: see `_after_blank_line`.
_NEAR: Final = 8
# Characters of a first line from which on single `find`s are cheaper than a split.
_LONG: Final = 1024
_CURSOR: Final = frozenset({Cursor})
# int() refuses more than 4,300 digits; 10**18 ms is longer than anybody waits.
_LONGEST_RETRY: Final = 18


class SseFramer:
    """Turn `Text` into frames, and into the `Extra` items that are asked for.

    `frame_bytes` bounds the unfinished frame; see `Limits`. The byte that
    completes a frame is not counted: with it nothing is unfinished any more.
    `last_event_id` is in force until the stream sets another.
    """

    media_types: ClassVar = frozenset({"text/event-stream"})

    __slots__ = (
        "_asks",
        "_block",
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
        "_line_end_is",
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
        # The text of the open block, as long as nobody has to look into it, with LF
        # for its line ends; and what those are, if there are any.
        self._block = Pieces()
        self._line_end_is = ""
        self._walking = False
        # The block that is being read, in the standard's words: data buffer,
        # event type buffer, last event ID buffer; and whether it has any line.
        self._data: list[str] = []
        self._event = ""
        self._id = CarriedId(last_event_id) if last_event_id else ""
        self._has_id = False  # of its own
        self._retry: int | None = None
        self._fields = False
        self._kept_before_comment = 0
        # The last event ID in force; where the block began; what is done with.
        self._last_id = self._id
        self._frame_start = 0
        self._settled = 0

    def feed(self, piece: Text) -> Iterable[Frames[SseItem]]:
        """Return the frames that end in `piece`; raises `LimitExceeded`."""
        text, start, end, held, made = piece
        if not (self._block or self._walking):
            last = len(text) - 2
            if (
                text.endswith("\n\n")
                and "\r" not in text
                and end - start <= self._limit
                and not held
            ):
                # Whole blocks, and most often one: a data line, perhaps behind an event line.
                at = text.find("\n") + 1 if text.startswith("event: ") else 0
                if text.startswith("data: ", at) and text.find("\n", at) == last:
                    data, size = text[at + 6 : last], end - self._settled
                    self._settled = end
                    if len(data) > self.largest:
                        self.largest = len(data)
                    event = text[7 : at - 1] if at else ""
                    id = self._last_id and self._carried()
                    items: list[SseItem] = [(event or "message", data, id, None)]
                    return ((items, size, (start, end)),)
                return self._take((text, "", start, self._asks, self._last_id), "", piece)
            self._frame_start = start
        elif text and "\n" not in text and self._block and not (made or held):
            # More of an open line, which is most of what a long one comes as.
            kept = self.open + end - start
            if kept <= self._limit and "\r" not in text and self._block[-1][-1] != "\n":
                self._block.add(text)
                self.open = kept
                return ()
        if self._walking or made or self.open + end - start + held > self._limit:
            return self._feed(piece)
        line_end = ""
        if "\r" in text:
            line_end, whole = "\r\n", len(text)
            text = text.replace("\r\n", "\n")
            if "\r" in text or whole - len(text) != text.count("\n"):
                return self._feed(piece)
        elif "\n" in text:
            line_end = "\n"
        if line_end and self._line_end_is != line_end:
            if self._line_end_is:
                return self._feed(piece)
            self._line_end_is = line_end
        return self._shortcut(piece, text)

    def end(self, ending: Ending) -> tuple[list[Frames[SseItem]], Ending]:
        """Mark a cut that came inside a frame. Nothing is dispatched at the end."""
        self._unfold()
        if not isinstance(ending, Cut) or not (self._fields or self._line_is):
            return [], ending
        torn = ending.inside(Boundary.FRAME)
        if Tail not in self._asks:
            return [], torn
        batch = _Batch()
        place = batch.walked(self._frame_start, ending.offset)
        place.append(Tail("\n".join(self._data), "".join(self._line)))
        return [(batch.items, 0, batch.span)], torn

    def _feed(self, piece: Text) -> Iterator[Frames[SseItem]]:
        """Walk through the open block, or through all there is if none is open."""
        self._unfold()
        to_clean = self._walking = bool(self._line_is or self._fields or self._next_lf)
        batch = _Batch()
        text, offset, end, held, made = piece
        at = 0
        try:
            while at < len(text):
                at, offset = self._walk(piece, at, offset, batch, to_clean=to_clean)
                self._walking = bool(self._line_is or self._fields or self._next_lf)
                if to_clean and not self._walking:
                    break
                if len(batch.items) >= BATCH:
                    yield batch.items, self._settle(offset), batch.span
                    batch = _Batch()
            if at == len(text) and held:
                self._check_held(held, end)
        except LimitExceeded:
            yield batch.items, 0, batch.span
            raise
        yield batch.items, self._settle(offset), batch.span
        if at < len(text):
            yield from self.feed((text[at:], offset, end, held, made))

    def _settle(self, offset: int) -> int:
        """Return how many bytes are done with at `offset`, since it was last asked."""
        settled = offset - self.open
        size, self._settled = settled - self._settled, settled
        return size

    # --- the definition -------------------------------------------------------

    def _walk(
        self, piece: Text, at: int, offset: int, batch: _Batch, *, to_clean: bool = False
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

    def _line_end(self, offset: int, is_cr: bool, batch: _Batch) -> None:
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

    def _find(self, piece: Text, number: int) -> Span:
        """Walk `piece` from a clean start and return where the item of this number stands."""
        self._frame_start = offset = piece[1]
        at, before = 0, 0
        while True:
            batch = _Batch()
            at, offset = self._walk(piece, at, offset, batch)
            if number < before + len(batch.items):
                return batch.span(number - before)
            before += len(batch.items)

    # --- the shortcut ---------------------------------------------------------

    def _shortcut(self, piece: Text, text: str) -> Iterable[Frames[SseItem]]:
        """Take the whole blocks of `text`, which is the piece with LF for its line ends."""
        stop, end = self._end_of_blocks(text), piece[2]
        tail = text[stop:]
        if not stop:
            if tail and self._shows_early(tail):
                return self._feed(piece)
            self._hold(tail, end)
            none: list[SseItem] = []
            return ((none, self._settle(end), _Batch().span),)
        blocks = text[:stop]
        if self._block:
            self._block.append(blocks)
            blocks = self._block.take()
        self.open = 0
        origin = (blocks, self._line_end_is, self._frame_start, self._asks, self._last_id)
        # What was open had no blank line in it; the first LF of one it may have ended with.
        return self._take(origin, tail, piece, len(blocks) - stop - 1)

    def _take(
        self, origin: _Origin, tail: str, piece: Text, unbroken: int = 0
    ) -> Iterable[Frames[SseItem]]:
        """Return the frames of whole blocks, and keep the tail behind them.

        No blank line ends in the first `unbroken` characters.
        """
        blocks, end = origin[0], piece[2]
        if len(blocks) > _LOT or (tail and self._shows_early(tail)):
            return self._lots(origin, tail, piece, unbroken)
        items = self._items(blocks)
        self._hold(tail, end)
        if len(items) > BATCH:
            return self._batches(items, self._settle(end), origin)
        return ((items, self._settle(end), partial(_place, origin, 0)),)

    def _batches(
        self, items: list[SseItem], size: int, origin: _Origin, first: int = 0
    ) -> Iterator[Frames[SseItem]]:
        """Return the items some at a time; `size` goes with the last."""
        for start in range(0, len(items), BATCH):
            last = start + BATCH >= len(items)
            lot = items[start : start + BATCH]
            yield lot, size if last else 0, partial(_place, origin, first + start)

    def _lots(
        self, origin: _Origin, tail: str, piece: Text, unbroken: int
    ) -> Iterator[Frames[SseItem]]:
        """Take many blocks a lot at a time, so that what nobody asks for stays text."""
        blocks, at, first, offset = origin[0], 0, 0, self._settled
        _, _, end, held, _ = piece
        while at < len(blocks):
            lot = blocks[at : _after_blank_line(blocks, max(at + _LOT, unbroken)) or None]
            items = self._items(lot)
            if items:  # so that no byte is done with before the events it is part of
                offset += _utf8_size(self._as_it_came(lot))
                yield from self._batches(items, self._settle(offset), origin, first)
            at, first = at + len(lot), first + len(items)
        if tail and self._shows_early(tail):
            rest = self._as_it_came(tail)
            start = self._frame_start = end - _utf8_size(rest)
            yield from self._feed((rest, start, end, held, 0))
        else:
            self._hold(tail, end)
            yield [], self._settle(end), _Batch().span

    def _end_of_blocks(self, text: str) -> int:
        """Return the index behind the last blank line in `text`, 0 if there is none."""
        found, lines = text.rfind("\n"), 0
        while found > 0 and text[found - 1] != "\n":
            found, lines = text.rfind("\n", 0, found), lines + 1
            if lines == _NEAR:
                found = text.rfind("\n\n", 0, found + 1) + 1
                if not found and text[0] != "\n":
                    found = -1
        if found > 0:
            return found + 1
        if found < 0:
            return 0
        return 1 if not self._block or self._block[-1][-1] == "\n" else 0

    def _shows_early(self, tail: str) -> bool:
        """Say whether an open block shows something before its blank line comes."""
        at_start = not self._block or self._block[-1][-1] == "\n"
        if at_start and tail[0] == ":":
            return True
        if "\n" not in tail:
            return False
        asks_for_more = self._asks and self._asks != _CURSOR
        retries = self._asks and ("retry" in tail or self._open_line().startswith("r"))
        return bool(asks_for_more or retries) or "\n:" in tail

    def _open_line(self) -> str:
        """Return what the line that the open block ends with begins with; if none is open, ""."""
        start = ""
        for piece in reversed(self._block):
            line_start = piece.rfind("\n") + 1
            start = piece[line_start : line_start + 1] or start
            if line_start:
                break
        return start

    def _hold(self, tail: str, end: int) -> None:
        """Keep the text of the open block, `tail`, with which the piece ends at byte `end`."""
        if not tail:
            if not self._block:
                self._line_end_is = ""
            return
        size = len(tail)
        if self._line_end_is == "\r\n" or not tail.isascii():
            size = _utf8_size(self._as_it_came(tail))
        if not self._block:
            self._frame_start = end - size
            if "\n" not in tail:
                self._line_end_is = ""
        self._block.add(tail)
        self.open += size

    def _unfold(self) -> None:
        """Hand the text of the open block over to the walk."""
        if self._block:
            *lines, last = self._block.take().split("\n")
            for line in lines:
                self._field(line, [])
            self._fields = bool(lines)
            if last:
                self._line.add(last)
                self._line_is = _IN_LINE
        self._line_end_is = ""

    def _as_it_came(self, text: str) -> str:
        return text.replace("\n", "\r\n") if self._line_end_is == "\r\n" else text

    def _items(self, blocks: str) -> list[SseItem]:
        """Return the items of whole blocks, at one go where all are alike.

        That is, data lines alone or an event line and data lines.
        """
        items: list[Any]
        if blocks.startswith("data: "):
            if blocks.find("\n") > _LONG:
                return self._long_items(blocks)
            values, id = blocks[6:-2].split("\n\ndata: "), self._carried()
            items = [("message", value, id, None) for value in values if "\n" not in value]
            if len(items) < len(values):
                items = [
                    ("message", _joined(value), id, None) for value in values if _is_data(value)
                ]
        elif blocks.startswith("event: "):
            values, id = blocks[7:-2].split("\n\nevent: "), self._carried()
            items = [
                (event or "message", _joined(data) if "\n" in data else data, id, None)
                for event, found, data in [value.partition("\ndata: ") for value in values]
                if found and "\n" not in event and ("\n" not in data or _is_data(data))
            ]
        else:
            return self._items_of_lines(blocks)
        if len(items) < len(values):
            return self._items_of_lines(blocks)
        self.largest = max(self.largest, max([len(item[1]) for item in items]))
        return items

    def _long_items(self, blocks: str) -> list[SseItem]:
        """Return the items of whole blocks, where the first is long: one `find` for each."""
        items: list[SseItem] = []
        at = 0
        while at < len(blocks):
            found = blocks.find("\n", at)
            if not (blocks.startswith("data: ", at) and blocks.startswith("\n", found + 1)):
                return items + self._items_of_lines(blocks[at:])
            items.append(("message", blocks[at + 6 : found], self._carried(), None))
            self.largest = max(self.largest, found - at - 6)
            at = found + 2
        return items

    def _items_of_lines(self, blocks: str) -> list[SseItem]:
        items: list[SseItem] = []
        lines = blocks.split("\n")
        lines.pop()  # what follows the last line end: nothing
        for line in lines:
            if line.startswith("data: "):
                self._data.append(line[6:])
            elif not line:
                self._dispatch(items)
            elif line.startswith("event: "):
                self._event = line[7:]
            elif line[0] != ":":
                self._field(line, items)
            else:
                self.comments += 1
                if Comment in self._asks:
                    items.append(Comment(line[1:]))
        return items


def _place(origin: _Origin, first: int, index: int) -> Span:
    """Walk whole blocks from a clean start, and return where an item of theirs stands.

    The item is the one at `index` of those from the `first` on.
    """
    blocks, line_end, start, asks, last_id = origin
    if line_end == "\r\n":
        blocks = blocks.replace("\n", "\r\n")
    size = len(blocks.encode())
    again = SseFramer(size, asks, last_id)
    return again._find((blocks, start, start + size, 0, 0), first + index)


def _is_data(lines: str) -> bool:
    """Say whether all lines behind the first are data lines."""
    return lines.count("\n") == lines.count("\ndata: ")


def _joined(lines: str) -> str:
    """Return the data of data lines, of the first of which it is there already."""
    return lines.replace("\ndata: ", "\n")


def _after_blank_line(text: str, at: int) -> int:
    """Return the index behind the first blank line from `at` on, 0 if there is none.

    One LF after the other: to look for two at once costs twenty times as much.
    """
    found = text.find("\n", at)
    while found >= 0 and not text.startswith("\n", found + 1):
        found = text.find("\n", found + 1)
    return found + 2 if found >= 0 else 0


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


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
