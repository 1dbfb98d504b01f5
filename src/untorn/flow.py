"""A task per stage, and the only channels.

    source -> [decode] -texts-> [frame] -frames-> [reduce] -events-> consumer

The links hand on batches, in order, and lose nothing: whoever takes waits first
and takes without awaiting. Endings travel in them, behind the last item, and need
no free place; no stage raises through the task group.

Back-pressure is counted in bytes, see `_Credit`. `Clock` times only the waiting
for the source.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Generic, Protocol, TypeVar

from anyio import CancelScope, EndOfStream, Event, create_task_group, get_cancelled_exc_class
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from .faults import StageError, StreamFault
from .fold import Stages, as_bytes, feed_all
from .frame import Frames
from .limits import Clocks
from .outcome import Cause, Completed, Failed, Outcome, Position
from .reduce import Events
from .source import Source
from .stage import Cut, Ending

__all__ = ["Flow", "Link"]

T = TypeVar("T")
E = TypeVar("E")
V = TypeVar("V")

# How long closing a source may take before it is left to itself.
CLOSE_SECONDS: Final = 1.0
# How long the rest behind the completion marker may take: long enough for the end
# of the chunked body that keeps an HTTP connection usable, too short to be felt.
DRAIN_SECONDS: Final = 0.2
# Batches per link. One keeps everything but the bytes in flight unparsed while the
# consumer stalls, and costs no throughput that could be measured.
CAPACITY: Final = 1


# --- waiting --------------------------------------------------------------------


class Spot(Protocol):
    """A place where one task waits to be woken; waking nobody is forgotten."""

    async def wait(self) -> None: ...
    def wake(self) -> None: ...


class _AsyncioSpot:
    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        self._future = asyncio.get_running_loop().create_future()
        try:
            await self._future
        finally:
            self._future = None

    def wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class _TrioSpot:
    __slots__ = ("_lowlevel", "_task")

    def __init__(self) -> None:
        self._lowlevel = sys.modules["trio"].lowlevel
        self._task: Any = None

    async def wait(self) -> None:
        self._task = self._lowlevel.current_task()
        await self._lowlevel.wait_task_rescheduled(self._leave)

    def _leave(self, raise_cancel: object) -> Any:
        self._task = None
        return self._lowlevel.Abort.SUCCEEDED

    def wake(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            self._lowlevel.reschedule(task)


def in_trio() -> bool:
    """Say whether the current task is trio's."""
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_task())


def _spot() -> Spot:
    # Parked natively: on an anyio.Event a hop costs twice as much.
    return _TrioSpot() if in_trio() else _AsyncioSpot()


# --- links ----------------------------------------------------------------------


class Link(Generic[T]):
    """A bounded channel from one task to one other.

    An item is never handed over to a waiting reader: the reader waits until there
    is one (`ready`) and takes it without awaiting (`pop`). So a reader that is
    cancelled while it waits, by whatever means, has taken nothing.
    """

    __slots__ = ("_closed", "_finished", "_items", "_reader", "_writer", "ending")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._reader = _spot()
        self._writer = _spot()
        self._finished = False
        self._closed = False
        self.ending: Ending | None = None
        """How the items ended, as soon as `ready` says that there are no more."""

    async def put(self, item: T) -> bool:
        """Add an item once there is room; return `False` if the reader has left."""
        while self.full:
            await self._writer.wait()
        return self.put_now(item)

    def put_now(self, item: T) -> bool:
        """Add an item whether there is room or not; for the last one."""
        if self._closed:
            return False
        self._items.append(item)
        self._reader.wake()
        return True

    def finish(self, ending: Ending | None) -> None:
        """Say that no item follows; never waits."""
        if not self._finished:
            self._finished, self.ending = True, ending
            self._reader.wake()

    @property
    def full(self) -> bool:
        """Whether the next item has to wait for room."""
        return len(self._items) >= CAPACITY and not self._closed

    @property
    def holds(self) -> bool:
        """Whether an item can be taken, or the end be seen, without waiting."""
        return bool(self._items) or self._finished or self._closed

    async def ready(self) -> bool:
        """Wait for an item; return `False` at the end."""
        while not self.holds:
            await self._reader.wait()
        return bool(self._items)

    def pop(self) -> T:
        """Take the item that is ready."""
        item = self._items.popleft()
        self._writer.wake()
        return item

    def close(self) -> None:
        """The reader leaves: what is left is dropped, and the writer told."""
        self._closed = True
        self._items.clear()
        self._writer.wake()
        self._reader.wake()


