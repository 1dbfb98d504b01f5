"""Text to frames, whole blocks at a time: Server-Sent Events as `SseWalk` defines them, fast.

It does not know at which byte it stands: it keeps the text of an open block as it came,
until the blank line is there. When somebody asks where one of its frames stands, the
blocks are walked; where it does not apply (mixed line ends, a comment that is still
open, a limit that could be passed) it hands what it keeps to the walk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias

from .frame import BATCH, Comment, Cursor, Extra, Frames, Pieces, Span, Text
from .sse_walk import Batch, SseItem, SseWalk
from .stage import Ending

__all__ = ["SseFramer"]

_Origin: TypeAlias = tuple[str, str, int, frozenset[type[Extra]], str]
"""What tells where items stand: the blocks they are of, with LF for their line ends; what
those are; the first byte; what is asked for; the id in force before, on which it depends
whether a block moves the cursor."""

# Characters of blocks that are split at once.
_LOT: Final = 16 * 1024
# Lines looked through one after the other for a blank one. Two LFs are most often quickly
# found that way, and in a block of many short lines never: see `_after_blank_line`.
_NEAR: Final = 8
# Characters of a first line from which on single `find`s are cheaper than a split.
_LONG: Final = 1024
_CURSOR: Final = frozenset({Cursor})


class SseFramer(SseWalk):
    """Turn `Text` into frames, and into the `Extra` items that are asked for.

    `frame_bytes` bounds the unfinished frame; see `Limits`. The byte that
    completes a frame is not counted: with it nothing is unfinished any more.
    `last_event_id` is in force until the stream sets another.
    """

    __slots__ = ("_block", "_line_end_is")

    def __init__(
        self, frame_bytes: int, asks: Iterable[type[Extra]] = (), last_event_id: str = ""
    ) -> None:
        super().__init__(frame_bytes, asks, last_event_id)
        # The text of the open block, as long as nobody has to look into it, with LF
        # for its line ends; and what those are, if there are any.
        self._block = Pieces()
        self._line_end_is = ""

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
            return self._walked(piece)
        with_lf = self._with_lf(text)
        return self._walked(piece) if with_lf is None else self._shortcut(piece, with_lf)

    def end(self, ending: Ending) -> tuple[list[Frames[SseItem]], Ending]:
        """Mark a cut that came inside a frame. Nothing is dispatched at the end."""
        self._unfold()
        return super().end(ending)

    def _walked(self, piece: Text) -> Iterable[Frames[SseItem]]:
        """Walk through the open block, or through all there is if none is open."""
        self._unfold()
        return super().feed(piece)

    def _with_lf(self, text: str) -> str | None:
        """Return `text` with LF for its line ends; `None` if not all are as those before."""
        line_end = ""
        if "\r" in text:
            line_end, whole = "\r\n", len(text)
            text = text.replace("\r\n", "\n")
            if "\r" in text or whole - len(text) != text.count("\n"):
                return None
        elif "\n" in text:
            line_end = "\n"
        if line_end and self._line_end_is != line_end:
            if self._line_end_is:
                return None
            self._line_end_is = line_end
        return text

    def _shortcut(self, piece: Text, text: str) -> Iterable[Frames[SseItem]]:
        """Take the whole blocks of `text`, which is the piece with LF for its line ends."""
        stop, end = self._end_of_blocks(text), piece[2]
        tail = text[stop:]
        if not stop:
            if tail and self._shows_early(tail):
                return self._walked(piece)
            self._hold(tail, end)
            none: list[SseItem] = []
            return ((none, self._settle(end), Batch().span),)
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
            yield from self._walked((rest, start, end, held, 0))
        else:
            self._hold(tail, end)
            yield [], self._settle(end), Batch().span

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
                self._begin_line(last)
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
    again = SseWalk(size, asks, last_id)
    return again.span_of((blocks, start, start + size, 0, 0), first + index)


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
