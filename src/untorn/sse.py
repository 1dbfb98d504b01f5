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

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, TypeAlias

from .faults import LimitExceeded
from .frame import Comment, Cursor, Extra, Frames, Pieces, Span, SseFrame, Stray, Tail, Text
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
# Characters of blocks that are split at once.
_LOT: Final = 16 * 1024
# Characters of a first line from which on single `find`s are cheaper than a split.
_LONG: Final = 1024
_CURSOR: Final = frozenset({Cursor})
# int() refuses more than 4,300 digits; 10**18 ms is longer than anybody waits.
_LONGEST_RETRY: Final = 18


class SseFramer:
    """Turn `Text` into frames, and into the `Extra` items that are asked for.

    `frame_bytes` bounds the unfinished frame; see `Limits`. The byte that
    completes a frame is not counted: with it nothing is unfinished any more.
    """

    __slots__ = (
        "_asks",
        "_block",
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
        "_line_end_is",
        "_line_is",
        "_next_lf",
        "_retry",
        "_settled",
        "_walking",
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
        self._id = ""
        self._retry: int | None = None
        self._fields = False
        self._kept = 0
        self._kept_before_comment = 0
        # The last event ID in force; where the block began; what is done with.
        self._last_id = ""
        self._frame_start = 0
        self._settled = 0

    @property
    def open(self) -> int:
        """Bytes of the unfinished frame."""
        return self._kept

    def feed(self, piece: Text) -> Iterable[Frames[SseItem]]:
        """Return the frames that end in `piece`; raises `LimitExceeded`."""
        text, end = piece.text, piece.end
        if not self._block and not self._walking:
            last = len(text) - 2
            if (
                # One block of one data line: the most frequent read of all.
                text.find("\n") == last
                and text[-1:] == "\n"
                and text[:6] == "data: "
                and "\r" not in text
                and end - piece.start <= self._limit
                and not piece.held
            ):
                size, self._settled = end - self._settled, end
                if last - 6 > self.largest:
                    self.largest = last - 6
                frames: list[SseItem] = [("message", text[6:last], self._last_id, None)]
                return (Frames(frames, size, piece.span),)
            self._frame_start = piece.start
        elif text and "\n" not in text and self._block and not (piece.made or piece.held):
            # More of an open line, which is most of what a long one comes as.
            kept = self._kept + end - piece.start
            if kept <= self._limit and "\r" not in text and self._block[-1][-1] != "\n":
                self._block.add(text)
                self._kept = kept
                return ()
        if self._walking or piece.made or self._kept + end - piece.start + piece.held > self._limit:
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
        return [Frames(batch.items, 0, batch.span)], torn

    def _feed(self, piece: Text) -> Iterator[Frames[SseItem]]:
        """Walk through the open block, or through all there is if none is open."""
        self._unfold()
        to_clean = self._walking = bool(self._line_is or self._fields or self._next_lf)
        batch = _Batch()
        at, offset = 0, piece.start
        try:
            while at < len(piece.text):
                at, offset = self._walk(piece, at, offset, batch, to_clean=to_clean)
                self._walking = bool(self._line_is or self._fields or self._next_lf)
                if to_clean and not self._walking:
                    break
                if len(batch.items) >= BATCH:
                    yield Frames(batch.items, self._settle(offset), batch.span)
                    batch = _Batch()
            if at == len(piece.text):
                self._check_held(piece)
        except LimitExceeded:
            yield Frames(batch.items, 0, batch.span)
            raise
        yield Frames(batch.items, self._settle(offset), batch.span)
        if at < len(piece.text):
            rest = Text(piece.text[at:], offset, piece.end, piece.held, piece.made)
            yield from self.feed(rest)

    def _settle(self, offset: int) -> int:
        """Return how many bytes are done with at `offset`, since it was last asked."""
        settled = offset - self._kept
        size, self._settled = settled - self._settled, settled
        return size

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
                self._kept = self._kept_before_comment
                place = batch.walked(self._frame_start, offset + 1)
                place.append(Comment(self._line.take()[1:]))
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
        value = value.removeprefix(" ")
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
        self._frame_start = piece.start
        at, offset, before = 0, piece.start, 0
        while True:
            batch = _Batch()
            at, offset = self._walk(piece, at, offset, batch)
            if number < before + len(batch.items):
                return batch.span(number - before)
            before += len(batch.items)

    # --- the shortcut ---------------------------------------------------------

    def _shortcut(self, piece: Text, text: str) -> Iterable[Frames[SseItem]]:
        """Take the whole blocks of `text`, which is the piece with LF for its line ends."""
        stop = self._end_of_blocks(text)
        tail = text[stop:]
        if not stop:
            if tail and self._shows_early(tail):
                return self._feed(piece)
            self._hold(piece, tail)
            none: list[SseItem] = []
            return (Frames(none, self._settle(piece.end), _Batch().span),)
        blocks = text[:stop]
        if self._block:
            self._block.append(blocks)
            blocks = self._block.take()
        where = partial(
            _place, blocks, self._line_end_is, self._frame_start, self._asks, self._last_id
        )
        self._kept = 0
        if len(blocks) > _LOT or (tail and self._shows_early(tail)):
            return self._lots(piece, blocks, tail, where)
        items = self._items(blocks)
        self._hold(piece, tail)
        if len(items) > BATCH:
            return self._batches(items, self._settle(piece.end), where)
        return (Frames(items, self._settle(piece.end), partial(where, 0)),)

    def _batches(
        self, items: list[SseItem], size: int, where: Callable[[int, int], Span], first: int = 0
    ) -> Iterator[Frames[SseItem]]:
        """Return the items some at a time; `size` goes with the last."""
        for start in range(0, len(items), BATCH):
            last = start + BATCH >= len(items)
            lot = items[start : start + BATCH]
            yield Frames(lot, size if last else 0, partial(where, first + start))

    def _lots(
        self, piece: Text, blocks: str, tail: str, where: Callable[[int, int], Span]
    ) -> Iterator[Frames[SseItem]]:
        """Take many blocks a lot at a time, so that what nobody asks for stays text."""
        at, first, offset = 0, 0, self._settled
        while at < len(blocks):
            lot = blocks[at : _after_blank_line(blocks, at + _LOT) or None]
            items = self._items(lot)
            if items:  # so that no byte is done with before the events it is part of
                offset += len(self._as_it_came(lot).encode())
                yield from self._batches(items, self._settle(offset), where, first)
            at, first = at + len(lot), first + len(items)
        if tail and self._shows_early(tail):
            rest = self._as_it_came(tail)
            start_of_rest = piece.end - _size(piece, rest)
            self._frame_start = start_of_rest
            yield from self._feed(Text(rest, start_of_rest, piece.end, piece.held))
        else:
            self._hold(piece, tail)
            yield Frames([], self._settle(piece.end), _Batch().span)

    def _end_of_blocks(self, text: str) -> int:
        """Return where the last whole block ends in `text`, 0 if none does."""
        stop = _behind_blank_lines(text)
        if stop or text[:1] != "\n":
            return stop
        return 1 if not self._block or self._block[-1][-1] == "\n" else 0

    def _shows_early(self, tail: str) -> bool:
        """Say whether an open block shows something before its blank line comes."""
        at_start = not self._block or self._block[-1][-1] == "\n"
        if at_start and tail[0] == ":":
            return True
        if "\n" not in tail:
            return False
        asks_for_lines = self._asks and (self._block or self._asks != _CURSOR or "retry" in tail)
        return bool(asks_for_lines) or "\n:" in tail

    def _hold(self, piece: Text, tail: str) -> None:
        """Keep the text of the open block, `tail`, with which the piece ends."""
        if not tail:
            if not self._block:
                self._line_end_is = ""
            return
        size = len(tail)
        if size != piece.end - piece.start:
            size = _size(piece, self._as_it_came(tail))
        if not self._block:
            self._frame_start = piece.end - size
            if "\n" not in tail:
                self._line_end_is = ""
        self._block.add(tail)
        self._kept += size

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
        """Return the items of whole blocks."""
        if blocks.startswith("data: "):
            if blocks.find("\n") > _LONG:
                return self._long_items(blocks)
            values = blocks[6:-2].split("\n\ndata: ")
            if blocks.count("\n") == 2 * len(values):  # so no value has a line end
                self.largest = max(self.largest, *map(len, values))
                last_id = self._last_id
                return [("message", value, last_id, None) for value in values]
        return self._items_of_lines(blocks)

    def _long_items(self, blocks: str) -> list[SseItem]:
        """Return the items of whole blocks, where the first is long: one `find` for each."""
        items: list[SseItem] = []
        at = 0
        while at < len(blocks):
            found = blocks.find("\n", at)
            if not (blocks.startswith("data: ", at) and blocks.startswith("\n", found + 1)):
                return items + self._items_of_lines(blocks[at:])
            items.append(("message", blocks[at + 6 : found], self._last_id, None))
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


def _place(
    blocks: str,
    line_end: str,
    start: int,
    asks: frozenset[type[Extra]],
    last_id: str,
    first: int,
    index: int,
) -> Span:
    """Walk whole blocks from byte `start` on, and return where an item of theirs stands.

    The item is the one at `index` of those from the `first` on. `last_id` is the
    id in force before them: whether a block moves the cursor depends on it.
    """
    if line_end == "\r\n":
        blocks = blocks.replace("\n", "\r\n")
    size = len(blocks.encode())
    again = SseFramer(size, asks)
    again._id = again._last_id = last_id
    return again._find(Text(blocks, start, start + size), first + index)


def _after_blank_line(text: str, at: int) -> int:
    """Return the index behind the first blank line from `at` on, 0 if there is none.

    One LF after the other: to look for two at once costs twenty times as much.
    """
    found = text.find("\n", at)
    while found >= 0 and not text.startswith("\n", found + 1):
        found = text.find("\n", found + 1)
    return found + 2 if found >= 0 else 0


def _behind_blank_lines(text: str) -> int:
    """Return the index behind the last blank line, 0 if there is none."""
    found = text.rfind("\n")
    while found > 0 and text[found - 1] != "\n":
        found = text.rfind("\n", 0, found)
    return found + 1 if found > 0 else 0


def _size(piece: Text, part: str) -> int:
    """Return how many bytes a part of the piece is."""
    return len(part) if len(piece.text) == piece.end - piece.start else len(part.encode())


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
