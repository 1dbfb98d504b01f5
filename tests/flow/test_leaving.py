"""How a stream is left before its end, and what its host sees of it: nothing."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from contextvars import ContextVar
from typing import Any

import anyio
import pytest
import trio
from anyio.lowlevel import checkpoint

from untorn import (
    Cause,
    Completed,
    Dialect,
    Interrupted,
    Limits,
    Reducer,
    open_stream,
    parse,
)
from untorn.testing import FaultySource, Hang, Reset, Send, Stall

from .backends import in_asyncio, in_trio, living, run
from .sources import DIALECT, PROMPT, Steps, data_of, hanging, is_interrupted, sse

pytestmark = pytest.mark.anyio

Body = Callable[[], Awaitable[None]]


# --- by the consumer --------------------------------------------------------------


async def test_break_abandons() -> None:
    source, alive = hanging("a", "b"), living()
    async with open_stream(source, DIALECT) as stream:
        async for _ in stream:
            break
    assert is_interrupted(stream.outcome, Cause.ABANDONED)
    assert stream.outcome.position.events == 1
    assert source.closed
    assert living() == alive


async def test_leaving_is_no_bug_of_a_stage() -> None:
    """The reader that is stopped looks for no clock that ran out, and reports nothing."""
    async with open_stream(hanging("a"), DIALECT) as stream:
        assert (await stream.receive()).data == "a"
    assert stream._flow.last is None


async def test_break_on_the_last_event_completes() -> None:
    async with open_stream(hanging("a", "END"), DIALECT, limits=PROMPT) as stream:
        async for event in stream:
            if event.data == "END":
                break
    assert isinstance(stream.outcome, Completed)


async def test_leaving_without_iterating_abandons() -> None:
    source, alive = hanging("a"), living()
    async with open_stream(source, DIALECT) as stream:
        pass
    assert is_interrupted(stream.outcome, Cause.ABANDONED)
    assert stream.outcome.retry_safe
    assert source.closed
    assert living() == alive


@pytest.mark.parametrize(
    "error",
    [
        ValueError("mine"),
        KeyboardInterrupt(),
        SystemExit(2),
        ExceptionGroup("mine", [ValueError("one")]),
        BaseExceptionGroup("mine", [KeyboardInterrupt()]),
        ExceptionGroup("mine", [ExceptionGroup("inner", [ValueError("one")]), OSError()]),
    ],
    ids=repr,
)
async def test_exception_of_the_body_comes_out_bare(error: BaseException) -> None:
    """It is the same object, in no group of ours, and its context is what it was."""
    source, alive = hanging("a"), living()
    context = KeyError("before")
    error.__context__ = None
    with pytest.raises(type(error)) as raised:
        async with open_stream(source, DIALECT) as stream:
            async for _ in stream:
                try:
                    raise context
                except KeyError:
                    raise error  # noqa: B904 - the context is what is tested
    assert raised.value is error
    assert error.__context__ is context
    assert error.__cause__ is None
    assert is_interrupted(stream.outcome, Cause.ABANDONED)
    assert source.closed
    assert living() == alive


async def test_exception_of_the_body_over_a_broken_transport() -> None:
    """The body's exception comes out alone; the transport's is in the outcome."""
    source = FaultySource(b"", faults=[Send(sse("a")), Send(sse("b")), Reset()])
    with pytest.raises(ValueError, match="mine"):
        async with open_stream(source, DIALECT) as stream:
            await stream.receive()
            await stream.receive()
            await anyio.wait_all_tasks_blocked()
            raise ValueError("mine")
    assert is_interrupted(stream.outcome, Cause.ABANDONED)
    assert isinstance(stream.outcome.error, ConnectionResetError)


async def test_exception_behind_the_marker_leaves_it_completed() -> None:
    with pytest.raises(ValueError, match="mine"):
        async with open_stream(FaultySource(sse("END")), DIALECT) as stream:
            await stream.receive()
            raise ValueError("mine")
    assert isinstance(stream.outcome, Completed)


async def test_hanging_source_is_left_promptly() -> None:
    began = anyio.current_time()
    async with open_stream(hanging(), DIALECT):
        await anyio.wait_all_tasks_blocked()
    assert anyio.current_time() - began < 0.5


async def test_source_that_ignores_cancellation_is_waited_for() -> None:
    """The exit takes as long as the source does; no task is orphaned."""

    async def stubborn() -> None:
        with anyio.CancelScope(shield=True):
            try:
                await anyio.sleep(0.05)
            except anyio.get_cancelled_exc_class():  # once and natively, on asyncio
                await anyio.sleep(0.05)

    source, alive = Steps(sse("a"), stubborn, anyio.sleep_forever), living()
    began = anyio.current_time()
    async with open_stream(source, DIALECT) as stream:
        await stream.receive()
        await anyio.wait_all_tasks_blocked()
    assert anyio.current_time() - began > 0.04
    assert source.closed
    assert living() == alive


async def test_aclose_within_the_block() -> None:
    source, alive = hanging("a"), living()
    async with open_stream(source, DIALECT) as stream:
        await stream.receive()
        await stream.aclose()
        assert source.closed
        assert living() == alive
        await stream.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await stream.receive()
    assert is_interrupted(stream.outcome, Cause.ABANDONED)


async def test_aclose_from_another_task() -> None:
    """The waiting receiver is told; closing twice is no fault."""
    source = hanging("a")
    async with open_stream(source, DIALECT) as stream, anyio.create_task_group() as group:
        assert (await stream.receive()).data == "a"

        async def close() -> None:
            await anyio.wait_all_tasks_blocked()
            await stream.aclose()
            assert source.closed

        group.start_soon(close)
        with pytest.raises(anyio.ClosedResourceError):
            await stream.receive()
        group.start_soon(stream.aclose)
        await stream.aclose()
    assert is_interrupted(stream.outcome, Cause.ABANDONED)


async def test_aclose_while_a_batch_is_handed_out() -> None:
    """Nothing is handed out behind it, even what was taken already."""
    async with open_stream(FaultySource(sse(*"abcdef")), DIALECT) as stream:
        assert (await stream.receive()).data == "a"
        await stream.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await stream.receive()
        with pytest.raises(anyio.ClosedResourceError):
            await data_of(stream.events())
    assert stream.outcome is not None
    assert stream.outcome.position.events == 1


async def test_aclose_while_the_receiver_lets_others_run() -> None:
    """A receiver that has only yielded to other tasks is told as well."""
    async with open_stream(hanging("a", "b"), DIALECT) as stream:
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as group:
            group.start_soon(stream.aclose)
            with pytest.raises(anyio.ClosedResourceError):
                for _ in range(3):
                    await stream.receive()


async def test_aclose_while_a_queued_batch_waits_for_its_turn() -> None:
    async with open_stream(FaultySource(sse(*map(str, range(200)))), DIALECT) as stream:  # noqa: SIM117 - each for itself
        async with anyio.create_task_group() as group:
            group.start_soon(stream.aclose)
            with pytest.raises(anyio.ClosedResourceError):
                await data_of(stream)


async def test_receiving_behind_the_block_is_refused() -> None:
    async with open_stream(FaultySource(sse("a", "END")), DIALECT) as stream:
        assert await data_of(stream) == ["a", "END"]
    with pytest.raises(anyio.ClosedResourceError, match="closed or left; open another"):
        await stream.receive()
    assert isinstance(stream.outcome, Completed)


async def test_repr_says_how_it_stands() -> None:
    """Of which dialect it is, too; nothing of the source, which may know of keys."""
    opened = open_stream(FaultySource(sse("a", "END")), DIALECT)
    assert repr(opened) == "<OpenStream: Sse, not entered yet: async with ... as stream>"
    async with opened as stream:
        assert repr(opened) == "<OpenStream: Sse, entered>"
        assert repr(stream) == "<EventStream: Sse, running, 0 bytes read>"
        await data_of(stream)
    assert repr(stream) == "<EventStream: Sse, Completed, 20 bytes read>"
    run = parse([sse("a")], DIALECT)
    list(run.events())
    assert repr(run) == "<Parse: Sse, Interrupted, 9 bytes read>"


async def test_stream_is_a_resource() -> None:
    """As any anyio stream, it is closed by its own block."""
    source = hanging("a")
    async with open_stream(source, DIALECT) as stream, stream:
        await stream.receive()
    assert source.closed


# --- entering ---------------------------------------------------------------------


async def test_entering_twice_is_refused() -> None:
    opened = open_stream(FaultySource(sse("END")), DIALECT)
    async with opened as stream:
        await stream.receive()
    with pytest.raises(RuntimeError, match="once"):
        await opened.__aenter__()


async def test_stream_that_is_never_entered_touches_nothing() -> None:
    source = hanging("a")
    opened = open_stream(source, DIALECT)
    await anyio.wait_all_tasks_blocked()
    del opened
    gc.collect()
    assert not source.reads
    assert not source.closed


@pytest.mark.parametrize("close", [True, False])
async def test_stream_entered_in_a_cancelled_scope_reads_nothing(close: bool) -> None:
    """And closes the source, which was handed over, although `__aexit__` is never called."""
    source, alive = hanging("a"), living()
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with open_stream(source, DIALECT, close_source=close):
            raise AssertionError("entered")
    assert scope.cancelled_caught
    assert source.closed is close
    assert not source.reads
    assert living() == alive


@pytest.mark.parametrize("close", [True, False])
async def test_stream_that_a_dialect_s_bug_keeps_shut_closes_its_source(close: bool) -> None:
    class Buggy(Dialect[Any, Any]):
        def reducer(self, limits: Limits) -> Reducer[Any, Any]:
            raise LookupError

    source = hanging("a")
    with pytest.raises(LookupError):
        async with open_stream(source, Buggy(), close_source=close):
            raise AssertionError("entered")
    assert source.closed is close


async def test_source_that_hangs_while_it_is_closed_unentered_is_left_in_a_second() -> None:
    """And what closing raises does not hide why the stream was not opened."""
    before = anyio.current_time()
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with open_stream(Closing(anyio.sleep_forever), DIALECT):
            raise AssertionError("entered")
    assert scope.cancelled_caught
    assert anyio.current_time() - before <= 1.1

    async def fail() -> None:
        raise LookupError

    with anyio.CancelScope() as scope:
        scope.cancel()
        async with open_stream(Closing(fail), DIALECT):
            raise AssertionError("entered")
    assert scope.cancelled_caught


class Closing:
    """A source that is only closed."""

    def __init__(self, aclose: Callable[[], Awaitable[None]]) -> None:
        self.aclose = aclose

    async def __aiter__(self) -> AsyncIterator[bytes]:
        raise AssertionError("read")
        yield b""


@pytest.mark.parametrize("limits", [3, Limits, {"frame_bytes": 1}])
def test_what_are_no_limits_is_refused(limits: Any) -> None:
    """At once, as everything that can be."""
    with pytest.raises(TypeError, match=r"Not limits: .*; write limits=Limits"):
        open_stream(hanging(), DIALECT, limits=limits)
    with pytest.raises(TypeError, match="Not limits: "):
        parse([], DIALECT, limits=limits)


def test_what_is_no_dialect_is_refused() -> None:
    with pytest.raises(TypeError, match="parentheses"):
        open_stream(hanging(), type(DIALECT))  # type: ignore[type-var]


# --- by a cancellation ------------------------------------------------------------


async def _by_scope(body: Body, ready: anyio.Event) -> bool:
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(_call_when, ready, scope.cancel)
            await body()
    return scope.cancelled_caught


def _pass(scope: anyio.CancelScope) -> None:
    scope.deadline = anyio.current_time()


async def _by_move_on_after(body: Body, ready: anyio.Event) -> bool:
    with anyio.move_on_after(60) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(_call_when, ready, lambda: _pass(scope))
            await body()
    return scope.cancelled_caught


async def _by_fail_after(body: Body, ready: anyio.Event) -> bool:
    with pytest.raises(TimeoutError):
        with anyio.fail_after(60) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_call_when, ready, lambda: _pass(scope))
                await body()
    return True


async def _by_sibling(body: Body, ready: anyio.Event) -> bool:
    async def fail() -> None:
        await ready.wait()
        raise LookupError

    with pytest.raises(ExceptionGroup) as raised:
        async with anyio.create_task_group() as group:
            group.start_soon(fail)
            await body()
    return raised.group_contains(LookupError, depth=1) and len(raised.value.exceptions) == 1


async def _by_trio_scope(body: Body, ready: anyio.Event) -> bool:
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_call_when, ready, scope.cancel)
            await body()
    return scope.cancelled_caught


async def _by_trio_fail_after(body: Body, ready: anyio.Event) -> bool:
    with pytest.raises(trio.TooSlowError):
        with trio.fail_after(0.02):
            await body()
    return True


async def _by_task_cancel(body: Body, ready: anyio.Event) -> bool:
    task = asyncio.ensure_future(body())
    await ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return task.cancelled()


async def _by_asyncio_timeout(body: Body, ready: anyio.Event) -> bool:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60) as timeout, anyio.create_task_group() as group:
            loop = asyncio.get_running_loop()
            group.start_soon(_call_when, ready, lambda: timeout.reschedule(loop.time()))
            await body()
    task = asyncio.current_task()
    return task is not None and task.cancelling() == 0


async def _by_wait_for(body: Body, ready: anyio.Event) -> bool:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(body(), 0.3)
    return True


async def _by_asyncio_sibling(body: Body, ready: anyio.Event) -> bool:
    async def fail() -> None:
        await ready.wait()
        raise LookupError

    with pytest.raises(ExceptionGroup) as raised:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            await body()
    return [type(error) for error in raised.value.exceptions] == [LookupError]


async def _call_when(ready: anyio.Event, function: Callable[[], object]) -> None:
    await ready.wait()
    function()


ANYWHERE = [_by_scope, _by_move_on_after, _by_fail_after, _by_sibling]
CANCELLATIONS = [
    *(pytest.param(name, by) for name in ("asyncio", "uvloop", "trio") for by in ANYWHERE),
    *(pytest.param("trio", by) for by in (_by_trio_scope, _by_trio_fail_after)),
    *(
        pytest.param(name, by)
        for name in ("asyncio", "uvloop")
        for by in (_by_task_cancel, _by_asyncio_timeout, _by_wait_for, _by_asyncio_sibling)
    ),
]
cancelled_by = pytest.mark.parametrize(
    ("anyio_backend", "cancel"), CANCELLATIONS, indirect=["anyio_backend"]
)


@cancelled_by
async def test_cancellation_is_noted_and_never_swallowed(cancel: Any) -> None:
    source, alive, seen, ready = hanging("a", "b"), living(), [], anyio.Event()

    async def body() -> None:
        async with open_stream(source, DIALECT) as stream:
            seen.append(stream)
            async for event in stream:
                seen.append(event.data)
                if event.data == "b":
                    ready.set()
        seen.append("behind the block")

    assert await cancel(body, ready)
    stream, *data = seen
    assert data == ["a", "b"]
    assert is_interrupted(stream.outcome, Cause.CANCELLED)
    assert stream.outcome.position.events == 2
    assert source.closed
    assert living() == alive


@cancelled_by
async def test_cancellation_behind_the_marker_leaves_it_completed(cancel: Any) -> None:
    source, alive, seen, ready = FaultySource(sse("END")), living(), [], anyio.Event()

    async def body() -> None:
        async with open_stream(source, DIALECT) as stream:
            await data_of(stream)
            seen.append(stream)
            ready.set()
            await anyio.sleep_forever()
        seen.append("behind the block")

    assert await cancel(body, ready)
    (stream,) = seen
    assert isinstance(stream.outcome, Completed)
    assert source.closed
    assert living() == alive


@cancelled_by
async def test_cancellation_while_the_source_is_closed(cancel: Any) -> None:
    """It is raised when the source is closed, and not earlier."""
    stall = Stall(0.6 if cancel is _by_wait_for else 0.05)
    source, alive, ready = FaultySource(sse("a"), on_close=stall), living(), anyio.Event()
    behind = []

    async def body() -> None:
        async with open_stream(source, DIALECT) as stream:
            await stream.receive()
            behind.append(stream)
            ready.set()
        await checkpoint()  # a scope raises here, a native cancellation above
        behind.append("not cancelled")

    assert await cancel(body, ready)
    (stream,) = behind
    assert is_interrupted(stream.outcome, Cause.ABANDONED)
    assert source.closed
    assert stream.close_error is None
    assert living() == alive


async def test_exception_of_the_body_wins_over_a_scope_cancelled_while_leaving() -> None:
    """The scope cancels again at the next checkpoint; the exception is not lost."""
    source, leaving = FaultySource(sse("a"), on_close=Stall(0.03)), anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_call_when, leaving, group.cancel_scope.cancel)
        with pytest.raises(ValueError, match="mine"):
            async with open_stream(source, DIALECT) as stream:
                await stream.receive()
                leaving.set()
                raise ValueError("mine")
        assert group.cancel_scope.cancel_called
    assert is_interrupted(stream.outcome, Cause.ABANDONED)


@in_asyncio
async def test_native_cancellation_while_leaving_keeps_the_exception_as_context() -> None:
    """Task.cancel() comes but once, so it has to come out."""
    source, mine = FaultySource(sse("a"), on_close=Stall(0.02)), ValueError("mine")
    leaving = anyio.Event()

    async def body() -> None:
        async with open_stream(source, DIALECT) as stream:
            await stream.receive()
            leaving.set()
            raise mine

    task = asyncio.ensure_future(body())
    await leaving.wait()
    task.cancel()
    await checkpoint()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    context: BaseException | None = raised.value
    while context is not None and context is not mine:
        context = context.__context__
    assert context is mine
    assert source.closed


@in_asyncio
async def test_task_knows_that_it_was_cancelled() -> None:
    """`Task.cancelling()` is what it would be without us."""
    source, counts = hanging("a"), []

    async def body() -> None:
        try:
            async with open_stream(source, DIALECT) as stream:
                await data_of(stream)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            counts.append(task.cancelling())
            raise

    task = asyncio.ensure_future(body())
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert counts == [1]


# anyio wraps the coroutine of a task: if that is cancelled before it begins, Python warns.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("backend", ["asyncio", "uvloop"])
@pytest.mark.parametrize("turns", range(6))
def test_third_party_cancels_all_tasks(backend: str, turns: int) -> None:
    """As a shutting-down host does: the consumer hears of it, and the source is closed."""

    async def main() -> tuple[Any, bool]:
        source = FaultySource(sse("a"), faults=[Hang()])
        async with open_stream(source, DIALECT) as stream:
            for _ in range(turns):
                await checkpoint()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await data_of(stream.events())
            outcome = stream.outcome
        return outcome, source.closed

    outcome, closed = run(backend, main)
    gc.collect(1)
    assert is_interrupted(outcome, Cause.CANCELLED)
    assert closed


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("backend", ["asyncio", "uvloop"])
@pytest.mark.parametrize("turns", range(4))
def test_third_party_cancels_all_tasks_of_a_group(backend: str, turns: int) -> None:
    """The same where the runner is in a group of the caller's: nothing waits for ever."""

    async def main() -> tuple[Any, bool]:
        source = FaultySource(sse("a"), faults=[Hang()])
        async with anyio.create_task_group() as group:  # noqa: SIM117 - each for itself
            async with open_stream(source, DIALECT, task_group=group) as stream:
                for _ in range(turns):
                    await checkpoint()
                for task in asyncio.all_tasks() - {asyncio.current_task()}:
                    task.cancel()
        return stream.outcome, source.closed

    outcome, closed = run(backend, main)
    gc.collect(1)
    assert isinstance(outcome, Interrupted)
    assert closed