class _Credit:
    """How many bytes may be read ahead of the consumer.

    Of all bytes `read`, some are `released`: their events were taken and done
    with, or they made none; and some are `open`, part of the unfinished frame.
    The next read waits until fewer than `window` are neither. So at most
    window + one read + one frame are ever held, however many stages there are,
    and a frame larger than the window cannot block itself.
    """

    __slots__ = ("_spot", "_stopped", "_window", "open", "read", "released")

    def __init__(self, window: int) -> None:
        # An unfinished character is of no frame yet, and must not fill the window.
        self._window = max(window, 4)
        self._spot = _spot()
        self._stopped = False
        self.read = self.released = self.open = 0

    @property
    def spent(self) -> bool:
        """Whether the next read has to wait."""
        return self.read - self.released - self.open >= self._window and not self._stopped

    async def wait(self) -> None:
        """Wait until there is credit for a read."""
        while self.spent:
            await self._spot.wait()

    def release(self, size: int) -> None:
        """So many bytes are done with."""
        self.released += size
        if not self.spent:
            self._spot.wake()

    def stop(self) -> None:
        """Nobody reads any more: never wait again."""
        self._stopped = True
        self._spot.wake()


# --- time -----------------------------------------------------------------------


class Clock:
    """The time spent waiting for the source, and what may be spent of it.

    Each bound has a mark, the waiting time at which it was last re-armed. While
    the source is waited for, the scope's deadline is where the first bound runs
    out; at any other time there is none.
    """

    __slots__ = ("_bounds", "_marks", "_scope", "_since", "_waited", "now")

    def __init__(self, clocks: Clocks, scope: CancelScope, now: Callable[[], float]) -> None:
        self.now = now
        self._scope = scope
        self._waited = 0.0
        self._since: float | None = None  # since when the source is waited for
        first = clocks.first_byte if clocks.first_byte is not None else clocks.idle
        bounds = {
            Cause.FIRST_BYTE_TIMEOUT
            if clocks.first_byte is not None
            else Cause.IDLE_TIMEOUT: first,
            Cause.PROGRESS_TIMEOUT: clocks.progress,
            Cause.TOTAL_TIMEOUT: clocks.total,
        }
        self._bounds = {cause: bound for cause, bound in bounds.items() if bound is not None}
        self._marks = dict.fromkeys(self._bounds, 0.0)

    @property
    def waited(self) -> float:
        """Seconds spent waiting for the source."""
        return self._waited + (self.now() - self._since if self._since is not None else 0.0)

    @property
    def times_progress(self) -> bool:
        """Whether anybody asks for progress."""
        return Cause.PROGRESS_TIMEOUT in self._bounds

    def start(self) -> None:
        """The source is waited for from now on."""
        self._since = self.now()
        self._arm()

    def stop(self) -> None:
        """The source has answered."""
        self._waited, self._since = self.waited, None
        if self._bounds:
            self._scope.deadline = math.inf

    def first_byte(self, idle: float | None) -> None:
        """The first byte came: from now on `idle` counts."""
        self._bounds.pop(Cause.FIRST_BYTE_TIMEOUT, None)
        if idle is not None:
            self._bounds[Cause.IDLE_TIMEOUT] = idle
            self._marks[Cause.IDLE_TIMEOUT] = self.waited

    def rearm(self, cause: Cause) -> None:
        """What this bound waits for has come."""
        if cause in self._bounds:
            self._marks[cause] = self.waited
            if self._since is not None:
                self._arm()

    def expired(self) -> Cause:
        """Return the bound that ran out first."""
        return min(self._bounds, key=self._left)

    def _left(self, cause: Cause) -> float:
        return self._bounds[cause] - (self.waited - self._marks[cause])

    def _arm(self) -> None:
        if self._bounds:
            self._scope.deadline = self.now() + min(map(self._left, self._bounds))


# --- the tasks ------------------------------------------------------------------


