"""What `receive()` promises: each event once, in order, one receiver, and room for others."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest
import trio
from anyio.lowlevel import checkpoint

from untorn import Cause, Completed, Dialect, Limits, Reducer, StreamInterrupted, open_stream
from untorn.link import CAPACITY
from untorn.testing import FaultySource, Reset

from .sources import DIALECT, Steps, data_of, hanging, is_interrupted, sse

pytestmark = pytest.mark.anyio


async def test_second_receiver_is_refused() -> None:
    """The first goes on undisturbed."""
    source = FaultySource(b"")
    seen, ready = [], anyio.Event()
    steps = Steps(ready.wait, sse("a"), sse("END"))
    async with open_stream(steps, DIALECT) as stream, anyio.create_task_group() as group:

        async def first() -> None:
            seen.append((await stream.receive()).data)

        group.start_soon(first)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(anyio.BusyResourceError):
            await stream.receive()
        with pytest.raises(anyio.BusyResourceError):
            await anext(stream)
        ready.set()
        await anyio.wait_all_tasks_blocked()
        assert seen == ["a"]
        assert (await stream.receive()).data == "END"
    assert not source.closed


async def test_receivers_may_take_turns() -> None:
    """One after the other, tasks may share a stream."""
    source, seen = FaultySource(sse(*"abcdef", "END"), cuts=[9, 20]), []
    async with open_stream(source, DIALECT) as stream:

        async def one() -> None:
            seen.append((await stream.receive()).data)

        for _ in range(7):
            async with anyio.create_task_group() as group:
                group.start_soon(one)
    assert seen == [*"abcdef", "END"]


async def test_receive_cancelled_while_waiting_takes_nothing() -> None:
    ready = anyio.Event()
    async with open_stream(Steps(ready.wait, sse("END")), DIALECT) as stream:
        for _ in range(3):
            with anyio.move_on_after(0) as scope:
                await stream.receive()
            assert scope.cancelled_caught
        assert stream.outcome is None
        ready.set()
        assert (await stream.receive()).data == "END"


async def test_receive_in_a_cancelled_scope_takes_nothing() -> None:
    """An event that is ready does not slip out of a cancelled scope."""
    async with open_stream(hanging("a"), DIALECT) as stream:
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await stream.receive()
        assert scope.cancelled_caught
        assert (await stream.receive()).data == "a"


@pytest.mark.parametrize("ending", ["END", "broken"])
async def test_end_in_a_cancelled_scope_waits(ending: str) -> None:
    """The end is not lost either."""
    wire = sse("END") if ending == "END" else b""
    async with open_stream(FaultySource(wire, faults=[Reset()]), DIALECT) as stream:
        if wire:
            await stream.receive()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await stream.receive()
        assert scope.cancelled_caught
        with pytest.raises(anyio.EndOfStream if wire else StreamInterrupted):
            await stream.receive()


# --- thousands of cancellations -----------------------------------------------------


class Rival:
    """A task that lets some turns pass and then calls what it was given."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.call: Callable[[], object] | None = None
        self.turns = 0

    def aim(self, call: Callable[[], object]) -> None:
        self.call, self.turns = call, self.random.randrange(6)

    async def run(self) -> None:
        while True:
            await checkpoint()
            if self.call is not None:
                self.turns -= 1
                if self.turns < 0:
                    call, self.call = self.call, None
                    call()


Attempt = Callable[[Callable[[], Awaitable[Any]], Rival], Awaitable[Any]]


async def _in_scope(receive: Any, rival: Rival) -> Any:
    with anyio.CancelScope() as scope:
        rival.aim(scope.cancel)
        return await receive()


async def _in_trio_scope(receive: Any, rival: Rival) -> Any:
    with trio.CancelScope() as scope:
        rival.aim(scope.cancel)
        return await receive()


async def _with_timeout(receive: Any, rival: Rival) -> Any:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as timeout:
            rival.aim(lambda: timeout.reschedule(loop.time()))
            try:
                return await receive()
            finally:
                rival.call = None
    except TimeoutError:
        return None