# --- user generators and exit stacks ----------------------------------------------


class Reader:
    """A generator of a user's around the block, as one writes it."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.stream: Any = None

    async def __aiter__(self) -> AsyncIterator[str]:
        async with open_stream(self.source, DIALECT) as self.stream:
            async for event in self.stream:
                yield event.data


async def test_generator_closed_in_order() -> None:
    reader = Reader(hanging("a"))
    async with aclosing(reader.__aiter__()) as events:  # type: ignore[type-var]
        async for _ in events:
            break
    assert is_interrupted(reader.stream.outcome, Cause.ABANDONED)
    assert reader.source.closed


async def test_exception_passes_through_a_generator() -> None:
    reader = Reader(hanging("a"))
    with pytest.raises(ValueError, match="mine"):
        async with aclosing(reader.__aiter__()) as events:  # type: ignore[type-var]
            async for _ in events:
                raise ValueError("mine")
    assert is_interrupted(reader.stream.outcome, Cause.ABANDONED)


async def _dropped(reader: Reader) -> None:
    async for _ in reader:
        break


async def _dropped_in_a_scope(reader: Reader) -> None:
    with anyio.move_on_after(60) as scope:
        async for _ in reader:
            break
    assert not scope.cancelled_caught


async def _close(events: Any) -> None:
    await events.aclose()


async def _closed_in_another_task(reader: Reader) -> None:
    events: Any = reader.__aiter__()
    await anext(events)
    async with anyio.create_task_group() as group:
        group.start_soon(_close, events)


async def _closed_in_another_task_and_scope(reader: Reader) -> None:
    events: Any = reader.__aiter__()
    with anyio.move_on_after(60):
        await anext(events)
    async with anyio.create_task_group() as group:
        group.start_soon(_close, events)
        await checkpoint()


@pytest.mark.filterwarnings("ignore:.*Async generator:ResourceWarning")
@pytest.mark.parametrize(
    "leave",
    [_dropped, _dropped_in_a_scope, _closed_in_another_task, _closed_in_another_task_and_scope],
)
async def test_generator_is_left_in_disorder(leave: Any) -> None:
    """The host's scopes are untouched: it goes on as if nothing had been."""
    reader, alive = Reader(hanging("a")), living()
    await leave(reader)
    gc.collect(1)
    for _ in range(50):
        await checkpoint()
    assert is_interrupted(reader.stream.outcome, Cause.ABANDONED)
    assert reader.source.closed
    with anyio.move_on_after(0) as scope:
        await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert living() == alive


