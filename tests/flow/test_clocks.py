"""Time: what is counted, what re-arms it, and what a stall costs; hours of it, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import chain, repeat
from typing import Any

import anyio
import pytest
import trio
from anyio.lowlevel import checkpoint
from trio.lowlevel import in_trio_task

from untorn import Cause, Clocks, Completed, Dialect, Interrupted, Limits, Reducer, open_stream
from untorn.clock import Clock
from untorn.dialects import Sse
from untorn.testing import Drip, FaultySource, Hang, Send, Stall

from .backends import in_virtual_time
from .sources import DIALECT, Steps, data_of, hanging, is_interrupted, sse

pytestmark = [pytest.mark.anyio, in_virtual_time]

HOUR = 3600.0


async def ended(source: Any, clocks: Clocks, dialect: Any = DIALECT) -> tuple[Any, float, int]:
    """Return the outcome of a stream, when it ended, and the number of its events."""
    began = anyio.current_time()
    async with open_stream(source, dialect, clocks=clocks) as stream:
        events = [event async for event in stream.events()]
        return stream.outcome, round(anyio.current_time() - began, 6), len(events)


def script(*steps: Any) -> FaultySource:
    return FaultySource(b"", faults=steps)


@pytest.mark.parametrize(
    ("clocks", "cause", "when"),
    [
        (Clocks(first_byte=5), Cause.FIRST_BYTE_TIMEOUT, 5),
        (Clocks(idle=7), Cause.IDLE_TIMEOUT, 7),
        (Clocks(first_byte=5, idle=3), Cause.FIRST_BYTE_TIMEOUT, 5),
        (Clocks(progress=4), Cause.PROGRESS_TIMEOUT, 4),
        (Clocks(total=9), Cause.TOTAL_TIMEOUT, 9),
        (Clocks(first_byte=5, progress=4, total=3), Cause.TOTAL_TIMEOUT, 3),
    ],
)
async def test_source_that_never_answers(clocks: Clocks, cause: Cause, when: float) -> None:
    """Whatever runs out first is the cause."""
    source = hanging()
    outcome, ended_at, events = await ended(source, clocks)
    assert is_interrupted(outcome, cause)
    assert outcome.error is None
    assert outcome.retry_safe
    assert (ended_at, events) == (when, 0)
    assert source.closings[0].time == when


async def test_without_clocks_a_source_may_take_its_time() -> None:
    source = script(Stall(50 * HOUR), Send(sse("END")))
    outcome, ended_at, _ = await ended(source, Clocks())
    assert isinstance(outcome, Completed)
    assert ended_at == 50 * HOUR


async def test_any_byte_rearms_idle() -> None:
    """A drip that never makes an event keeps the stream alive, until it stops."""
    source = FaultySource(b": " + b"." * 20, faults=[Drip(9), Hang()])
    outcome, ended_at, _ = await ended(source, Clocks(idle=10))
    assert is_interrupted(outcome, Cause.IDLE_TIMEOUT)
    assert outcome.position.bytes == 22
    assert ended_at == 22 * 9 + 10


async def test_first_byte_takes_the_place_of_idle_once() -> None:
    source = script(Stall(8), Send(sse("a")), Hang())
    outcome, ended_at, events = await ended(source, Clocks(first_byte=10, idle=3))
    assert is_interrupted(outcome, Cause.IDLE_TIMEOUT)
    assert (ended_at, events) == (11, 1)


async def test_first_byte_alone_bounds_nothing_else() -> None:
    source = script(Stall(8), Send(sse("a")), Stall(HOUR), Send(sse("END")))
    outcome, _, events = await ended(source, Clocks(first_byte=10))
    assert isinstance(outcome, Completed)
    assert events == 2


class Keepalives(Dialect[str, None]):
    """A dialect with keepalive events."""

    def reducer(self, limits: Limits) -> Reducer[str, None]:
        return _Keepalives()


class _Keepalives(Reducer[str, None]):
    value = None

    def feed(self, frame: Any) -> tuple[str]:
        if frame[1] == "END":
            self.complete("END")
        return (frame[1],)

    def is_keepalive(self, event: str) -> bool:
        return event == "ping"


@pytest.mark.parametrize("alive", [b": ping\n\n", sse("ping"), b"retry: 5\n\n"])
async def test_keepalives_are_no_progress(alive: bytes) -> None:
    """Comments and keepalive events prove the transport, not the answer."""
    source = script(Send(sse("a")), *[Stall(3), Send(alive)] * 9, Hang())
    outcome, ended_at, _ = await ended(source, Clocks(progress=10, idle=5), Keepalives())
    assert is_interrupted(outcome, Cause.PROGRESS_TIMEOUT)
    assert ended_at == 10


@pytest.mark.parametrize("more", [sse("b"), sse("ping", "b"), sse("b", "ping")])
async def test_events_are_progress(more: bytes) -> None:
    """Each real event re-arms, also while the reader waits for the next read already."""
    source = script(*[Stall(8), Send(more)] * 5, Stall(8), Send(sse("END")))
    outcome, ended_at, _ = await ended(source, Clocks(progress=10), Keepalives())
    assert isinstance(outcome, Completed)
    assert ended_at == 48


async def test_total_bounds_all_waiting() -> None:
    """What arrived before it is delivered."""
    source = script(*[Stall(3), Send(sse("a"))] * 9)
    outcome, ended_at, events = await ended(source, Clocks(total=10, idle=5, progress=5))
    assert is_interrupted(outcome, Cause.TOTAL_TIMEOUT)
    assert (ended_at, events) == (10, 3)


@pytest.mark.parametrize("clocks", [Clocks(idle=10, progress=10, total=10, first_byte=10)])
@pytest.mark.parametrize("read_bytes", [1, 65536])
async def test_stalled_consumer_runs_no_clock_out(clocks: Clocks, read_bytes: int) -> None:
    """A consumer that takes hours per event is no fault of a source that answers at once."""
    source = FaultySource(sse(*"abcdefgh", "END"), cuts=range(9, 72, 9))
    limits = Limits(read_bytes=read_bytes)
    async with open_stream(source, DIALECT, clocks=clocks, limits=limits) as stream:
        async for _ in stream:
            await anyio.sleep(HOUR)
    assert isinstance(stream.outcome, Completed)
    assert stream.statistics().waited_for_source < 1
    if read_bytes == 1:
        assert stream.statistics().waited_for_consumer > HOUR


@pytest.mark.parametrize("stalled_at", [0, 1, 2])
async def test_events_held_up_by_the_consumer_are_progress(stalled_at: int) -> None:
    """While the consumer holds the events up, nobody may say that none came."""
    source = script(*[Send(sse("a")), Stall(9)] * 12, Send(sse("END")))
    async with open_stream(source, DIALECT, clocks=Clocks(progress=10)) as stream:
        for _ in range(stalled_at):
            await stream.receive()
        await anyio.sleep(HOUR)
        assert len(await data_of(stream.events())) == 13 - stalled_at
    assert isinstance(stream.outcome, Completed)


async def test_lack_of_progress_behind_a_stall() -> None:
    """Once the consumer is back, progress counts again."""
    source = script(*[Send(sse("a"))] * 6, *[Stall(9), Send(b": ping\n")] * 9, Hang())
    async with open_stream(source, DIALECT, clocks=Clocks(progress=10)) as stream:
        await anyio.sleep(HOUR)
        back = anyio.current_time()
        assert len(await data_of(stream.events())) == 6
        assert is_interrupted(stream.outcome, Cause.PROGRESS_TIMEOUT)
        assert 9 < anyio.current_time() - back <= 11


async def test_events_queued_before_a_timeout_are_delivered() -> None:
    source = script(Send(sse("a")), Send(sse("b")), Send(sse("c")), Hang())
    async with open_stream(source, DIALECT, clocks=Clocks(idle=10)) as stream:
        await anyio.sleep(HOUR)
        assert source.closed
        assert await data_of(stream.events()) == ["a", "b", "c"]
    assert is_interrupted(stream.outcome, Cause.IDLE_TIMEOUT)


async def test_marker_queued_before_a_timeout_completes() -> None:
    """The consumer finds the stream complete, although its source was given up meanwhile."""
    source = script(Send(sse("a")), Send(sse("b")), Send(sse("c")), Send(sse("END")), Hang())
    async with open_stream(source, DIALECT, clocks=Clocks(idle=10)) as stream:
        await anyio.sleep(HOUR)
        assert await data_of(stream) == ["a", "b", "c", "END"]
    assert isinstance(stream.outcome, Completed)


async def test_timeout_in_a_torn_frame_says_so() -> None:
    outcome, _, _ = await ended(script(Send(b"data: \xe4\xbd"), Hang()), Clocks(idle=1))
    assert outcome.torn.value == "character"


async def test_timeout_error_of_the_source_is_its_own() -> None:
    """A `TimeoutError` that the source raises is no timeout of ours."""
    source = Steps(sse("a"), TimeoutError("socket"))
    outcome, _, _ = await ended(source, Clocks(idle=10))
    assert is_interrupted(outcome, Cause.TRANSPORT)
    assert isinstance(outcome.error, TimeoutError)


async def test_timeout_of_a_source_with_tasks_of_its_own() -> None:
    """It is told from an error, whatever the source's task group makes of the cancellation."""

    async def source() -> AsyncIterator[bytes]:
        yield sse("a")
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            await anyio.sleep_forever()

    outcome, ended_at, _ = await ended(source(), Clocks(idle=10))
    assert is_interrupted(outcome, Cause.IDLE_TIMEOUT)
    assert ended_at == 10


