"""One reader of a shared stream: the same events, and an outcome of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import MISSING, fields, replace
from time import monotonic
from types import TracebackType
from typing import Any, Generic, Literal, NoReturn, TypeAlias, TypeVar, cast

from anyio import BusyResourceError, ClosedResourceError, EndOfStream, get_cancelled_exc_class
from anyio.abc import ObjectReceiveStream
from anyio.lowlevel import checkpoint

from ..fold import Statistics, raise_for
from ..outcome import Boundary, Cause, Completed, Interrupted, Outcome, Position
from ..stream import MOST_EVENTS, MOST_SECONDS, QuietEvents, is_cancelled
from .line import Line, Place

__all__ = ["EventsDropped", "Reader", "ReaderEvicted", "Slow"]

E = TypeVar("E")
V = TypeVar("V")

Slow: TypeAlias = Literal["block", "drop_oldest", "evict"]
"""What becomes of a reader that is slow; see `broadcast`."""


class ReaderEvicted(Exception):
    """Why a reader was ended: it fell more than `capacity` events behind."""


class EventsDropped(Exception):
    """Why the reader of a complete stream is not complete: it lost events."""


# What to do about either.
_REMEDY = 'raise capacity, or write slow="block" if it must see all'


class Reader(ObjectReceiveStream[E], Generic[E, V]):
    """One reader of a shared stream, with an outcome of its own.

    Use it as you use an `EventStream`: iterate it, or call `receive()`, from one task at
    a time; a `receive()` that is cancelled or times out has taken nothing. Enter it
    (`async with reader`), or close it, so that nobody waits for it when you have left; of
    one that is only dropped the others hear when Python collects it.

    Its outcome is that of the stream, behind its own last event; `position.events` is
    what it has received, and `retry_safe` tells from that alone: a reader that saw nothing
    may be one of several, and others have seen events. But it is `Interrupted` with

    - `ABANDONED`, or `CANCELLED`, if it was left before its end,
    - `CANCELLED` and a `ReaderEvicted` as `error`, if it was evicted,
    - `CANCELLED` and an `EventsDropped` as `error`, if the stream was completed and this
      reader has lost some of it.
    """

    def __init__(self, line: Line[E, V], slow: Slow) -> None:
        self._line = line
        self._slow: Slow = slow
        self._place = Place(line)
        self._skipped = line.head
        self._received = self._dropped = 0
        self._outcome: Outcome[V] | None = None
        self._busy = self._closed = False
        # As in EventStream: when a reader that never waits has to let others run.
        self._free = 0
        self._until = 0.0
        if slow == "block":
            self._place.hold()

    # --- the outcome

    @property
    def outcome(self) -> Outcome[V] | None:
        """How the stream ended for this reader; `None` while it runs."""
        self._catch_up()
        return self._outcome

    @property
    def value(self) -> V:
        """The value that the stream has folded so far; it may be ahead of this reader."""
        return self._line.stream.value

    @property
    def dropped(self) -> int:
        """How many events this reader has lost so far: before the next that it receives."""
        self._catch_up()
        return self._dropped

    @property
    def skipped(self) -> int:
        """How many events had been received by others before this reader came."""
        return self._skipped

    def statistics(self) -> Statistics:
        """Return the counts and times of the stream so far; zeros where it has none.

        They are those of the stream, which may be ahead of this reader; only `events`
        is what this reader has received.
        """
        return replace(_counted(self._line.stream), events=self._received)

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """The typed attributes of the stream, if it has any."""
        return getattr(self._line.stream, "extra_attributes", {})

    # --- the events

    async def receive(self) -> E:
        """Return the next event.

        Raises `EndOfStream` behind the last event of a completed stream,
        `StreamInterrupted` or `StreamFailed` behind that of any other, or where this
        reader was evicted; `ClosedResourceError` once it was closed or left;
        `BusyResourceError` while another task receives from it.
        """
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise EndOfStream from None

    async def __anext__(self) -> E:
        if self._busy:
            raise BusyResourceError("receiving from")
        if self._free and self._is_ready() and monotonic() < self._until:
            return self._take()
        self._busy = True
        try:
            return await self._wait()
        finally:
            self._busy = False
            if self._slow != "block":
                self._place.let_go()
            self._line.hand_on()  # it may have been this reader's turn to lead

    def events(self) -> AsyncIterator[E]:
        """Return the same events, but end quietly whatever happened.

        For callers who look at `outcome` afterwards.
        """
        return QuietEvents(self)

    async def aclose(self) -> None:
        """Leave, from any task. Nobody waits for this reader any more; the stream goes on."""
        self._leave(Cause.ABANDONED)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave(Cause.CANCELLED if is_cancelled(exc) else Cause.ABANDONED)

    def _marked(self, size: int, call: Callable[[], object]) -> AbstractContextManager[None]:
        """Do the same as that of the stream, if it has one."""
        marked = getattr(self._line.stream, "_marked", None)
        return nullcontext() if marked is None else cast(Any, marked(size, call))

    async def _wait(self) -> E:
        """Let other tasks run, or wait for an event; nothing is awaited behind the taking."""
        ready = self._is_ready()
        if self._outcome is None:
            # Whatever becomes of a slow reader: in here it is not slow, it only waits to run.
            self._place.hold()
        if not self._free or ready or self._line.end is not None:
            await checkpoint()
            self._free = MOST_EVENTS
        while not self._is_ready():
            if self._closed:
                raise ClosedResourceError
            if self._outcome is not None or self._line.end is not None:
                self._raise_end()
            await self._advance()
        self._until = monotonic() + MOST_SECONDS
        return self._take()

    async def _advance(self) -> None:
        try:
            await self._line.advance(self._place)
        except get_cancelled_exc_class():
            raise  # it has seen nothing, the end neither
        except BaseException:  # the stream may have ended by it, a KeyboardInterrupt for instance
            self._see_end()
            raise

    def _is_ready(self) -> bool:
        self._catch_up()
        return self._outcome is None and self._place.left > 0

    def _take(self) -> E:
        event = self._line.events[self._place.next]
        self._free -= 1
        self._received += 1
        self._place.move(1)
        # With its completing event a stream is complete, whether the reader asks on or not.
        if self._line.completing:
            self._see_end()
        return event

    def _catch_up(self) -> None:
        """Notice what was dropped while this reader did not look."""
        lost = self._place.lost
        if not lost or self._outcome is not None:
            return
        if self._slow == "evict":
            behind = f"The reader fell more than {self._line.capacity:,} events behind; {_REMEDY}"
            self._settle(self._left(Cause.CANCELLED, ReaderEvicted(behind)))
        else:
            self._dropped += lost
            self._place.move(lost)

    # --- the ends

    def _see_end(self) -> None:
        """Settle as the stream has ended, if no event lies before its end."""
        if self._line.end is not None and not self._place.left:
            self._settle(self._ended(self._line.end))

    def _raise_end(self) -> NoReturn:
        self._see_end()
        assert self._outcome is not None
        raise_for(self._outcome)
        raise StopAsyncIteration

    def _settle(self, outcome: Outcome[V]) -> None:
        """The first settling wins."""
        if self._outcome is None:
            self._outcome = outcome

    def _ended(self, outcome: Outcome[V]) -> Outcome[V]:
        """Return the outcome of the stream as this reader has seen it."""
        position = replace(outcome.position, events=self._received)
        if isinstance(outcome, Completed) and self._dropped:
            lost = EventsDropped(f"The reader lost {self._dropped:,} events; {_REMEDY}")
            return Interrupted(Cause.CANCELLED, Boundary.MESSAGE, lost, outcome.value, position)
        return replace(outcome, position=position)

    def _left(self, cause: Cause, error: BaseException | None = None) -> Outcome[V]:
        """Return the outcome of a reader that is ended before the stream has ended for it."""
        stream, torn, partial = self._line.stream, Boundary.MESSAGE, cast(V, None)
        with suppress(Exception):  # to have no value may be a bug of the dialect
            partial = stream.value
        unseen = stream.outcome
        if isinstance(unseen, Interrupted):
            torn, error = unseen.torn, error or unseen.error
        position = replace(_position(stream), events=self._received)
        return Interrupted(cause, torn, error, partial, position)

    def _leave(self, cause: Cause) -> None:
        if self._closed:
            return
        self._catch_up()
        self._closed = True
        self._settle(self._left(cause))
        self._place.let_go()
        self._line.interrupt(self._place)


def _position(stream: Any) -> Position:
    """Return where a stream is, as far as it tells."""
    if stream.outcome is not None:
        return cast(Position, stream.outcome.position)
    counted = _counted(stream)
    return Position(counted.bytes, counted.frames, 0)


def _counted(stream: Any) -> Statistics:
    """Return what a stream has counted, which need not be all that ours count."""
    counted = stream.statistics() if hasattr(stream, "statistics") else None
    if isinstance(counted, Statistics):
        return counted
    names = [field.name for field in fields(Statistics) if field.default is MISSING]
    return Statistics(**{name: getattr(counted, name, 0) for name in names})