async def _in_task(receive: Any, rival: Rival) -> Any:
    task = asyncio.ensure_future(receive())
    rival.aim(task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return None


async def _with_wait_for(receive: Any, rival: Rival) -> Any:
    try:
        return await asyncio.wait_for(receive(), rival.random.choice([1e-9, 1e-4, 1e-3]))
    except TimeoutError:
        return None


ATTEMPTS = [
    *((name, _in_scope) for name in ("asyncio", "uvloop", "trio")),
    ("trio", _in_trio_scope),
    *((name, attempt) for name in ("asyncio", "uvloop") for attempt in (_with_timeout, _in_task)),
    *((name, _with_wait_for) for name in ("asyncio-real", "uvloop")),
]


@pytest.mark.parametrize(("anyio_backend", "attempt"), ATTEMPTS, indirect=["anyio_backend"])
@pytest.mark.parametrize("batch", [1, 3, 70])
async def test_receive_loses_nothing_however_often_it_is_cancelled(
    attempt: Attempt, batch: int
) -> None:
    """Cancelled and called again thousands of times: every event once, in order."""
    names = [str(number) for number in range(700)]
    rival, seen, cancelled = Rival(batch), [], 0
    turns = random.Random(batch)

    async def source() -> AsyncIterator[bytes]:
        for start in range(0, len(names), batch):
            for _ in range(turns.randrange(9)):
                await checkpoint()
            if attempt is _with_wait_for and (batch == 70 or turns.random() < 0.05):
                await anyio.sleep(0.0005)
            yield sse(*names[start : start + batch])
        yield sse("END")

    async with anyio.create_task_group() as group:
        group.start_soon(rival.run)
        async with open_stream(source(), DIALECT) as stream:
            while not isinstance(stream.outcome, Completed):
                event = await attempt(stream.receive, rival)
                if event is None:
                    cancelled += 1
                else:
                    seen.append(event.data)
        group.cancel_scope.cancel()
    assert seen == [*names, "END"]
    assert cancelled > 0


# --- room for others ----------------------------------------------------------------


class Turns:
    """Counts the turns that another task gets."""

    count = 0

    async def run(self) -> None:
        while True:
            self.count += 1
            await checkpoint()


@pytest.mark.parametrize("read_bytes", [100, 65536])
async def test_rival_gets_a_turn_every_64_events(
    anyio_backend_name: str, monkeypatch: pytest.MonkeyPatch, read_bytes: int
) -> None:
    """While a batch is consumed without waiting and in no time, others run every 64 events."""
    monkeypatch.setattr("untorn.stream.monotonic", lambda: 0.0)
    wire = sse(*(f"{number:04}" for number in range(3000)), "END")
    turns, longest, since, before = Turns(), 0, 0, 0
    # trio shuffles the tasks of a turn, so that two turns of one may meet.
    most = 128 if anyio_backend_name == "trio" else 64
    async with anyio.create_task_group() as group:
        async with open_stream(
            FaultySource(wire), DIALECT, limits=Limits(read_bytes=read_bytes)
        ) as stream:
            group.start_soon(turns.run)
            async for _ in stream:
                since = since + 1 if turns.count == before else 1
                before, longest = turns.count, max(longest, since)
        group.cancel_scope.cancel()
    assert longest <= most


class _Many(Reducer[int, None]):
    value = None

    def feed(self, frame: Any) -> range:
        return range(1000)


class Many(Dialect[int, None]):
    """A dialect that makes a thousand events of one frame."""

    def reducer(self, limits: Limits) -> Reducer[int, None]:
        return _Many()


async def test_one_frame_may_make_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no reason to keep the loop: there is a checkpoint behind each 64."""
    monkeypatch.setattr("untorn.stream.monotonic", lambda: 0.0)
    count, yields = 0, []
    async with open_stream(FaultySource(sse("a")), Many()) as stream:
        await anyio.wait_all_tasks_blocked()
        monkeypatch.setattr("untorn.stream.checkpoint", _noting(lambda: yields.append(count)))
        async for _ in stream.events():
            count += 1
    assert count == 1000
    assert yields == [*range(0, 1000, 64), 1000]


def _noting(note: Callable[[], object]) -> Callable[[], Awaitable[None]]:
    async def checkpoint_() -> None:
        note()
        await checkpoint()

    return checkpoint_


async def test_slow_consumer_lets_others_run_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A millisecond of work is enough for another to get a turn."""
    now = 0.0
    monkeypatch.setattr("untorn.stream.monotonic", lambda: now)
    turns, seen = Turns(), []
    async with anyio.create_task_group() as group:
        async with open_stream(FaultySource(sse(*"abcdefghijklmnop")), DIALECT) as stream:
            await stream.receive()
            group.start_soon(turns.run)
            for _ in range(12):
                seen.append(turns.count)
                await stream.receive()
                now += 0.0006
        group.cancel_scope.cancel()
    assert seen[:2] == [0, 0]
    assert seen[-1] >= 2


@pytest.mark.parametrize("moment", [0, 1, 63, 64, 65, 200])
async def test_at_most_64_events_behind_a_cancellation(
    monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """However far the consumer has come when it is cancelled."""
    monkeypatch.setattr("untorn.stream.monotonic", lambda: 0.0)
    source, count = FaultySource(sse(*map(str, range(1000)))), 0
    with anyio.CancelScope() as scope:
        async with open_stream(source, DIALECT) as stream:
            await anyio.wait_all_tasks_blocked()
            if not moment:
                scope.cancel()
            async for _ in stream:
                count += 1
                if count == moment:
                    scope.cancel()
    assert scope.cancelled_caught
    assert is_interrupted(stream.outcome, Cause.CANCELLED)
    assert moment <= count <= moment + 64


async def test_receiving_ready_events_one_by_one_lets_others_run() -> None:
    """Batches of one event, always ready: others run as often as the links are empty."""
    source = Steps(*(sse(str(number)) for number in range(100)), sse("END"))
    turns = Turns()
    async with anyio.create_task_group() as group:
        async with open_stream(source, DIALECT) as stream:
            group.start_soon(turns.run)
            await data_of(stream)
        group.cancel_scope.cancel()
    assert turns.count >= 100 // CAPACITY


async def test_source_of_empty_chunks_lets_others_run() -> None:
    """It can neither block the loop nor end the stream."""
    turns = Turns()

    async def source() -> AsyncIterator[bytes]:
        while turns.count < 50:
            yield b""
        yield sse("END")

    async with anyio.create_task_group() as group:
        group.start_soon(turns.run)
        async with open_stream(source(), DIALECT) as stream:
            assert await data_of(stream) == ["END"]
        group.cancel_scope.cancel()


async def test_source_that_never_waits_lets_others_run() -> None:
    """A flood of comments makes no event, and yet others get their turns."""
    turns = Turns()

    async def source() -> AsyncIterator[bytes]:
        while turns.count < 50:
            yield b": ping\n\n"
        yield sse("END")

    async with anyio.create_task_group() as group:
        group.start_soon(turns.run)
        async with open_stream(source(), DIALECT) as stream:
            assert await data_of(stream) == ["END"]
        group.cancel_scope.cancel()
