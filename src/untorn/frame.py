"""The values that pass between the stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar, final

__all__ = [
    "BATCH",
    "CarriedId",
    "Comment",
    "Cursor",
    "Extra",
    "Frames",
    "Pieces",
    "Span",
    "SseFrame",
    "Stray",
    "Tail",
    "Text",
    "Where",
    "size_of",
    "span_of",
]

F = TypeVar("F")

# Frames handed on at once. A consumer must let other tasks run at least every 64
# events, and what a stalled consumer has not asked for stays unparsed.
BATCH: Final = 64

SseFrame: TypeAlias = tuple[str, str, str, int | None]
"""A dispatched block: event type, data, last event id in force, `retry` (ms) if it gave one.

A plain tuple, for one is made per event: a tuple costs a third of the cheapest
class and a tenth of a frozen dataclass.
"""


@final
class CarriedId(str):
    """A last event id that came with another block, or on the connection before.

    A `str` like any other. That an event has it says that it has no id of its own.
    """

    __slots__ = ()


Span: TypeAlias = tuple[int, int]
"""The byte where a frame begins, and the byte just past the one that completed it."""


Text: TypeAlias = tuple[str, int, int, int, int]
"""Some characters, and the bytes of the stream that they are: text, start, end, held, made.

The bytes are `start` (of the first character) up to `end`. `held` bytes behind
`end` have arrived as well, but are not a whole character yet.

`made` is the number of characters that are replacements we made; a piece is made
of those alone, all of one width, or has none of them. So every character can be
found in the stream without keeping the bytes.

A plain tuple, as all that is made at least once per read.
"""

Where: TypeAlias = Span | Callable[[int], Span]
"""Where frames stand: the one that there is, or the one of a given index."""

Frames: TypeAlias = tuple[list[F], int, Where]
"""Some frames of one piece of text: items, size, where they stand.

`size` is the number of bytes that are done with once these frames are: their own,
and those dropped since the frames before them. Where a frame stands is worked out
only when asked, for it is asked at most once in a stream: see `span_of`.
"""


def span_of(frames: Frames[F], index: int) -> Span:
    """Return where the frame at `index` stands."""
    where = frames[2]
    return where if isinstance(where, tuple) else where(index)


def size_of(piece: Text, first: int, last: int) -> int:
    """Return how many bytes the characters of `piece` from `first` up to `last` are."""
    text, start, end, _, made = piece
    if made:
        return (last - first) * ((end - start) // len(text))
    if len(text) == end - start:  # all ASCII
        return last - first
    return len(text[first:last].encode())


@final
class Pieces(list[str]):
    """A text that arrives in pieces and is joined once.

    Many small pieces are merged into larger ones as they come: a character by
    itself takes up to twenty times the memory it takes in a text, and a long line
    in one-byte reads is made of nothing else.
    """

    __slots__ = ("_merged",)

    _AT_ONCE: Final = 4096

    def __init__(self, *pieces: str) -> None:
        super().__init__(pieces)
        self._merged = 0  # pieces at the front that are large already

    def add(self, piece: str) -> None:
        """Put a piece behind the others."""
        self.append(piece)
        if len(self) - self._merged > self._AT_ONCE:
            self[self._merged :] = ["".join(self[self._merged :])]
            self._merged += 1

    def take(self) -> str:
        """Return the whole text, and begin anew."""
        text = "".join(self)
        self.clear()
        self._merged = 0
        return text


class Extra:
    """Something a framer sees that is no frame, for the dialect that asks for it."""

    __slots__ = ()


@final
class Cursor(Extra):
    """What a reconnecting client needs, where it changed without an event.

    `id` after a block that has an id and no data, else `None`; `retry` (ms) as
    soon as its line ends, else `None`.
    """

    __slots__ = ("id", "retry")

    def __init__(self, id: str | None, retry: int | None) -> None:
        self.id = id
        self.retry = retry


@final
class Comment(Extra):
    """A comment line, without its colon."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


@final
class Stray(Extra):
    """A line that is neither blank nor a comment and has no field the standard knows."""

    __slots__ = ("line",)

    def __init__(self, line: str) -> None:
        self.line = line


@final
class Tail(Extra):
    """The data lines and the partial line of the block that the end of the stream cut.

    A partial comment is dropped like a whole one, unless comments are asked for.
    """

    __slots__ = ("data", "line")

    def __init__(self, data: str, line: str) -> None:
        self.data = data
        self.line = line
