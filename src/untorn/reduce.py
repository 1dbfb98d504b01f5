"""Frames to events and a value: what a dialect is, and how its verdict becomes an outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, Protocol, TypeVar, final

from .faults import StageError, StreamFault
from .frame import Extra, Frames, SseFrame
from .limits import Limits
from .outcome import Boundary, Cause, Completed, Failed, Interrupted, Outcome, Position
from .payload import parse_json
from .sse import SseFramer
from .stage import Cut, Ending
from .text import Errors, Utf8Decoder

__all__ = ["Decoder", "Dialect", "Events", "Framer", "JsonReducer", "Reducer", "Reduction"]

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

    @abstractmethod
    def reducer(self, limits: Limits) -> Reducer[E_co, V_co]:
        """Return the state for one stream."""

    def decoder(self, limits: Limits) -> Decoder:
        """Return the first stage of one stream."""
        return Utf8Decoder(self.errors, limits.total_bytes)

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return SseFramer(limits.frame_bytes, self.asks)


@final
class Events(Generic[E, V]):
    """What some frames came to: events, and the outcome if they ended the stream.

    `size` is the number of bytes that are done with once these events are.
    `completing`: the last of the events is part of what completed the stream, so
    whoever has it has a complete one. A completion that makes no event is seen
    only by asking on: whether it shared a read with the event before it must make
    no difference.
    """

    __slots__ = ("completing", "items", "outcome", "size")

    def __init__(
        self, items: list[E], size: int, outcome: Outcome[V] | None, completing: bool = False
    ) -> None:
        self.items = items
        self.size = size
        self.outcome = outcome
        self.completing = completing


@final
class Reduction(Generic[E, V]):
    """Runs a reducer over batches of frames, and turns how it ends into an `Outcome`."""

    __slots__ = ("_asks", "events", "frames", "reducer")

    def __init__(self, reducer: Reducer[E, V], asks: frozenset[type[Extra]]) -> None:
        self.reducer = reducer
        self._asks = asks
        self.frames = 0
        self.events = 0

    def feed(self, batch: Frames[Any]) -> Events[E, V]:
        """Return the events of a batch; those before a fault are among them."""
        reducer, feed = self.reducer, self.reducer.feed
        items: list[E] = []
        number = 0
        try:
            for number, frame in enumerate(batch.items):
                before = len(items)
                items += feed(frame)
                if reducer.ended is not None:
                    return self._ended(items, batch, number, len(items) > before)
        except StreamFault as fault:
            return self._failed(items, batch, number, fault)
        except Exception as bug:
            where = f"The reducer {type(reducer).__name__}"
            return self._failed(items, batch, number, StageError(where, bug))
        self.frames += len(batch.items)
        self.events += len(items)
        if self._asks:
            self._discount(batch.items)
        return Events(items, batch.size, None)

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
        return Events(items, 0, outcome, isinstance(outcome, Completed) and bool(items))

    def _ended(
        self, items: list[E], batch: Frames[Any], number: int, made_events: bool
    ) -> Events[E, V]:
        """The reducer has completed or interrupted the stream with the frame of this number."""
        self._count(batch.items[: number + 1], items)
        _, end = batch.span(number)
        outcome = self._outcome(Cut(Cause.EOF, offset=end))
        return Events(items, batch.size, outcome, isinstance(outcome, Completed) and made_events)

    def _failed(
        self, items: list[E], batch: Frames[Any], number: int, fault: StreamFault
    ) -> Events[E, V]:
        start, _ = batch.span(number)
        self._count(batch.items[: number + 1], items)
        last = self.end(_located(fault, start))
        return Events(items + last.items, batch.size, last.outcome)

    def _outcome(self, ending: Ending) -> Outcome[V]:
        value = self.reducer.value
        position = Position(ending.offset, self.frames, self.events)
        ended = self.reducer.ended
        if isinstance(ending, StreamFault):
            return Failed(ending, value, position)
        if isinstance(ended, str):
            return Completed(value, ended, position)
        assert isinstance(ending, Cut)
        cause = ending.cause if ended is None else ended
        torn = ending.torn or Boundary.MESSAGE
        return Interrupted(cause, torn, ending.error, value, position)

    def _count(self, frames: list[Any], events: list[E]) -> None:
        self.frames += len(frames)
        self.events += len(events)
        if self._asks:
            self._discount(frames)

    def _discount(self, frames: list[Any]) -> None:
        for frame in frames:
            if isinstance(frame, Extra):
                self.frames -= 1


def _located(fault: StreamFault, offset: int) -> StreamFault:
    """Say where a fault lies that a reducer has raised: it cannot know."""
    fault.offset = offset
    return fault