class Flow(Generic[E, V]):
    """The stages of one stream as three tasks, joined by links."""

    def __init__(
        self, source: Source, stages: Stages[E, V], clocks: Clocks, *, close_source: bool
    ) -> None:
        self._source = source
        self._stages = stages
        self._clocks = clocks
        self._close_source = close_source
        self._texts: Link[Any] = Link()
        self._frames: Link[Frames[Any]] = Link()
        self.events: Link[Events[E, V]] = Link()
        self.credit = _Credit(stages.limits.read_bytes)
        self._tasks = CancelScope()
        self._reading = CancelScope()
        now = _now()
        self.clock = Clock(clocks, self._reading, now)
        self._began = now()
        self._draining = False
        self._drain_until = math.inf
        self._done = Event()
        self.first_byte: float | None = None
        self.waited_for_consumer = 0.0
        self.close_error: BaseException | None = None
        self.last: Outcome[V] | None = None
        """The outcome that travels behind the last event."""

    def start(self, task_group: Any) -> None:
        """Start the runner, in a task of its own or in the caller's group."""
        if task_group is not None and hasattr(task_group, "start_soon"):
            task_group.start_soon(self._run)
        elif in_trio():
            sys.modules["trio"].lowlevel.spawn_system_task(
                self._run, name="untorn runner", context=contextvars.copy_context()
            )
        else:
            create_task = (task_group or asyncio.get_running_loop()).create_task
            # A task that is cancelled before it has begun never runs its `finally`.
            self._task = create_task(self._run(), name="untorn runner")
            self._task.add_done_callback(lambda task: self._finish())

    def stop(self) -> None:
        """The consumer leaves: end the tasks, but for a drain, which ends soon by itself."""
        self.events.close()
        if not self._draining:
            self._tasks.cancel()

    async def stopped(self) -> None:
        """Wait until the source is closed and no task is left.

        The wait is shielded, for it is bounded by the source alone. A native
        cancellation that comes meanwhile is raised when it is over.
        """
        asked: BaseException | None = None
        while not self._done.is_set():
            try:
                with CancelScope(shield=True):
                    await self._done.wait()
            except get_cancelled_exc_class() as cancelled:
                asked = cancelled
        if asked is not None:
            try:
                raise asked
            finally:
                del asked

    def elapsed(self) -> float:
        """Return the seconds since the stream was opened."""
        return self.clock.now() - self._began

    # --- the runner

    async def _run(self) -> None:
        try:
            with self._tasks:
                async with create_task_group() as group:
                    for task in (self._decode, self._frame, self._reduce):
                        group.start_soon(self._guard, task)
        finally:
            self._finish()

    async def _guard(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a task; whatever it raises but a cancellation becomes the end of the stream."""
        try:
            await task()
        except get_cancelled_exc_class():
            raise
        except Exception as bug:
            position = Position(self._stages.decoder.offset, 0, 0)
            error = StageError("The flow of untorn", bug, offset=position.bytes)
            self._end(Events([], 0, Failed(error, self._stages.reduction.reducer.value, position)))
        except BaseException as fatal:  # KeyboardInterrupt, SystemExit: raised in the consumer
            self._end(Events([], 0, self._stages.interrupted(Cause.CANCELLED, fatal)))

    def _finish(self) -> None:
        self.events.finish(None)
        self._done.set()

    # --- decode

    async def _decode(self) -> None:
        ending: Ending | None = None
        try:
            with self._reading:
                ending = await self._read_all()
            if self._reading.cancelled_caught and not self._draining and self.last is None:
                ending = Cut(self.clock.expired(), offset=self.credit.read)
            if ending is not None:
                _, ending = self._stages.decoder.end(ending)
                self._texts.finish(ending)
        finally:
            if self._close_source:
                await self._close()

    async def _read_all(self) -> Ending | None:
        """Read the source to its end; `None` if nobody asks for more."""
        try:
            while True:
                chunk = await self._receive()
                if not await self._decode_chunk(chunk):
                    return await self._drain()
        except StreamFault as fault:
            return fault
        except EndOfStream:
            return Cut(Cause.EOF, offset=self.credit.read)
        except get_cancelled_exc_class() as cancelled:
            if self._was_asked():
                raise
            # Some future that the source awaited was cancelled; nobody cancelled us.
            return Cut(Cause.TRANSPORT, cancelled, offset=self.credit.read)
        except BaseException as error:
            return Cut(Cause.TRANSPORT, error, offset=self.credit.read)

    async def _receive(self) -> bytes:
        """Receive a chunk that is not empty."""
        while True:
            self.clock.start()
            try:
                chunk = await self._source.receive(self._stages.limits.read_bytes)
            finally:
                self.clock.stop()
            if len(chunk):
                await checkpoint_if_cancelled()
                return as_bytes(chunk)
            await checkpoint()  # a source of nothing must not keep the loop to itself

    async def _decode_chunk(self, chunk: bytes) -> bool:
        """Decode a chunk, a read at a time; return `False` if nobody takes the text."""
        if self._draining:
            return False
        self._note_bytes()
        most = self._stages.limits.read_bytes
        for start in range(0, len(chunk), most):
            part = chunk[start : start + most] if len(chunk) > most else chunk
            if self.credit.spent:
                await self._wait_for_consumer()
            self.credit.read += len(part)
            for text in feed_all(self._stages.decoder, part):
                if not await self._hand_on(text):
                    return False
        return True

    async def _hand_on(self, text: Any) -> bool:
        if not self._texts.full:
            return self._texts.put_now(text)
        began = self.clock.now()
        try:
            return await self._texts.put(text)
        finally:
            self.waited_for_consumer += self.clock.now() - began

    def _note_bytes(self) -> None:
        if self.first_byte is None:
            self.first_byte = self.elapsed()
            self.clock.first_byte(self._clocks.idle)
        else:
            self.clock.rearm(Cause.IDLE_TIMEOUT)

    async def _wait_for_consumer(self) -> None:
        began = self.clock.now()
        try:
            await self.credit.wait()
        finally:
            self.waited_for_consumer += self.clock.now() - began

    def _was_asked(self) -> bool:
        """Say whether a cancellation was asked for; on asyncio a source can forge one."""
        if in_trio() or self._reading.cancel_called or self._tasks.cancel_called:
            return True
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

    async def _drain(self) -> None:
        """Read and drop what follows the marker, so that the connection can be used again."""
        left = self._stages.limits.drain_bytes
        self._reading.deadline = self._drain_until
        while self._draining and left > 0:
            left -= len(await self._source.receive(min(left, self._stages.limits.read_bytes)))
            await checkpoint_if_cancelled()

    async def _close(self) -> None:
        with CancelScope(shield=True, deadline=self.clock.now() + CLOSE_SECONDS):
            try:
                await self._source.aclose()
            except get_cancelled_exc_class():
                raise
            except BaseException as error:
                self.close_error = error

    # --- frame

    async def _frame(self) -> None:
        framer = self._stages.framer
        try:
            while await self._texts.ready():
                for frames in feed_all(framer, self._texts.pop()):
                    self.credit.open = framer.open
                    if frames.items:
                        if not await self._frames.put(frames):
                            return
                    else:
                        self.credit.release(frames.size)
            if self._texts.ending is not None:
                last, ending = framer.end(self._texts.ending)
                for frames in last:
                    await self._frames.put(frames)
                self._frames.finish(ending)
        except StreamFault as fault:
            self._frames.finish(fault)
        finally:
            self._texts.close()

    # --- reduce

    async def _reduce(self) -> None:
        reduction = self._stages.reduction
        try:
            while await self._frames.ready():
                events = reduction.feed(self._frames.pop())
                if events.outcome is not None:
                    self._end(events)
                    return
                if self.clock.times_progress:
                    self._note_progress(events)
                if not events.items:
                    self.credit.release(events.size)
                elif not await self.events.put(events):
                    return
            if self._frames.ending is not None:
                self._end(reduction.end(self._frames.ending))
        finally:
            self._frames.close()

    def _note_progress(self, events: Events[E, V]) -> None:
        is_keepalive = self._stages.reduction.reducer.is_keepalive
        if not all(map(is_keepalive, events.items)):
            self.clock.rearm(Cause.PROGRESS_TIMEOUT)

    def _end(self, events: Events[E, V]) -> None:
        """Hand on the last events with their outcome, and let go of the source."""
        if self.last is not None:
            return
        self.last = events.outcome
        self.events.put_now(events)
        self._frames.close()
        self._texts.close()
        self.credit.stop()
        if isinstance(self.last, Completed) and self._close_source:
            self._draining = True
            self._drain_until = self._reading.deadline = self.clock.now() + DRAIN_SECONDS
        else:
            self._reading.cancel()


def _now() -> Callable[[], float]:
    """Return the clock that deadlines are measured by."""
    if in_trio():
        now: Callable[[], float] = sys.modules["trio"].current_time
        return now
    return asyncio.get_running_loop().time