async def test_deadline_of_the_caller_is_a_cancellation() -> None:
    with anyio.move_on_after(5) as scope:
        async with open_stream(hanging("a"), DIALECT, clocks=Clocks(idle=10)) as stream:
            await data_of(stream)
    assert scope.cancelled_caught
    assert is_interrupted(stream.outcome, Cause.CANCELLED)


async def test_drain_is_bounded_in_time_whatever_the_clocks() -> None:
    """Neither a clock nor a trickle of empty chunks makes the exit longer."""

    async def trickle() -> AsyncIterator[bytes]:
        yield sse("END")
        while True:
            await anyio.sleep(0.06)
            yield b""

    late = [Stall(9)]
    for make in (lambda: hanging("END"), trickle, lambda: FaultySource(sse("END"), faults=late)):
        for clocks in (Clocks(), Clocks(idle=HOUR, total=HOUR)):
            began = anyio.current_time()
            async with open_stream(make(), DIALECT, clocks=clocks) as stream:
                assert await data_of(stream) == ["END"]
                assert anyio.current_time() == began
            assert anyio.current_time() - began <= 0.21
            assert isinstance(stream.outcome, Completed)


async def test_drain_is_bounded_in_bytes() -> None:
    wire = sse("END") + b": " + b"x" * 1000
    for drain, read in ((0, 11), (1, 12), (100, 111), (5000, len(wire))):
        source = FaultySource(wire)
        limits = Limits(drain_bytes=drain, read_bytes=11)
        async with open_stream(source, DIALECT, limits=limits) as stream:
            assert await data_of(stream) == ["END"]
        assert read <= source.offset <= read + 3 * 11, drain