async def test_exit_stacks_out_of_order() -> None:
    first, second, alive = hanging("a"), hanging("b"), living()
    outer, inner = AsyncExitStack(), AsyncExitStack()
    one = await outer.enter_async_context(open_stream(first, DIALECT))
    two = await inner.enter_async_context(open_stream(second, DIALECT))
    assert (await one.receive()).data == "a"
    await outer.aclose()
    assert (await two.receive()).data == "b"
    await inner.aclose()
    assert is_interrupted(one.outcome, Cause.ABANDONED)
    assert is_interrupted(two.outcome, Cause.ABANDONED)
    assert living() == alive


async def test_exit_stack_closed_in_another_task() -> None:
    source, alive = hanging("a"), living()
    async with anyio.create_task_group() as group:
        stack = AsyncExitStack()
        stream = await stack.enter_async_context(open_stream(source, DIALECT))
        await stream.receive()
        group.start_soon(stack.aclose)
    assert is_interrupted(stream.outcome, Cause.ABANDONED)
    assert source.closed
    assert living() == alive


async def test_entered_in_a_task_that_is_gone() -> None:
    """As fixtures do: opened in one task, read in a second, left in a third."""
    source, opened = hanging("a"), open_stream(hanging("a"), DIALECT)
    opened, streams = open_stream(source, DIALECT), []

    async def enter() -> None:
        streams.append(await opened.__aenter__())

    async def read() -> None:
        assert (await streams[0].receive()).data == "a"

    for step in (enter, read):
        async with anyio.create_task_group() as group:
            group.start_soon(step)
    async with anyio.create_task_group() as group:
        group.start_soon(opened.__aexit__, None, None, None)
    assert is_interrupted(streams[0].outcome, Cause.ABANDONED)


