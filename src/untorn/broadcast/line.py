"""The events that are kept for all readers, and whose turn it is to receive the next.

There is no task here. A reader that has run out of events receives the next one from
the shared stream, for all: it leads. The others wait until it has; and whoever stops
leading, or waiting, for whatever reason, hands on.

A place *holds* the event that it comes to next if that must not be dropped before it
has it. Nothing is received while that would drop an event that is held.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from anyio import CancelScope, ClosedResourceError, EndOfStream

from ..link import Spot, in_trio, spot
from ..outcome import Outcome, StreamError

__all__ = ["Line", "Place", "SharedStream"]

E = TypeVar("E")
V = TypeVar("V")
E_co = TypeVar("E_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)


class SharedStream(Protocol[E_co, V_co]):
    """What can be shared: an `EventStream`, or what keeps these promises of its.

    A `receive()` that is cancelled has taken nothing. `outcome` is set when the last
    event of a completed stream is returned, and always before the end is raised. Where
    there is a `statistics()` with `bytes` and `frames`, a reader tells from it what was
    read, and where it left; elsewhere its own `statistics()` and its position say 0.
    """

    async def receive(self) -> E_co:
        """Return the next event, or raise the end."""
        ...

    @property
    def outcome(self) -> Outcome[V_co] | None:
        """How the stream ended."""
        ...

    @property
    def value(self) -> V_co:
        """The value folded so far."""
        ...


class Line(Generic[E, V]):
    """What all readers of one stream share. What is asked of it costs the same for any number."""

    def __init__(self, stream: SharedStream[E, V], capacity: int) -> None:
        self.stream = stream
        self.capacity = capacity
        self.events: dict[int, E] = {}
        """The events received last, by number: `capacity` of them at most."""
        self.head = 0
        """The number of the event that comes next."""
        self.end: Outcome[V] | None = None
        """How the stream ended, once that is known; it lies before event `head`."""
        self.completing = False
        """Whether the last event is part of what completed the stream."""
        self._holds: dict[int, int] = {}  # how many places hold an event, by its number
        self._leader: Place[E, V] | None = None
        self._waiting: dict[Place[E, V], None] = {}  # in the order in which they came
        self._call_soon: Callable[..., object] | None = None

    @property
    def oldest(self) -> int:
        """The number of the oldest event that is kept; none of a lower one is."""
        return self.head - self.capacity

    @property
    def _may_lead(self) -> bool:
        return self._leader is None and self.oldest not in self._holds

    async def advance(self, place: Place[E, V]) -> None:
        """Receive an event for all; or wait until another has, or until there is room."""
        if self._call_soon is None:
            self._call_soon = _call_soon()
        if self._may_lead:
            await self._lead(place)
        else:
            self._waiting[place] = None
            try:
                await place.spot.wait()
            finally:
                self._waiting.pop(place, None)

    def hand_on(self) -> None:
        """Let the first who waits lead, if anybody may; call it whenever that can be so."""
        if self._waiting and self._may_lead:
            self._wake(next(iter(self._waiting)))

    def hold(self, number: int) -> None:
        """Drop no event from this one on."""
        self._holds[number] = self._holds.get(number, 0) + 1

    def let_go(self, number: int) -> None:
        """Take one `hold` back, and hand on."""
        self._holds[number] -= 1
        if not self._holds[number]:
            del self._holds[number]
        self.hand_on()

    def let_go_soon(self, number: int) -> None:
        """Do the same from anywhere, another thread included."""
        if self._call_soon is None:  # nobody has ever waited
            self.let_go(number)
        else:
            with suppress(RuntimeError):  # the loop is over
                self._call_soon(self.let_go, number)

    def interrupt(self, place: Place[E, V]) -> None:
        """Bring a place back from `advance`, if it is there."""
        if place is self._leader:
            self._receiving.cancel()
        elif place in self._waiting:
            self._wake(place)

    def _wake(self, place: Place[E, V]) -> None:
        del self._waiting[place]
        place.spot.wake()

    def _wake_all(self) -> None:
        for place in self._waiting:
            place.spot.wake()
        self._waiting.clear()

    async def _lead(self, place: Place[E, V]) -> None:
        self._leader = place
        try:
            # The scope is for `interrupt`. Nothing is awaited in it behind the receiving,
            # so that no event is lost.
            with CancelScope() as self._receiving:
                self._add(await self.stream.receive())
        except BaseException as error:
            self.end = self.stream.outcome
            # A cancellation, a KeyboardInterrupt or a bug is the leader's alone.
            ends = isinstance(error, (EndOfStream, StreamError, ClosedResourceError))
            if self.end is None or not ends:
                raise
        finally:
            self._leader = None
            if self.end is not None:
                self._wake_all()

    def _add(self, event: E) -> None:
        self.events.pop(self.oldest, None)
        self.events[self.head] = event
        self.head += 1
        self.end = self.stream.outcome
        self.completing = self.end is not None
        self._wake_all()


class Place(Generic[E, V]):
    """Where one reader is in the line."""

    __slots__ = ("_holding", "_line", "_spot", "next")

    def __init__(self, line: Line[E, V]) -> None:
        self._line = line
        self._spot: Spot | None = None
        self._holding = False
        self.next = line.head
        """The number of the event that it comes to next."""

    @property
    def spot(self) -> Spot:
        """Where the reader waits."""
        if self._spot is None:
            self._spot = spot()  # not before there is a loop
        return self._spot

    @property
    def lost(self) -> int:
        """How many events it has yet to come to that are kept no more."""
        return max(0, self._line.oldest - self.next)

    @property
    def left(self) -> int:
        """How many events it has yet to come to."""
        return self._line.head - self.next

    def move(self, events: int) -> None:
        """Go on by so many events."""
        before, self.next = self.next, self.next + events
        if self._holding:
            self._line.hold(self.next)
            self._line.let_go(before)

    def hold(self) -> None:
        """From here on nothing is dropped before this place has come to it."""
        if not self._holding:
            self._holding = True
            self._line.hold(self.next)

    def let_go(self) -> None:
        """Hold nothing any more."""
        if self._holding:
            self._holding = False
            self._line.let_go(self.next)

    def __del__(self) -> None:
        # A reader that nobody has closed, left by a task that was cancelled for instance:
        # those that wait for it would wait for ever.
        if self._holding and self._line.end is None:
            self._line.let_go_soon(self.next)


def _call_soon() -> Callable[..., object]:
    """Return what calls a function in this loop, from whatever thread."""
    if in_trio():
        soon: Callable[..., object] = (
            sys.modules["trio"].lowlevel.current_trio_token().run_sync_soon
        )
        return soon
    return asyncio.get_running_loop().call_soon_threadsafe
