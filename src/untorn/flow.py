"""A task per stage, and the only channels.

    source -> [decode] -texts-> [frame] -frames-> [reduce] -events-> consumer

The links hand on batches, in order, and lose nothing: whoever takes waits first
and takes without awaiting. Endings travel in them, behind the last item, and need
no free place; no stage raises through the task group.

The runner holds the task group and decodes; the other two stages are tasks in it. All
end by themselves when the links are closed and the read is given up: to cancel a scope
costs as much as all else at the end of a stream.

A chunk goes through on the shortest way: a hop is paid once per read, and what is
called on it is counted (a coroutine more costs as much as a small frame).
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar, cast

from anyio import (
    TASK_STATUS_IGNORED,
    CancelScope,
    EndOfStream,
    create_task_group,
    get_cancelled_exc_class,
)
from anyio.lowlevel import checkpoint

from .clock import Clock, now_function
from .faults import StageError, StreamFault
from .fold import Stages, as_bytes, end_stage, sliced
from .frame import Frames
from .interrupt import CLOSE_SECONDS, Interruptible, interruptible
from .limits import Clocks
from .link import Credit, Link, in_trio
from .outcome import Cause, Completed, Failed, Outcome, Position
from .reduce import Events
from .source import Source
from .stage import Cut, Ending

__all__ = ["Flow", "close_in_time"]

E = TypeVar("E")
V = TypeVar("V")

# How long the rest behind the completion marker may take: long enough for the end
# of the chunked body that keeps an HTTP connection usable, too short to be felt.
DRAIN_SECONDS: Final = 0.2


class Flow(Generic[E, V]):
    """The stages of one stream as three tasks, joined by links."""

    def __init__(
        self, source: Source, stages: Stages[E, V], clocks: Clocks, *, close_source: bool
    ) -> None:
        self._source = source
        self._stages = stages
        self._clocks = clocks
        self._close_source = self._to_close = close_source
        self._texts: Link[Any] = Link()
        self._frames: Link[Frames[Any]] = Link()
        self.events: Link[Events[E, V]] = Link()
        self.credit = Credit(stages.limits.read_bytes)
        self._reading = interruptible()
        now = now_function()
        self.clock = Clock(clocks, self._reading, now)
        self._began = now()
        self._draining = False
        self._done = _event()
        self.first_byte: float | None = None
        self.waited_for_consumer = 0.0
        self._is_held_up = False
        self._consumer_since: float | None = None
        self.close_error: BaseException | None = None
        self.last: Outcome[V] | None = None
        """The outcome that travels behind the last event."""
        self.marks: dict[Callable[[], object], int] = {}
        """Whom to call once so many bytes were read, if no event comes of them."""

    async def start(self, task_group: Any) -> None:
        """Start the runner, in a task of its own or in the caller's group.

        Where it cannot be started the source is closed: it was handed over.
        """
        try:
            await self._start(task_group)
        except BaseException:
            await self._close()
            raise

    async def _start(self, task_group: Any) -> None:
        if task_group is not None and hasattr(task_group, "start_soon"):
            # Not `start_soon`: of a task that is cancelled before it begins nobody would hear.
            await task_group.start(self._run)
        elif in_trio():
            sys.modules["trio"].lowlevel.spawn_system_task(
                self._run, name="untorn runner", context=contextvars.copy_context()
            )
        else:
            runner = self._run()
            try:
                owner = task_group or asyncio.get_running_loop()
                self._task = owner.create_task(runner, name="untorn runner")
            except RuntimeError:  # the group is over
                runner.close()
                raise
            # A task that is cancelled before it has begun never runs its `finally`.
            self._task.add_done_callback(lambda task: self._finish())

    def stop(self) -> None:
        """The consumer leaves: end the tasks, but for a drain, which ends soon by itself."""
        self.events.close()
        if not self._draining:
            self._let_go()

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
        await self._close()  # a task that is cancelled before it begins has closed nothing
        if asked is not None:
            try:
                raise asked
            finally:
                del asked

    def elapsed(self) -> float:
        """Return the seconds since the stream was opened."""
        return self.clock.now() - self._began

    # --- the runner

    async def _run(self, *, task_status: Any = TASK_STATUS_IGNORED) -> None:
        task_status.started()
        try:
            async with create_task_group() as group:
                for task in (self._frame, self._reduce):
                    group.start_soon(self._guard, task)
                if self.clock.is_bounded:
                    group.start_soon(self._guard, self.clock.watch)
                try:
                    await self._guard(self._decode)
                finally:
                    self.clock.end()
        finally:
            self._finish()

    async def _guard(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a task; whatever it raises but a cancellation becomes the end of the stream."""
        try:
            await task()
        except get_cancelled_exc_class():
            self._reading.cancel()  # by whoever cancelled the group
            raise
        except Exception as bug:
            self._end(([], 0, self._failed(bug), False))
        except BaseException as fatal:  # KeyboardInterrupt, SystemExit: raised in the consumer
            self._end(([], 0, self.interrupted(Cause.CANCELLED, fatal), False))

    def interrupted(
        self, cause: Cause, error: BaseException | None = None, events: int | None = None
    ) -> Outcome[V]:
        """Return the outcome of a stream that is ended from outside, now; never raises."""
        try:
            return self._stages.interrupted(cause, error, events)
        except Exception as bug:
            return self._failed(bug)

    def _failed(self, bug: Exception) -> Failed[V]:
        """Return the outcome of a stream one of whose stages has a bug."""
        reduction, partial = self._stages.reduction, cast(V, None)
        with suppress(Exception):  # to have no value may be the bug
            partial = reduction.reducer.value
        position = Position(self._stages.decoder.offset, reduction.frames, reduction.events)
        error = self._source.hide(StageError("A stage", bug, offset=position.bytes))
        return Failed(error, partial, position)

    def _finish(self) -> None:
        self.events.finish(None)
        self._done.set()

    # --- decode

    async def _decode(self) -> None:
        ending: Ending | None = None
        try:
            with self._reading:
                ending = await self._read_all()
            left = self._texts.closed or self.events.closed  # by the consumer, or at the end
            if self._reading.cancelled_caught and not left:
                ending = Cut(self.clock.expired(), offset=self._stages.decoder.offset)
            if ending is not None:
                last, ending = end_stage(self._stages.decoder, ending)
                for text in last:
                    self._texts.put_now(text)  # a stalled consumer must not keep the source open
                self._texts.finish(ending)
        finally:
            await self._close()

    async def _read_all(self) -> Ending | None:
        """Read the source to its end; `None` if nobody asks for more."""
        try:
            await self._read_on()
            await self._drain()
            return None
        except StreamFault as fault:
            return fault
        except (EndOfStream, StopAsyncIteration):
            return Cut(Cause.EOF, offset=self._stages.decoder.offset)
        except get_cancelled_exc_class() as cancelled:
            if _was_asked(self._reading):
                raise
            # Some future that the source awaited was cancelled; nobody cancelled us.
            return self._broken(cancelled)
        except BaseException as error:
            return self._broken(error)
        finally:
            self.clock.stop()

    def _broken(self, error: BaseException) -> Cut:
        error = self._source.hide(error)
        return Cut(Cause.TRANSPORT, error, offset=self._stages.decoder.offset)

    async def _read_on(self) -> None:
        """Read and decode as long as somebody asks for more."""
        receive, most = self._source.receive, self._stages.limits.read_bytes
        decoder, texts, credit = self._stages.decoder, self._texts, self.credit
        self.clock.start()
        while not self._draining:
            chunk = as_bytes(await receive(most))
            if not chunk:  # a source of nothing must not keep the loop to itself
                await checkpoint()
                continue
            if self.first_byte is None:
                self.first_byte = self.elapsed()
                self.clock.first_byte(self._clocks.idle)
            else:
                self.clock.rearm(Cause.IDLE_TIMEOUT)
            for part in (chunk,) if len(chunk) <= most else sliced(chunk, most):
                if texts.closed:  # in the meantime the stream has ended
                    return
                credit.left -= len(part)
                try:
                    for text in decoder.feed(part):
                        if texts.full:
                            await self._held_up(texts.room)
                        if not texts.put_now(text):
                            return
                except StreamFault:
                    raise
                except Exception as bug:
                    raise StageError.in_stage(decoder, bug) from bug
                if credit.left <= 0:
                    await self._held_up(credit.wait)

    async def _held_up(self, wait: Callable[[], Awaitable[None]]) -> None:
        """Wait for those downstream.

        While the consumer waits itself, only our own stages hold us up, and the clocks run on.
        """
        self._is_held_up = True
        if not self.events.awaited:
            self._wait_for_consumer()
        try:
            await wait()
        finally:
            self._is_held_up = False
            if self._consumer_since is not None:
                self.waited_for_consumer += self.clock.now() - self._consumer_since
                self._consumer_since = None
                self.clock.start()

    def _wait_for_consumer(self) -> None:
        """The consumer holds the reading up, from now on."""
        if self._consumer_since is None:
            self._consumer_since = self.clock.now()
            self.clock.stop()

    async def _drain(self) -> None:
        """Read and drop what follows the marker, so that the connection can be used again."""
        left = self._stages.limits.drain_bytes
        while self._draining and left > 0:
            left -= len(await self._source.receive(min(left, self._stages.limits.read_bytes)))
            await checkpoint()  # or else the time of a source that never waits would not run out

    async def _close(self) -> None:
        """Close the source, once, unless it is to be left open."""
        if not self._to_close:
            return
        self._to_close = False
        deadline = self.clock.now() + CLOSE_SECONDS
        self.close_error = await close_in_time(self._source, deadline)

    # --- frame

    async def _frame(self) -> None:
        framer, credit = self._stages.framer, self.credit
        texts, frames, drop = self._texts, self._frames, self._drop
        try:
            while texts.items or await texts.ready():
                for batch in framer.feed(texts.pop()):
                    if framer.open != credit.open:
                        credit.reckon(framer.open)
                    if not batch[0]:
                        drop(batch[1])
                    elif not (await frames.put(batch) if frames.full else frames.put_now(batch)):
                        return
                if framer.open != credit.open:
                    credit.reckon(framer.open)
            if texts.ending is not None:
                last, ending = end_stage(framer, texts.ending)
                for batch in last:
                    await frames.put(batch)
                frames.finish(ending)
        except StreamFault as fault:
            self._fail(fault)
        except Exception as bug:
            self._fail(StageError.in_stage(framer, bug))
        finally:
            texts.close()

    def _drop(self, size: int) -> None:
        """So many bytes made no event: nobody hears of them but through the marks."""
        self.credit.release(size)
        if self.marks:
            offset = self._stages.decoder.offset
            for call in [call for call, mark in self.marks.items() if offset >= mark]:
                del self.marks[call]
                call()

    def _fail(self, fault: StreamFault) -> None:
        self._frames.finish(fault)
        if not self._frames.items:  # else what comes before it may complete the stream
            self._reading.cancel()

    # --- reduce

    async def _reduce(self) -> None:
        reduction, frames, handed_out = self._stages.reduction, self._frames, self.events
        times_progress = self.clock.times_progress
        try:
            while frames.items or await frames.ready():
                events = reduction.feed(frames.pop())
                items, size, outcome, _ = events
                if outcome is not None:
                    self._end(events)
                    return
                if times_progress:
                    self._note_progress(items)
                if not items:
                    self._drop(size)
                elif not (
                    await self._hand_out(events) if handed_out.full else handed_out.put_now(events)
                ):
                    return
                elif self._is_held_up:
                    self._wait_for_consumer()  # it has something to do now
            if frames.ending is not None:
                self._end(reduction.end(frames.ending))
        finally:
            frames.close()

    async def _hand_out(self, events: Events[E, V]) -> bool:
        # What the consumer holds up is no lack of progress: events may wait behind these.
        self.clock.hold(Cause.PROGRESS_TIMEOUT)
        try:
            return await self.events.put(events)
        finally:
            self.clock.rearm(Cause.PROGRESS_TIMEOUT)

    def _note_progress(self, events: list[E]) -> None:
        is_keepalive = self._stages.reduction.reducer.is_keepalive
        if not all(map(is_keepalive, events)):
            self.clock.rearm(Cause.PROGRESS_TIMEOUT)

    def _end(self, events: Events[E, V]) -> None:
        """Hand on the last events with their outcome, and let go of the source."""
        if self.last is not None:
            return
        self.last = events[2]
        self.events.put_now(events)
        drains = self._close_source and self._stages.limits.drain_bytes > 0
        if isinstance(self.last, Completed) and drains:
            self._draining = True
            self.clock.close(DRAIN_SECONDS)
            self._close_links()
        else:
            self._let_go()

    def _let_go(self) -> None:
        """Nobody asks for more: let every task end, without being cancelled but for a read."""
        self._close_links()
        self._reading.cancel()

    def _close_links(self) -> None:
        self._frames.close()
        self._texts.close()
        self.credit.stop()


async def close_in_time(source: Source, deadline: float) -> BaseException | None:
    """Close a source, shielded and until a deadline; return what that raised, if anything."""
    raised: BaseException | None = None
    with CancelScope(shield=True, deadline=deadline) as scope:
        try:
            await source.aclose()
        except BaseException as error:
            if isinstance(error, get_cancelled_exc_class()) and _was_asked(scope):
                raise
            raised = source.hide(error)
    if scope.cancelled_caught:
        return TimeoutError(f"Closing the source took over {CLOSE_SECONDS} s")
    return raised


def _event() -> asyncio.Event:
    event: asyncio.Event = sys.modules["trio"].Event() if in_trio() else asyncio.Event()
    return event


def _was_asked(*scopes: CancelScope | Interruptible) -> bool:
    """Say whether a cancellation was asked for; on asyncio a source can forge one."""
    if in_trio() or any(scope.cancel_called for scope in scopes):
        return True
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