# --- task_group= ------------------------------------------------------------------


async def _read_in(group: Any) -> None:
    source = hanging("a", "END")
    async with open_stream(source, DIALECT, limits=PROMPT, task_group=group) as stream:
        assert await data_of(stream) == ["a", "END"]
    assert isinstance(stream.outcome, Completed)
    source = hanging("a")
    async with open_stream(source, DIALECT, task_group=group) as stream:
        await stream.receive()
    assert is_interrupted(stream.outcome, Cause.ABANDONED)
    assert source.closed


async def test_in_an_anyio_task_group() -> None:
    alive = living()
    async with anyio.create_task_group() as group:
        await _read_in(group)
        assert living() == alive


@in_trio
async def test_in_a_trio_nursery() -> None:
    async with trio.open_nursery() as nursery:
        source = hanging("a")
        async with open_stream(source, DIALECT, task_group=nursery) as stream:
            await stream.receive()
            assert len(nursery.child_tasks) == 1
        await _read_in(nursery)


@in_asyncio
async def test_in_an_asyncio_task_group() -> None:
    alive = living()
    async with asyncio.TaskGroup() as group:
        await _read_in(group)
        assert living() == alive


async def test_cancelling_the_task_group_interrupts() -> None:
    """The runner goes down with its group; the consumer in it is cancelled as well."""
    source, streams = hanging("a"), []
    async with anyio.create_task_group() as group:  # noqa: SIM117 - each for itself
        async with open_stream(source, DIALECT, task_group=group) as stream:
            streams.append(stream)
            await stream.receive()
            group.cancel_scope.cancel()
            await stream.receive()
    assert is_interrupted(streams[0].outcome, Cause.CANCELLED)
    assert source.closed


