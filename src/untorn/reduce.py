"""Frames to events and a value: what a dialect is, and how its verdict becomes an outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar, final

from .faults import StageError, StreamFault
from .frame import Extra, Frames, SseFrame, span_of
from .limits import Limits
from .outcome import Boundary, Cause, Completed, Failed, Interrupted, Outcome, Position
from .payload import parse_json
from .sse import SseFramer
from .stage import Cut, Ending
from .text import Errors, Utf8Decoder

__all__ = ["Decoder", "Dialect", "Events", "Framer", "Hide", "JsonReducer", "Reducer", "Reduction"]

E = TypeVar("E")
V = TypeVar("V")
E_co = TypeVar("E_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)


class Decoder(Protocol):
    """The first stage; `Utf8Decoder`, or what stands in for it on a binary wire."""

    offset: int
    replacements: int
    literal_replacements: int

    def feed(self, chunk: bytes) -> Iterable[Any]: ...
    def end(self, ending: Ending) -> tuple[list[Any], Ending]: ...


class Framer(Protocol):
    """The second stage: `SseFramer`, `LineFramer`, or a dialect's own."""

    comments: int
    largest: int

    @property
    def open(self) -> int: ...
    def feed(self, piece: Any) -> Iterable[Frames[Any]]: ...
    def end(self, ending: Ending) -> tuple[list[Frames[Any]], Ending]: ...


class Reducer(ABC, Generic[E, V]):
    """The third stage: the state of one stream. Subclass it to write a dialect.

    `feed(frame)` returns the events that the frame makes, or yields them. Call
    `complete(marker)` when the frame completes the stream: the events of that
    frame are the last. Raise a `StreamFault` when the frame fails it; its
    offset is filled in. Anything else that is raised is a bug, and is reported
    as one.
    """

    ended: str | Cause | None = None
    """What ended the stream: the marker, or the cause of an interruption."""

    @abstractmethod
    def feed(self, frame: Any) -> Iterable[E]:
        """Return the events of `frame`."""

    @property
    @abstractmethod
    def value(self) -> V:
        """The value folded so far; it must not change afterwards."""

    def feed_all(self, frames: list[Any]) -> list[E] | None:
        """Return the events of several frames at once, or `None` to have them fed one by one.

        Only for speed, and only where no frame of them ends the stream or fails it, and
        none is an `Extra`.
        """
        return None

    def end(self, ending: Ending) -> Iterable[E]:
        """Return what was held back; the input has ended.

        Called once, with a `Cut` or a `StreamFault`, unless `complete` was
        called before. A dialect for which the end of the transport is the
        completion calls `complete` here if `ending` is a `Cut` that is `clean`.
        """
        return ()

    def complete(self, marker: str) -> None:
        """The stream is complete; `marker` says by what."""
        self.ended = marker

    def interrupt(self, cause: Cause) -> None:
        """The service itself says that it stopped before the end."""
        self.ended = cause

    def is_keepalive(self, event: E) -> bool:
        """Say whether `event` proves the transport and not progress."""
        return False


class JsonReducer(Reducer[E, V]):
    """A reducer of frames whose data is JSON.

    Write `on_json(data)`; `sentinel`, if it is set, is the data that is no JSON
    and completes the stream.
    """

    sentinel: str | None = None

    @abstractmethod
    def on_json(self, data: Any) -> Iterable[E]:
        """Return the events of one payload."""

    def feed(self, frame: SseFrame | str) -> Iterable[E]:
        """Parse the payload of an SSE frame, or a line."""
        data = frame if isinstance(frame, str) else frame[1]
        if data == self.sentinel:
            self.complete(data)
            return ()
        return self.on_json(parse_json(data))


class Dialect(ABC, Generic[E_co, V_co]):
    """What one wire means. Immutable: one object serves any number of streams.

    Only `reducer` must be written. A dialect that is not Server-Sent Events
    overrides `framer`; one that is not UTF-8 `decoder` as well.
    """

    limits: Limits = Limits()
    """The limits that hold where the caller gives none."""
    errors: Errors = "strict"
    """What the decoder does with ill-formed UTF-8."""
    asks: ClassVar[frozenset[type[Extra]]] = frozenset()
    """The kinds of `Extra` that the reducer wants to see beside frames."""
    media_types: frozenset[str] | None = None
    """What such streams are served as, in lower case; `None`: as what the framer reads."""

    @abstractmethod
    def reducer(self, limits: Limits) -> Reducer[E_co, V_co]:
        """Return the state for one stream."""

    def decoder(self, limits: Limits) -> Decoder:
        """Return the first stage of one stream."""
        return Utf8Decoder(self.errors, limits.total_bytes)

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return SseFramer(limits.frame_bytes, self.asks)


