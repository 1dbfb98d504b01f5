"""The values that pass between the stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeAlias, TypeVar, final

__all__ = [
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
]

F = TypeVar("F")

SseFrame: TypeAlias = tuple[str, str, str, int | None]
"""A dispatched block: event type, data, last event id in force, `retry` (ms) if it gave one.

A plain tuple, for one is made per event: a tuple costs a third of the cheapest
class and a tenth of a frozen dataclass.
"""

Span: TypeAlias = tuple[int, int]
"""The byte where a frame begins, and the byte just past the one that completed it."""


@final
class Text:
    """Some characters, and the bytes of the stream that they are.

    The bytes are `start` (of the first character) up to `end`. `held` bytes
    behind `end` have arrived as well, but are not a whole character yet.

    `made` is the number of characters that are replacements we made; a piece is
    made of those alone, all of one width, or has none of them. So every
    character can be found in the stream without keeping the bytes.
    """

    __slots__ = ("end", "held", "made", "start", "text")

    def __init__(self, text: str, start: int, end: int, held: int = 0, made: int = 0) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.held = held
        self.made = made

    def offset(self, index: int) -> int:
        """Return the byte offset of the character at `index` (the end, at the length)."""
        return self.start + self.size(0, index)

    def size(self, first: int, last: int) -> int:
        """Return how many bytes the characters from `first` up to `last` are."""
        if self.made:
            return (last - first) * ((self.end - self.start) // len(self.text))
        if len(self.text) == self.end - self.start:  # all ASCII
            return last - first
        return len(self.text[first:last].encode())

    def span(self, index: int) -> Span:
        """Return where a frame stands that is the whole piece."""
        return self.start, self.end

    def __repr__(self) -> str:
        return f"Text({self.text!r}, {self.start}, {self.end}, held={self.held}, made={self.made})"


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


@final
class Frames(Generic[F]):
    """Some frames of one piece of text.

    `size` is the number of bytes that are done with once these frames are: their
    own, and those dropped since the frames before them. `span(k)` says where the
    k-th item stands; it is worked out only when asked, for it is asked at most
    once in a stream.
    """

    __slots__ = ("items", "size", "span")

    def __init__(self, items: list[F], size: int, span: Callable[[int], Span]) -> None:
        self.items = items
        self.size = size
        self.span = span