async def test_statistics_tell_the_times() -> None:
    parts = [b": hi\n\n", sse("a"), sse("END")]
    source = script(*(step for k in range(3) for step in (Stall(k + 2), Send(parts[k]))))
    async with open_stream(source, Sse(sentinel="END")) as stream:
        await anyio.sleep(1)
        before = stream.statistics()
        assert (before.first_byte, before.first_event, before.waited_for_source) == (None, None, 1)
        async for _ in stream:
            await anyio.sleep(1)
    after = stream.statistics()
    assert (after.first_byte, after.first_event) == (2, 5)
    assert after.waited_for_source == 9
    assert after.waited_for_consumer == 0
    assert (after.bytes, after.frames, after.events, after.comments) == (26, 2, 2, 1)
    assert after.largest_frame == 3


async def test_first_event_is_when_it_was_taken() -> None:
    async with open_stream(hanging("a"), DIALECT) as stream:
        await anyio.sleep(7)
        await stream.receive()
        assert stream.statistics().first_event == 7
        assert isinstance(stream.statistics().first_byte, float)
    assert isinstance(stream.outcome, Interrupted)


# --- where the loop is blocked


def block(seconds: float) -> None:
    """Let virtual time pass while no task can run."""
    if in_trio_task():
        trio.lowlevel.current_clock().jump(seconds)  # type: ignore[attr-defined]
    else:
        asyncio.get_running_loop().jump(seconds)  # type: ignore[attr-defined]


