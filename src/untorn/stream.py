"""What users hold: `open_stream`, the `EventStream` it gives, and `collect`.

No task group and no cancel scope of ours surrounds the body of the `async with`:
the tasks live in one runner task, which the stream starts when it is entered and
has ended when it is left. So the body may be left in any order, from any task, or
never, and what it raises comes out bare.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from anyio import (
    BusyResourceError,
    ClosedResourceError,
    EndOfStream,
    TypedAttributeProvider,
    current_time,
    get_cancelled_exc_class,
)
from anyio.abc import ObjectReceiveStream
from anyio.lowlevel import checkpoint

from .flow import Flow, close_in_time
from .fold import Stages, Statistics, check_dialect, check_limits, raise_for
from .interrupt import CLOSE_SECONDS
from .limits import Clocks, Limits
from .outcome import Cause, Interrupted, Outcome, StreamError
from .reduce import Dialect
from .source import ByteSource, Source, as_source

__all__ = [
    "MOST_EVENTS",
    "MOST_SECONDS",
    "EventStream",
    "OpenStream",
    "QuietEvents",
    "collect",
    "is_cancelled",
    "open_stream",
]

E = TypeVar("E")
V = TypeVar("V")
E_co = TypeVar("E_co", covariant=True)

# A consumer that never waits lets other tasks run after so many events, or
# after so many seconds, whichever comes first.
MOST_EVENTS: Final = 64
MOST_SECONDS: Final = 0.001


def open_stream(
    source: ByteSource,
    dialect: Dialect[E, V],
    *,
    limits: Limits | None = None,
    clocks: Clocks = Clocks(),
    close_source: bool = True,
    task_group: Any = None,
) -> OpenStream[E, V]:
    """Open a stream of events on a source of bytes.

    Use it as `async with open_stream(...) as stream`, once. Nothing is touched
    before it is entered.

    source
        An async iterable of bytes, an anyio `ByteReceiveStream` or
        `ObjectReceiveStream[bytes]`, a trio `ReceiveStream`, an asyncio or
        aiohttp `StreamReader`, or a streamed httpx2 or httpx response; anything
        else is a `TypeError`. Hand generators over before they are started.
    dialect
        What the bytes mean; see `untorn.dialects`.
    limits, clocks
        Bounds on memory (`None`: the dialect's own) and on waiting.
    close_source
        untorn takes the source over and closes it, shielded and within a second.
        `False`: it is left open where the reading stopped, and nothing behind
        the completion marker is drained.
    task_group
        A task group of yours (anyio, trio or asyncio) to run the tasks in, if you
        want your tree of tasks to show them. It must outlive the stream.
    """
    check_dialect(dialect)
    check_limits(limits)
    if not isinstance(clocks, Clocks):
        raise TypeError(f"Not clocks: {clocks!r}; write clocks=Clocks(idle=...)")
    kinds = ("create_task", "start_soon")
    if task_group is not None and not any(hasattr(task_group, kind) for kind in kinds):
        raise TypeError(f"Not a task group: {task_group!r}; give one of anyio, trio or asyncio")
    return OpenStream(as_source(source), dialect, limits, clocks, close_source, task_group)


async def collect(
    source: ByteSource,
    dialect: Dialect[Any, V],
    *,
    limits: Limits | None = None,
    clocks: Clocks = Clocks(),
    close_source: bool = True,
    task_group: Any = None,
) -> Outcome[V]:
    """Read a stream to its end and return the outcome.

    Takes what `open_stream` takes. Never raises for what the stream did; call
    `.unwrap()` on the outcome for the value or an exception.
    """
    async with open_stream(
        source,
        dialect,
        limits=limits,
        clocks=clocks,
        close_source=close_source,
        task_group=task_group,
    ) as stream:
        async for _ in stream.events():
            pass
    assert stream.outcome is not None
    return stream.outcome


class OpenStream(Generic[E, V]):
    """The async context manager that `open_stream` returns; single use."""

    def __init__(
        self,
        source: Source,
        dialect: Dialect[E, V],
        limits: Limits | None,
        clocks: Clocks,
        close_source: bool,
        task_group: Any,
    ) -> None:
        self._source = source
        self._dialect = dialect
        self._limits = limits
        self._clocks = clocks
        self._close_source = close_source
        self._task_group = task_group
        self._stream: EventStream[E, V] | None = None
        self._entered = False

    def __repr__(self) -> str:
        state = "entered" if self._entered else "not entered yet: async with ... as stream"
        return f"<OpenStream: {type(self._dialect).__name__}, {state}>"

    async def __aenter__(self) -> EventStream[E, V]:
        if self._entered:
            raise RuntimeError("This stream was opened before; call open_stream() once for each")
        self._entered = True
        try:
            await checkpoint()
            stages = Stages(self._dialect, self._limits, self._source.hide)
        except BaseException:  # a cancellation, or a bug of the dialect
            if self._close_source:
                await close_in_time(self._source, current_time() + CLOSE_SECONDS)
            raise
        flow = Flow(self._source, stages, self._clocks, close_source=self._close_source)
        await flow.start(self._task_group)
        self._stream = EventStream(flow, stages, self._source)
        return self._stream

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._stream is not None
        await self._stream._leave(Cause.CANCELLED if is_cancelled(exc) else Cause.ABANDONED)


class EventStream(ObjectReceiveStream[E], Generic[E, V]):
    """The events of one stream, and how it ended.

    Iterate it, or call `receive()`. It has one consumer at a time. A `receive()`
    that is cancelled or times out has taken nothing; call it again.
    """

    def __init__(self, flow: Flow[E, V], stages: Stages[E, V], source: Source) -> None:
        self._flow = flow
        self._stages = stages
        self._source = source
        self._outcome: Outcome[V] | None = None
        # Events taken and not handed out, and what follows them.
        self._queue: deque[E] = deque()
        self._size = 0
        self._last: Outcome[V] | None = None
        self._completing = False
        self._taken = 0
        self._busy = self._closed = self._raised = False
        # When a consumer that never waits has to let others run.
        self._free = 0
        self._until = 0.0
        self._first_event: float | None = None

    def __repr__(self) -> str:
        return f"<EventStream: {self._stages.describe(self._outcome)}>"

    # --- the outcome

    @property
    def outcome(self) -> Outcome[V] | None:
        """How the stream ended; `None` while it runs, always set after the block."""
        return self._outcome

    @property
    def value(self) -> V:
        """The value folded so far; it may be ahead of the last event received."""
        return self._stages.reduction.reducer.value

    @property
    def close_error(self) -> BaseException | None:
        """What closing the source raised, if anything."""
        return self._flow.close_error

    def statistics(self) -> Statistics:
        """Return the counts and times so far."""
        return self._stages.statistics(
            first_byte=self._flow.first_byte,
            first_event=self._first_event,
            waited_for_source=self._flow.clock.waited,
            waited_for_consumer=self._flow.waited_for_consumer,
        )

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """The typed attributes of the source, if it has any."""
        original = self._source.original
        return original.extra_attributes if isinstance(original, TypedAttributeProvider) else {}

    # --- the events

    async def receive(self) -> E:
        """Return the next event.

        Raises `EndOfStream` behind the last event of a completed stream,
        `StreamInterrupted` or `StreamFailed` behind that of any other;
        `ClosedResourceError` once the stream was closed or left;
        `BusyResourceError` while another task receives.
        """
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise EndOfStream from None

    async def __anext__(self) -> E:
        if (
            self._free
            and not self._busy
            and (self._queue or self._take())
            and monotonic() < self._until
        ):
            self._free -= 1
            return self._pop() if self._completing else self._queue.popleft()
        if self._busy:
            raise BusyResourceError("receiving from")
        self._busy = True
        try:
            return await self._wait()
        finally:
            self._busy = False

    def events(self) -> AsyncIterator[E]:
        """Return the same events, but end quietly whatever happened.

        For callers who look at `outcome` afterwards.
        """
        return QuietEvents(self)

    async def aclose(self) -> None:
        """Leave the stream, from any task; returns when the source is closed."""
        await self._leave(Cause.ABANDONED)

    @contextmanager
    def _marked(self, size: int, call: Callable[[], object]) -> Iterator[None]:
        """Have `call` called, once, where so many bytes were read and the last made no event."""
        self._flow.marks[call] = size
        try:
            yield
        finally:
            self._flow.marks.pop(call, None)

    async def _wait(self) -> E:
        """Let other tasks run, or wait for events; return the first.

        Nothing is awaited behind the taking of events.
        """
        if not self._free or self._queue or self._last is not None:
            await checkpoint()
            self._free = MOST_EVENTS
        while not (self._queue or self._take()):
            if self._closed:
                raise ClosedResourceError("The stream was closed or left; open another")
            if self._last is not None:
                self._raise_end(self._last)
            # Woken in the turn in which it parked, a task on asyncio is not reached by
            # the cancellation of a scope: so this is no checkpoint, and costs of `_free`.
            if not await self._flow.events.ready() and not self._closed:
                self._last = self._left(Cause.CANCELLED)  # by a host's shutdown, for instance
        self._free -= 1
        self._until = monotonic() + MOST_SECONDS
        return self._pop()

    def _take(self) -> bool:
        """Take what the flow has ready; say whether it is events."""
        if self._size:  # those before are done with: so many bytes more may be read
            self._flow.credit.release(self._size)
            self._size = 0
        link = self._flow.events
        if not link.items or self._last is not None:
            return False
        events, self._size, self._last, self._completing = link.pop()
        self._queue.extend(events)
        self._taken += len(events)
        if self._first_event is None and events:
            self._first_event = self._flow.elapsed()
        return bool(events)

    def _pop(self) -> E:
        event = self._queue.popleft()
        # With its completing event a stream is complete, whether the consumer asks on or not.
        if self._completing and not self._queue and self._last is not None:
            self._settle(self._last)
        return event

    def _raise_end(self, last: Outcome[V]) -> None:
        self._settle(last)
        assert self._outcome is not None
        if isinstance(last, Interrupted) and not self._raised:
            error = last.error
            # A KeyboardInterrupt or SystemExit of the source is the host's business.
            if isinstance(error, BaseException) and not isinstance(
                error, (Exception, get_cancelled_exc_class())
            ):
                self._raised = True
                raise error
        raise_for(self._outcome)
        raise StopAsyncIteration

    def _settle(self, outcome: Outcome[V]) -> None:
        """The first settling wins."""
        if self._outcome is None:
            self._outcome = outcome

    async def _leave(self, cause: Cause) -> None:
        if not self._closed:
            self._closed = True
            if self._outcome is None:
                self._settle(self._left(cause))
            self._queue.clear()
            self._flow.stop()
        await self._flow.stopped()

    def _left(self, cause: Cause) -> Outcome[V]:
        """Return the outcome of a stream that its consumer ends, with what it has not seen."""
        unseen = self._flow.last
        error = unseen.error if isinstance(unseen, Interrupted) else None
        received = self._taken - len(self._queue)
        return self._flow.interrupted(cause, error, events=received)


class QuietEvents(AsyncIterator[E_co]):
    """The events of a stream, which end quietly whatever happened."""

    def __init__(self, stream: AsyncIterator[E_co]) -> None:
        self._stream = stream

    def __aiter__(self) -> QuietEvents[E_co]:
        return self

    async def __anext__(self) -> E_co:
        try:
            return await self._stream.__anext__()
        except StreamError:
            raise StopAsyncIteration from None


def is_cancelled(exc: BaseException | None) -> bool:
    """Say whether the body was left by a cancellation and nothing else."""
    if isinstance(exc, BaseExceptionGroup):
        return all(map(is_cancelled, exc.exceptions))
    return isinstance(exc, get_cancelled_exc_class())