async def test_cancelling_a_task_group_elsewhere_interrupts() -> None:
    """A consumer outside of the group sees its stream end, as cancelled."""
    source = hanging("a")
    async with anyio.create_task_group() as group:
        with anyio.CancelScope(shield=True):
            async with open_stream(source, DIALECT, task_group=group) as stream:
                assert (await stream.receive()).data == "a"
                group.cancel_scope.cancel()
                assert await data_of(stream.events()) == []
                assert is_interrupted(stream.outcome, Cause.CANCELLED)
    assert source.closed


@in_asyncio
async def test_task_group_that_is_over_is_refused() -> None:
    """asyncio says so; nothing is read, and the source is closed."""
    async with asyncio.TaskGroup() as group:
        pass
    source = hanging("a")
    with pytest.raises(RuntimeError):
        async with open_stream(source, DIALECT, task_group=group):
            pass
    assert not source.reads
    assert source.closed


# --- where the source runs --------------------------------------------------------


async def test_context_variables_reach_the_source() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    seen = []

    async def note() -> None:
        seen.append(variable.get())

    variable.set("set")
    async with open_stream(Steps(note, sse("END"), note), DIALECT) as stream:
        variable.set("later")
        await data_of(stream)
    async with anyio.create_task_group() as group:  # noqa: SIM117 - each for itself
        async with open_stream(Steps(note, sse("END")), DIALECT, task_group=group) as stream:
            await data_of(stream)
    assert seen == ["set", "set", "later"]


