"""Many readers and many events: what it costs, what is kept, and who gets a turn."""

from __future__ import annotations

import weakref
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from counting import calls
from flow.backends import in_virtual_time, run
from flow.sources import data_of, sse
from flow.test_receive import Turns

from untorn import Completed, Position, broadcast, tee
from untorn.broadcast import reader
from untorn.broadcast.line import Line

from .supply import Receiving, numbers, opened, taken


def stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let events take no time, so that nobody lets others run because some has passed."""
    monkeypatch.setattr("untorn.stream.monotonic", lambda: 0.0)
    monkeypatch.setattr(reader, "monotonic", lambda: 0.0)


# --- what it costs ------------------------------------------------------------------


def calls_per_delivery(backend: str, readers: int, events: int, slow: Any, pause: bool) -> float:
    """Return how many functions are called for each event that a reader receives."""

    async def read(own: Any) -> None:
        async for _ in own.events():
            if pause:
                await checkpoint()

    async def main() -> None:
        async with (
            opened(events - 1, wire=sse("END")) as (_, stream),
            anyio.create_task_group() as group,
        ):
            for one in tee(stream, readers, slow=slow):
                group.start_soon(read, one)

    counted = calls(lambda: run(backend, main))
    return counted.total() / (readers * events)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("slow", ["block", "drop_oldest"])
@pytest.mark.parametrize("pause", [False, True], ids=["eager", "pausing"])
def test_an_event_costs_the_same_however_many_there_are(
    backend: str, slow: str, pause: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither more events nor more readers make one delivery dearer."""
    stop_the_clock(monkeypatch)
    few = calls_per_delivery(backend, 40, 50, slow, pause)
    assert calls_per_delivery(backend, 40, 250, slow, pause) < few * 1.2
    assert calls_per_delivery(backend, 200, 50, slow, pause) < few * 1.2


@pytest.mark.anyio
@in_virtual_time
async def test_leader_that_is_cancelled_wakes_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds that wait are not all woken because one of them stops."""
    async with opened() as (supply, stream), anyio.create_task_group() as group:
        receiving = [Receiving(one, group) for one in tee(stream, 300)]
        await anyio.wait_all_tasks_blocked()
        tries = count_tries(monkeypatch)
        for one in receiving[:50]:
            one.scope.cancel()
            await anyio.wait_all_tasks_blocked()
        assert len(tries) <= 50
        supply.feed(1)
        await anyio.wait_all_tasks_blocked()
        assert all(one.got == "0" for one in receiving[50:])
        assert all(one.done and one.got is None for one in receiving[:50])


@pytest.mark.anyio
@in_virtual_time
async def test_slow_reader_that_goes_on_wakes_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes room for one event, which one of those that wait receives for all of them."""
    async with opened(100) as (_, stream), anyio.create_task_group() as group:
        slow, *fast = tee(stream, 100, capacity=1)
        for one in fast:
            await taken(one, 1)
        receiving = [Receiving(one, group) for one in fast]
        await anyio.wait_all_tasks_blocked()
        tries = count_tries(monkeypatch)
        await taken(slow, 1)
        await anyio.wait_all_tasks_blocked()
        assert all(one.got == "1" for one in receiving)
        assert len(tries) <= 2


def count_tries(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that grows with each try of a reader to receive, for all or with them."""
    tries: list[object] = []
    advance = Line.advance

    async def counted(line: Any, place: Any) -> None:
        tries.append(place)
        await advance(line, place)

    monkeypatch.setattr(Line, "advance", counted)
    return tries


# --- what is kept -------------------------------------------------------------------


class Event:
    """An event that one can watch."""

    def __init__(self, data: str) -> None:
        self.data = data


class Watched:
    """A stream of events of which it knows how many are still alive."""

    value = ""

    def __init__(self, count: int) -> None:
        self.count = count
        self.alive: weakref.WeakSet[Event] = weakref.WeakSet()
        self.outcome: Completed[str] | None = None

    async def receive(self) -> Event:
        self.count -= 1
        if not self.count:
            self.outcome = Completed("", "", Position(0, 0, 0))
        event = Event(str(self.count))
        self.alive.add(event)
        return event


@pytest.mark.anyio
@pytest.mark.parametrize("slow", ["drop_oldest", "evict"])
@pytest.mark.parametrize("capacity", [1, 16, 100])
async def test_memory_is_bounded_by_capacity(slow: Any, capacity: int) -> None:
    """However long a reader stalls, and however many do, so many events are kept, once."""
    stream, most = Watched(2000), 0
    fast, *stalled = tee(stream, 10, slow=slow, capacity=capacity)
    async for event in fast:
        del event
        most = max(most, len(stream.alive))
    assert most <= capacity
    assert len(stalled) == 9


# --- who gets a turn ----------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("readers", [1, 3])
async def test_rival_gets_a_turn_every_64_events(
    anyio_backend_name: str, monkeypatch: pytest.MonkeyPatch, readers: int
) -> None:
    """While what was kept is received without waiting and in no time, others run."""
    stop_the_clock(monkeypatch)
    turns, longest, since, before = Turns(), 0, 0, 0
    most = 128 if anyio_backend_name == "trio" else 64
    async with opened(3000, wire=sse("END")) as (_, stream):
        *ahead, last = tee(stream, readers, capacity=5000)
        for one in ahead:
            await data_of(one)
        async with anyio.create_task_group() as group:
            group.start_soon(turns.run)
            async for _event in last:
                since = since + 1 if turns.count == before else 1
                before, longest = turns.count, max(longest, since)
            group.cancel_scope.cancel()
    assert longest <= most


@pytest.mark.anyio
async def test_rival_gets_a_turn_when_time_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes a millisecond for each event lets others run behind each."""
    clock = iter(range(10**6))
    monkeypatch.setattr(reader, "monotonic", lambda: next(clock))
    turns, seen = Turns(), 0
    async with opened(100, wire=sse("END")) as (_, stream):
        ahead, last = tee(stream, 2, capacity=200)
        await data_of(ahead)
        async with anyio.create_task_group() as group:
            group.start_soon(turns.run)
            async for _event in last:
                seen += 1
                assert turns.count >= seen // 2
            group.cancel_scope.cancel()
    assert seen == 101


@pytest.mark.anyio
async def test_events_that_are_ready_do_not_slip_out_of_a_cancelled_scope() -> None:
    async with opened(5) as (_, stream):
        first, second = tee(stream, 2)
        await taken(first, 3)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await second.receive()
        assert scope.cancelled_caught
        assert await taken(second, 3) == numbers(0, 3)


@pytest.mark.anyio
async def test_fast_readers_do_not_starve_a_late_one() -> None:
    """Whoever joins in the midst has its events while the others have theirs."""
    async with opened(*[1] * 500, wire=sse("END")) as (_, stream):
        shared, late = broadcast(stream, capacity=4), []

        async def read(own: Any) -> None:
            async for event in own:
                if event.data == "100":
                    group.start_soon(read_late, shared.subscribe())

        async def read_late(own: Any) -> None:
            late.extend(await data_of(own))

        async with anyio.create_task_group() as group:
            group.start_soon(read, shared.subscribe())
            group.start_soon(data_of, shared.subscribe())
        assert late[-300:] == [*numbers(201, 500), "END"]