Events: TypeAlias = tuple[list[E], int, Outcome[V] | None, bool]
"""What some frames came to: items, size, outcome, completing.

The items are events; the outcome is there if they ended the stream. `size` is the
number of bytes that are done with once these events are.

`completing`: the last of the events is part of what completed the stream, so
whoever has it has a complete one. A completion that makes no event is seen only by
asking on: whether it shared a read with the event before it must make no difference.
"""


Hide: TypeAlias = Callable[[StreamFault], StreamFault]
"""Returns a fault without what nobody may see."""


@final
class Reduction(Generic[E, V]):
    """Runs a reducer over batches of frames, and turns how it ends into an `Outcome`."""

    __slots__ = ("_asks", "_hide", "events", "frames", "reducer")

    def __init__(
        self, reducer: Reducer[E, V], asks: frozenset[type[Extra]], hide: Hide | None = None
    ) -> None:
        self.reducer = reducer
        self._asks = asks
        self._hide = hide
        self.frames = 0
        self.events = 0

    def feed(self, batch: Frames[Any]) -> Events[E, V]:
        """Return the events of a batch; those before a fault are among them."""
        frames, size, _ = batch
        reducer, number = self.reducer, 0
        items: list[E] = []
        try:
            at_once = reducer.feed_all(frames)
            if at_once is not None:
                self.events += len(at_once)
                self.frames += len(frames)
                return at_once, size, None, False
            feed = reducer.feed
            for frame in frames:
                before = len(items)
                items += feed(frame)
                if reducer.ended is not None:
                    return self._ended(items, batch, number, len(items) > before)
                number += 1
        except StreamFault as fault:
            return self._failed(items, batch, number, fault)
        except Exception as bug:
            where = f"The reducer {type(reducer).__name__}"
            return self._failed(items, batch, number, StageError(where, bug))
        self._count(frames, items)
        return items, size, None, False

    def end(self, ending: Ending) -> Events[E, V]:
        """Return what was held back, and the outcome."""
        items: list[E] = []
        try:
            items += self.reducer.end(ending)
        except StreamFault as fault:
            ending = _located(fault, ending.offset)
        except Exception as bug:
            where = f"The reducer {type(self.reducer).__name__}"
            ending = StageError(where, bug, offset=ending.offset)
        self.events += len(items)
        outcome = self._outcome(ending)
        return items, 0, outcome, isinstance(outcome, Completed) and bool(items)

    def _ended(
        self, items: list[E], batch: Frames[Any], number: int, made_events: bool
    ) -> Events[E, V]:
        """The reducer has completed or interrupted the stream with the frame of this number."""
        frames, size, _ = batch
        self._count(frames[: number + 1], items)
        _, end = span_of(batch, number)
        outcome = self._outcome(Cut(Cause.EOF, offset=end))
        return items, size, outcome, isinstance(outcome, Completed) and made_events

    def _failed(
        self, items: list[E], batch: Frames[Any], number: int, fault: StreamFault
    ) -> Events[E, V]:
        frames, size, _ = batch
        start, _ = span_of(batch, number)
        self._count(frames[: number + 1], items)
        last, _, outcome, _ = self.end(_located(fault, start))
        return items + last, size, outcome, False

    def _outcome(self, ending: Ending) -> Outcome[V]:
        value = self.reducer.value
        position = Position(ending.offset, self.frames, self.events)
        ended = self.reducer.ended
        if isinstance(ending, StreamFault):
            if self._hide is not None:
                ending = self._hide(ending)
            return Failed(ending, value, position)
        if isinstance(ended, str):
            return Completed(value, ended, position)
        assert isinstance(ending, Cut)
        cause = ending.cause if ended is None else ended
        torn = ending.torn or Boundary.MESSAGE
        return Interrupted(cause, torn, ending.error, value, position)

    def _count(self, frames: list[Any], events: list[E]) -> None:
        self.events += len(events)
        if self._asks:
            frames = [frame for frame in frames if not isinstance(frame, Extra)]
        self.frames += len(frames)


def _located(fault: StreamFault, offset: int) -> StreamFault:
    """Say where a fault lies that a reducer has raised: it cannot know."""
    fault.offset = offset
    return fault