async def test_generator_is_started_read_and_closed_in_one_task() -> None:
    """So it may hold scopes and task groups of its own."""

    async def source() -> AsyncIterator[bytes]:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            with anyio.fail_after(60):
                yield sse("a")
                yield sse("b")
                await anyio.sleep_forever()

    async with open_stream(source(), DIALECT) as stream:
        await stream.receive()
        await stream.receive()
        await anyio.wait_all_tasks_blocked()
    assert is_interrupted(stream.outcome, Cause.ABANDONED)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
@pytest.mark.parametrize("wire", [sse("a", "END"), sse("a")])
def test_eager_tasks(wire: bytes) -> None:
    """Tasks that begin before they are waited for change nothing."""

    async def main() -> Any:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        alive = living()
        for source in (FaultySource(wire), Steps(wire), Steps(wire, checkpoint, OSError())):
            async with open_stream(source, DIALECT) as stream:
                events = await data_of(stream.events())
            assert events == [part for part in ("a", "END") if sse(part) in wire]
            assert living() == alive
        async with open_stream(Steps(wire, anyio.sleep_forever), DIALECT) as stream:
            pass
        return stream.outcome

    assert is_interrupted(run("asyncio", main), Cause.ABANDONED)


async def test_many_streams_at_once() -> None:
    alive, outcomes = living(), []

    async def read(number: int) -> None:
        source = FaultySource(sse(*map(str, range(number)), "END"), cuts=[number])
        async with open_stream(source, DIALECT) as stream:
            assert len(await data_of(stream)) == number + 1
        outcomes.append(stream.outcome)

    async with anyio.create_task_group() as group:
        for number in range(1, 60):
            group.start_soon(read, number)
    assert len(outcomes) == 59
    assert not any(isinstance(outcome, Interrupted) for outcome in outcomes)
    assert living() == alive
