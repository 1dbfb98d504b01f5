"""What users hold of a feed: its events, over all connections.

    waiting -> opening -> streaming -> waiting | ended

A feed has no task of its own: `receive()` goes from state to state, and each of its
waits can be cancelled and begun again. What is read ahead is read by the runner of
the stream that is open.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Generic, TypeVar

from anyio import BusyResourceError, ClosedResourceError, EndOfStream, current_time
from anyio.abc import ObjectReceiveStream
from anyio.lowlevel import checkpoint

from ..fold import Statistics, raise_for
from ..outcome import Boundary, Cause, Completed, Interrupted, Outcome, Position, StreamError
from ..stream import EventStream, QuietEvents
from .alarm import Alarm
from .backoff import Backoff
from .connection import Connection, Connections
from .notice import Connected, Reconnecting
from .resumption import Resumption
from .retry import Retry
from .total import total

__all__ = ["Feed"]

E = TypeVar("E")
V = TypeVar("V")


class Feed(ObjectReceiveStream[E | Connected | Reconnecting], Generic[E, V]):
    """The events of a feed, what happens between them, and how it ended.

    Iterate it, or call `receive()`. It has one consumer at a time. A `receive()`
    that is cancelled or times out has taken nothing; call it again, and it goes on
    where it was: a wait that had ten seconds to go has them still, less the time
    that has passed.
    """

    def __init__(
        self,
        connections: Connections[E, V],
        resumption: Resumption,
        backoff: Backoff,
        random: Callable[[], float],
    ) -> None:
        self._connections = connections
        self._resumption = resumption
        self._retry = Retry(connections, resumption, backoff, random)
        self._value = connections.value(resumption.resumed_from)
        self._outcome: Outcome[V] | None = None
        self._events = 0
        self._connection: Connection[E, V] | None = None
        # The connection before, until its source is closed; when the next one is due;
        # and what is to be said of that.
        self._before: EventStream[E, V] | None = None
        # What the connections that have ended have counted.
        self._ended = total()
        self._due = -math.inf
        self._notice: Reconnecting | None = None
        self._alarm = Alarm()
        self._busy = self._closed = False

    # --- the outcome

    @property
    def outcome(self) -> Outcome[V] | None:
        """How the feed ended; `None` while it runs, always set after the block.

        It is the outcome of the last connection, but for `position.events` and
        `retry_safe`, which count the events of all connections.
        """
        return self._outcome

    @property
    def value(self) -> V:
        """The value folded so far on this connection, or on the last one."""
        stream = self._stream
        return self._value if stream is None else stream.value

    @property
    def last_event_id(self) -> str:
        """The id behind which the feed is resumed; `""` if there is none.

        That of the last event handed out, never of one that was only read ahead: so
        a program may store it with what it has done, and hand it to `connect` when
        it is started again. An id that came without an event counts when its
        connection ends.
        """
        return self._resumption.last_event_id

    def statistics(self) -> Statistics:
        """Return the counts and times so far, those of all connections taken together.

        `first_byte` and `first_event` are those of the first connection that had one,
        from its own start; `largest_frame` is the largest of all. The rest are sums, of
        the connections alone: no wait between two is in them.
        """
        stream = self._stream
        return self._ended if stream is None else total(self._ended, stream.statistics())

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Those of `HttpAttribute`, of the connection that is open."""
        stream = self._stream
        return {} if stream is None else stream.extra_attributes

    @property
    def _stream(self) -> EventStream[E, V] | None:
        return None if self._connection is None else self._connection.stream

    # --- the events

    async def receive(self) -> E | Connected | Reconnecting:
        """Return the next event, or what happened to the connection.

        Raises `EndOfStream` behind the last event of a completed feed,
        `StreamInterrupted` or `StreamFailed` behind that of any other;
        `ClosedResourceError` once the feed was closed or left;
        `BusyResourceError` while another task receives.
        """
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise EndOfStream from None

    async def __anext__(self) -> E | Connected | Reconnecting:
        if self._busy:
            raise BusyResourceError("receiving from")
        self._busy = True
        try:
            return await self._next()
        finally:
            self._busy = False

    def events(self) -> AsyncIterator[E | Connected | Reconnecting]:
        """Return the same, but end quietly whatever happened.

        For callers who look at `outcome` afterwards.
        """
        return QuietEvents(self)

    async def aclose(self) -> None:
        """Leave the feed, from any task; returns when its connection is closed."""
        await self._leave(Cause.ABANDONED)

    def _marked(self, size: int, call: Callable[[], object]) -> AbstractContextManager[None]:
        """Do the same as that of the stream, with the bytes of all connections so far."""
        stream = self._stream
        return nullcontext() if stream is None else stream._marked(size - self._ended.bytes, call)

    async def _next(self) -> E | Connected | Reconnecting:
        while True:
            connection = self._connection
            if connection is not None and connection.announced and not self._closed:
                event = await self._receive(connection)
                if event is not None:
                    return event[0]
                continue
            await checkpoint()
            if self._closed:
                raise ClosedResourceError
            if self._notice is not None:
                notice, self._notice = self._notice, None
                return notice
            if self._outcome is not None:
                raise_for(self._outcome)
                raise StopAsyncIteration
            if connection is None:
                await self._open()
            elif await connection.answered() and not self._closed:
                connection.announced = True
                return Connected(self._retry.failures + 1, connection.resumed_from)
            else:
                connection.announced = True  # there is no answer, and the stream says why

    # --- waiting

    async def _open(self) -> None:
        if self._before is not None:
            await self._before.aclose()
            self._before = None
        await self._alarm.wait_until(self._due)
        if self._alarm.rung:  # closed, from another task
            return
        resumption = self._resumption
        connection = self._connections.make(resumption.next, resumption.resumed_from)
        stream = await connection.open()
        self._connection = connection
        if self._closed:  # meanwhile
            await stream.aclose()

    # --- streaming

    async def _receive(self, connection: Connection[E, V]) -> tuple[E] | None:
        """Return the next event; `None` if the connection has ended."""
        stream = connection.stream
        assert stream is not None
        try:
            event = await stream.__anext__()
        except (StopAsyncIteration, StreamError):
            assert stream.outcome is not None
            self._on_end(connection, stream, stream.outcome)
            return None
        except BaseException:
            # Closed meanwhile; or the source has raised what is the host's business.
            if stream.outcome is not None:
                self._settle(stream.outcome)
            raise
        self._events += 1
        connection.events += 1
        self._resumption.handed_out = True
        if self._connections.resumable and isinstance(id := getattr(event, "id", None), str):
            self._resumption.last_event_id = str(id)
        if stream.outcome is not None:
            self._settle(stream.outcome)
        return (event,)

    def _on_end(
        self, connection: Connection[E, V], stream: EventStream[E, V], ended: Outcome[V]
    ) -> None:
        """Decide what follows a connection; nothing is awaited."""
        self._connection, self._before = None, stream
        self._ended = total(self._ended, stream.statistics())
        # Not `stream.value`: a reducer with a bug may have none.
        self._value = ended.value if isinstance(ended, Completed) else ended.partial
        if self._outcome is not None:
            return
        what = self._retry.behind(connection, ended)
        if isinstance(what, Reconnecting):
            self._due, self._notice = current_time() + what.delay, what
        else:
            self._settle(what)

    # --- leaving

    def _settle(self, outcome: Outcome[V]) -> None:
        """The first settling wins."""
        if self._outcome is None:
            position = replace(outcome.position, events=self._events)
            self._outcome = replace(outcome, position=position)

    async def _leave(self, cause: Cause) -> None:
        stream = self._stream or self._before
        if not self._closed:
            self._closed = True
            self._notice = None
            self._settle(self._left(cause))
            self._alarm.ring()
        if stream is not None:
            await stream._leave(cause)

    def _left(self, cause: Cause) -> Outcome[V]:
        """Return the outcome of a feed that its consumer ends."""
        if self._stream is None:
            nowhere = Position(0, 0, 0)
            return Interrupted(cause, Boundary.MESSAGE, None, self._value, nowhere)
        return self._stream.outcome or self._stream._left(cause)