@pytest.mark.parametrize("clocks", [Clocks(idle=10), Clocks(progress=10), Clocks(total=10)])
@pytest.mark.parametrize("blocked", [9, 10, 11, 15, 100])
async def test_blocked_loop_makes_no_live_service_look_dead(clocks: Clocks, blocked: int) -> None:
    """What came meanwhile is read before the clock strikes."""
    source = script(Send(sse("0")), Stall(5), Send(sse("1")), Stall(1), Send(sse("END")))
    seen = []
    async with open_stream(source, DIALECT, clocks=clocks) as stream:
        async for event in stream.events():
            seen.append(event.data)
            if event.data == "0":
                block(blocked)
    assert seen == ["0", "1", "END"]
    assert isinstance(stream.outcome, Completed)


@pytest.mark.parametrize("blocked", [1, 9.5, 11, 25])
async def test_dead_service_is_noticed_behind_a_blocked_loop(blocked: float) -> None:
    """In time, and at the most as much later as the loop was blocked."""
    async with open_stream(hanging("0"), DIALECT, clocks=Clocks(idle=10)) as stream:
        await stream.receive()
        began = anyio.current_time()
        block(blocked)
        assert [event async for event in stream.events()] == []
    assert is_interrupted(stream.outcome, Cause.IDLE_TIMEOUT)
    assert 10 <= anyio.current_time() - began <= 10 + blocked


async def test_loop_that_is_blocked_again_and_again_ends_as_well() -> None:
    """Only what is blocked is left out of the waiting."""
    async with (
        open_stream(hanging("0"), DIALECT, clocks=Clocks(idle=10)) as stream,
        anyio.create_task_group() as group,
    ):

        async def slow_down() -> None:
            while True:
                block(2)
                await anyio.sleep(3)

        group.start_soon(slow_down)
        with anyio.fail_after(100):
            assert await data_of(stream.events()) == ["0"]
        group.cancel_scope.cancel()
    assert is_interrupted(stream.outcome, Cause.IDLE_TIMEOUT)


class Unsuspended:
    """A source that has its chunks at once, and never lets another task run."""

    def __init__(self, first: bytes, rest: bytes, seconds: float = 0.0) -> None:
        self._chunks = chain([first], repeat(rest))
        self._seconds = seconds
        self.reads = 0

    def __aiter__(self) -> Unsuspended:
        return self

    async def __anext__(self) -> bytes:
        self.reads += 1
        block(self._seconds)
        return next(self._chunks)


@pytest.mark.parametrize(("rest", "seconds"), [(b"", 0.001), (b":", 0.001), (b"", 1)])
async def test_drain_of_a_source_that_never_waits_is_bounded_in_time(
    rest: bytes, seconds: float
) -> None:
    """The loop is not its own: other tasks run, and the time runs out."""
    source = Unsuspended(sse("END"), rest, seconds)
    async with open_stream(source, DIALECT) as stream:
        assert await data_of(stream) == ["END"]
        began = anyio.current_time()
    assert isinstance(stream.outcome, Completed)
    assert anyio.current_time() - began <= 0.2 + 3 * seconds
    assert source.reads < 300


@pytest.mark.parametrize("clocks", [Clocks(progress=5), Clocks(total=5)])
@pytest.mark.parametrize("size", [1, 1000])
async def test_flood_that_makes_no_event_is_waiting(clocks: Clocks, size: int) -> None:
    """It is untorn that is busy, and not its consumer, which waits all the time."""
    source = Unsuspended(sse("0"), b":\n" * size, 0.05)
    limits = Limits(read_bytes=1000)
    async with open_stream(source, DIALECT, clocks=clocks, limits=limits) as stream:
        assert [event.data async for event in stream.events()] == ["0"]
    assert isinstance(stream.outcome, Interrupted)
    assert stream.outcome.cause in (Cause.PROGRESS_TIMEOUT, Cause.TOTAL_TIMEOUT)
    assert stream.statistics().waited_for_consumer < 1
    assert anyio.current_time() < 30


@pytest.mark.parametrize("seconds", [5e-324, 1e-11, 1e-9, 0.05, 0.1, 1 / 3])
@pytest.mark.parametrize("began", [0.0, 1 / 7, 86400.0, 1e6])
async def test_clock_runs_out_whatever_is_left_of_it(began: float, seconds: float) -> None:
    """What is left may be less than a number can add to the time: nobody can sleep for that."""
    await anyio.sleep(began)
    with anyio.fail_after(1):
        outcome, _, _ = await ended(hanging(), Clocks(total=seconds, idle=2 * seconds))
    assert is_interrupted(outcome, Cause.TOTAL_TIMEOUT)


async def test_bound_that_is_rearmed_while_nothing_is_waited_for_is_watched() -> None:
    """The watch sleeps until it is set, and is set by what starts the waiting."""
    scope = anyio.CancelScope()
    clock = Clock(Clocks(progress=5), scope, anyio.current_time)
    async with anyio.create_task_group() as group:
        group.start_soon(clock.watch)
        await anyio.wait_all_tasks_blocked()
        clock.rearm(Cause.PROGRESS_TIMEOUT)
        clock.start()
        await anyio.sleep(4.9)
        assert not scope.cancel_called
        await anyio.sleep(0.2)
        assert scope.cancel_called


@pytest.mark.parametrize("quiet", [0.0, 0.2, 0.25, 0.99])
@pytest.mark.parametrize(
    "clocks", [Clocks(idle=1), Clocks(progress=1), Clocks(first_byte=9, idle=1)]
)
async def test_what_is_left_out_of_the_waiting_is_given_to_nobody(
    clocks: Clocks, quiet: float
) -> None:
    """Behind what came while the loop was blocked, a clock has its own time and no more."""
    source = script(Send(sse("0")), Stall(quiet), Send(sse("1")), Hang())
    async with open_stream(source, DIALECT, clocks=clocks) as stream:
        await stream.receive()
        await anyio.sleep(quiet / 2)
        block(4)
        assert (await stream.receive()).data == "1"
        began = anyio.current_time()
        assert [event async for event in stream.events()] == []
    assert is_interrupted(stream.outcome, Cause.IDLE_TIMEOUT) or clocks.progress
    assert anyio.current_time() - began <= 1.01


async def test_what_comes_at_the_very_moment_counts() -> None:
    """A bound that has run out is acted upon once what is due as well has run."""
    scope = anyio.CancelScope()
    clock = Clock(Clocks(idle=5), scope, anyio.current_time)
    clock.start()
    async with anyio.create_task_group() as group:
        group.start_soon(clock.watch)
        block(5)
        await checkpoint()
        await checkpoint()
        clock.rearm(Cause.IDLE_TIMEOUT)
        await anyio.sleep(4.9)
        assert not scope.cancel_called
        await anyio.sleep(0.2)
        assert scope.cancel_called
