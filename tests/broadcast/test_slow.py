"""What becomes of a reader that is slow, to the event."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from flow.backends import on_sockets, run
from flow.sources import data_of, is_interrupted, sse
from flow.test_back_pressure import MIB, Sender, _connect, ahead

from untorn import (
    Cause,
    Completed,
    EventsDropped,
    Interrupted,
    ReaderEvicted,
    StreamInterrupted,
    broadcast,
    open_stream,
    tee,
)
from untorn.dialects import Sse

from .supply import Receiving, numbers, opened, taken

pytestmark = pytest.mark.anyio

CAPACITIES = pytest.mark.parametrize("capacity", [1, 2, 5, 16, 100])


# --- block ----------------------------------------------------------------------


@CAPACITIES
async def test_blocking_reader_holds_up_the_others(capacity: int) -> None:
    """They get exactly `capacity` events ahead, and one more for each that it takes."""
    async with opened(200) as (_, stream), anyio.create_task_group() as group:
        fast, slow = tee(stream, 2, capacity=capacity)
        assert await taken(fast, capacity) == numbers(0, capacity)
        for number in range(capacity, capacity + 5):
            receiving = Receiving(fast, group)
            await anyio.wait_all_tasks_blocked()
            assert not receiving.done
            assert await taken(slow, 1) == numbers(number - capacity, number - capacity + 1)
            await anyio.wait_all_tasks_blocked()
            assert receiving.got == str(number)


@CAPACITIES
@pytest.mark.parametrize("cancelled", [False, True])
async def test_blocking_reader_that_leaves_frees_the_others(capacity: int, cancelled: bool) -> None:
    """Whoever waited for it goes on at once, however it left."""
    async with opened(200) as (_, stream), anyio.create_task_group() as group:
        fast, slow, other = tee(stream, 3, capacity=capacity)
        await taken(fast, capacity)
        await taken(other, capacity)
        receiving = [Receiving(reader, group) for reader in (fast, other)]
        await anyio.wait_all_tasks_blocked()
        assert not any(one.done for one in receiving)
        with anyio.CancelScope() as scope:
            async with slow:
                if cancelled:
                    scope.cancel()
                    await checkpoint()
        assert scope.cancelled_caught is cancelled
        await anyio.wait_all_tasks_blocked()
        assert [one.got for one in receiving] == [str(capacity)] * 2


async def test_reader_that_waits_for_a_slow_one_can_leave_or_be_cancelled() -> None:
    """The place where it waits is as any other; a third is not forgotten there."""
    async with opened(9) as (_, stream), anyio.create_task_group() as group:
        slow, *fast = tee(stream, 4, capacity=1)
        for reader in fast:
            await taken(reader, 1)
        receiving = [Receiving(reader, group) for reader in fast]
        await anyio.wait_all_tasks_blocked()
        receiving[0].scope.cancel()
        await fast[1].aclose()
        await anyio.wait_all_tasks_blocked()
        assert isinstance(receiving[1].error, anyio.ClosedResourceError)
        assert receiving[0].done
        assert not receiving[2].done
        await fast[0].aclose()
        assert await taken(slow, 1) == ["0"]
        await anyio.wait_all_tasks_blocked()
        assert receiving[2].got == "1"


@on_sockets  # threads need real time as well
@pytest.mark.parametrize("thread", [False, True])
async def test_blocking_reader_that_is_dropped_frees_the_others(thread: bool) -> None:
    """Not entered, not closed, only forgotten: in whatever thread it is collected."""
    async with opened(9) as (_, stream), anyio.create_task_group() as group:
        fast, *slow = tee(stream, 2, capacity=1)
        await taken(fast, 1)
        receiving = Receiving(fast, group)
        await anyio.wait_all_tasks_blocked()
        assert not receiving.done
        await (anyio.to_thread.run_sync(slow.clear) if thread else checkpoint())
        slow.clear()
        gc.collect()
        await receiving.over.wait()
        assert receiving.got == "1"


async def test_reader_of_a_task_that_is_cancelled_frees_the_others() -> None:
    """Also where nothing closes it."""
    async with opened(9, wire=sse("END")) as (_, stream), anyio.create_task_group() as group:
        shared, scope = broadcast(stream, capacity=1), anyio.CancelScope()

        async def careless() -> None:
            with scope:
                async for _event in shared.subscribe():
                    await anyio.sleep_forever()

        group.start_soon(careless)
        await anyio.wait_all_tasks_blocked()
        other = shared.subscribe()
        assert await taken(other, 1) == ["1"]
        receiving = Receiving(other, group)
        await anyio.wait_all_tasks_blocked()
        assert not receiving.done
        scope.cancel()
        await receiving.over.wait()
        assert await data_of(other) == [*numbers(3, 9), "END"]


@pytest.mark.parametrize("name", ["asyncio", "uvloop", "trio"])
@pytest.mark.parametrize("count", [0, 1])
def test_reader_may_be_dropped_when_all_is_over(name: str, count: int) -> None:
    """Nothing is done, and nothing said, once there is no loop any more."""

    async def main() -> tuple[Any, ...]:
        async with opened(2) as (_, stream):
            readers = tee(stream, 2)
            await taken(readers[0], count)
            return readers

    readers = run(name, main)
    del readers
    gc.collect()


async def test_end_waits_for_nobody_once_it_is_known() -> None:
    """A reader at its end is not held up by one that has not come so far."""
    async with opened(3, wire=sse("END")) as (_, stream):
        fast, slow = tee(stream, 2, capacity=4)
        assert await data_of(fast) == [*numbers(0, 3), "END"]
        assert isinstance(fast.outcome, Completed)
        assert slow.outcome is None
        assert await data_of(slow) == [*numbers(0, 3), "END"]


# --- drop_oldest ----------------------------------------------------------------


@CAPACITIES
@pytest.mark.parametrize("beyond", [0, 1, 2, 50])
async def test_oldest_events_are_dropped(capacity: int, beyond: int) -> None:
    """Those within capacity are kept; the gap is counted, before the event behind it."""
    count = capacity + beyond
    async with opened(count, wire=sse()) as (_, stream):
        fast, slow = tee(stream, 2, slow="drop_oldest", capacity=capacity)
        assert await taken(fast, count) == numbers(0, count)
        assert slow.dropped == beyond
        assert await data_of(slow.events()) == numbers(beyond, count)
        assert slow.dropped == beyond
        assert fast.dropped == 0
        assert slow.outcome.position.events == capacity


async def test_each_gap_is_counted_where_it_is() -> None:
    async with opened(30, wire=sse("END")) as (_, stream):
        fast, slow = tee(stream, 2, slow="drop_oldest", capacity=2)
        seen = []
        for ahead in (3, 1, 1, 10):
            await taken(fast, ahead)
            seen.append((*await taken(slow, 1), slow.dropped))
        assert seen == [("1", 1), ("2", 1), ("3", 1), ("13", 10)]
        await fast.aclose()
        assert await data_of(slow.events()) == [*numbers(14, 30), "END"]


async def test_reader_that_lost_events_is_not_complete() -> None:
    """It is loud about it, although the stream is complete and so is its value."""
    async with opened(9, wire=sse("END")) as (_, stream):
        fast, slow = tee(stream, 2, slow="drop_oldest", capacity=3)
        assert len(await data_of(fast)) == 10
        with pytest.raises(StreamInterrupted, match="The reader lost 7 events; raise") as end:
            await data_of(slow)
    assert isinstance(stream.outcome, Completed)
    assert isinstance(fast.outcome, Completed)
    assert is_interrupted(slow.outcome, Cause.CANCELLED)
    assert isinstance(slow.outcome.error, EventsDropped)
    assert slow.outcome.partial == stream.outcome.value
    assert slow.outcome.position.events == 3
    assert end.value.__cause__ is slow.outcome.error


async def test_bad_end_of_the_stream_goes_before_lost_events() -> None:
    """What was cut is said to be cut."""
    async with opened(9, wire=b"data: torn") as (_, stream):
        fast, slow = tee(stream, 2, slow="drop_oldest", capacity=3)
        await data_of(fast.events())
        await data_of(slow.events())
    assert is_interrupted(slow.outcome, Cause.EOF)
    assert slow.dropped == 6


# --- evict ----------------------------------------------------------------------


@CAPACITIES
async def test_reader_too_far_behind_is_evicted(capacity: int) -> None:
    """At capacity it is still there; one event more ends it, and it alone."""
    async with opened(capacity + 1, wire=sse("END")) as (_, stream):
        fast, slow = tee(stream, 2, slow="evict", capacity=capacity)
        await taken(fast, capacity)
        assert slow.outcome is None
        await taken(fast, 1)
        assert is_interrupted(slow.outcome, Cause.CANCELLED)
        with pytest.raises(StreamInterrupted, match=f"more than {capacity} events behind"):
            await slow.receive()
        assert isinstance(slow.outcome.error, ReaderEvicted)
        assert slow.outcome.position.events == slow.dropped == 0
        assert await data_of(fast) == ["END"]
        assert isinstance(fast.outcome, Completed)


async def test_evicted_reader_stays_evicted() -> None:
    """Whatever becomes of the stream, and if it is left."""
    async with opened(9, wire=sse("END")) as (_, stream):
        fast, slow = tee(stream, 2, slow="evict", capacity=2)
        async with slow:
            assert await taken(slow, 0) == []
            await taken(fast, 1)
            assert await taken(slow, 1) == ["0"]
            await taken(fast, 5)
            assert await data_of(slow.events()) == []
            evicted = slow.outcome
            assert await data_of(fast) == ["6", "7", "8", "END"]
            with pytest.raises(StreamInterrupted):
                await slow.receive()
        assert slow.outcome is evicted
        assert isinstance(evicted, Interrupted)
        assert evicted.position.events == 1
        with pytest.raises(anyio.ClosedResourceError):
            await slow.receive()


async def test_evicted_reader_that_only_leaves_was_evicted() -> None:
    """It had been ended before it was left."""
    async with opened(9) as (_, stream):
        fast, slow = tee(stream, 2, slow="evict", capacity=2)
        async with slow:
            await taken(fast, 5)
    assert isinstance(slow.outcome.error, ReaderEvicted)


# --- all of them ----------------------------------------------------------------


@pytest.mark.parametrize("slow", ["drop_oldest", "evict"])
@pytest.mark.parametrize("batch", [1, 10, 1000])
async def test_reader_that_only_waits_to_run_is_not_slow(slow: Any, batch: int) -> None:
    """However many events come at once, whoever does nothing but receive receives them all."""
    async with opened(*[batch] * (1000 // batch), wire=sse("END")) as (_, stream):
        readers = tee(stream, 5, slow=slow, capacity=2)
        seen: list[list[str]] = []

        async def read(reader: Any) -> None:
            seen.append(await data_of(reader))

        async with anyio.create_task_group() as group:
            for reader in readers:
                group.start_soon(read, reader)
    assert seen == [[*numbers(0, 1000), "END"]] * 5


async def test_each_reader_may_have_its_own_policy() -> None:
    """One that must see all holds up those that need not, and is not held up by them."""
    async with opened(50, wire=sse("END")) as (_, stream), anyio.create_task_group() as group:
        shared = broadcast(stream, slow="evict", capacity=4)
        evicted = shared.subscribe()
        dropping = shared.subscribe(slow="drop_oldest")
        recorder = shared.subscribe(slow="block")
        assert await taken(recorder, 4) == numbers(0, 4)
        assert evicted.outcome is None
        assert await taken(recorder, 1) == ["4"]
        assert isinstance(evicted.outcome, Interrupted)
        assert await taken(dropping, 4) == numbers(1, 5)
        assert await taken(dropping, 4) == numbers(5, 9)
        receiving = Receiving(dropping, group)
        await anyio.wait_all_tasks_blocked()
        assert not receiving.done
        assert await data_of(recorder) == [*numbers(5, 50), "END"]


# --- on a real socket -----------------------------------------------------------


@on_sockets
@pytest.mark.parametrize(("size", "capacity"), [(300, 16), (300, 200), (300_000, 3)])
async def test_stalled_reader_holds_a_peer_back(size: int, capacity: int) -> None:
    """A peer that tries to send 256 MiB gets as far as the stream alone, and `capacity` events."""
    sender, frame = Sender(256 * MIB, size), len(sse("x" * size))
    async with anyio.create_task_group() as group:
        source = await _connect(sender, group)
        async with open_stream(source, Sse(sentinel="END")) as stream:
            fast, slow = tee(stream, 2, capacity=capacity)
            await taken(fast, capacity)
            receiving = Receiving(fast, group)
            await sender.until_blocked()
            assert not receiving.done
            assert not sender.over.is_set()
            assert source.taken <= ahead(65536, frame) + capacity * frame
            before = source.taken
            await slow.aclose()
            await taken_all(receiving)
            await taken(fast, 2 * 65536 // frame + 2)
            await sender.until_blocked()
            assert source.taken > before
        await sender.over.wait()


async def taken_all(receiving: Receiving) -> None:
    while not receiving.done:
        await checkpoint()
    assert receiving.got is not None


@on_sockets
async def test_peer_goes_on_when_the_slow_reader_does() -> None:
    """After the stall all arrives in full, at both readers."""
    sender, sizes = Sender(4 * MIB, 5000), {}
    async with anyio.create_task_group() as outer:
        source = await _connect(sender, outer)
        async with open_stream(source, Sse(sentinel="END")) as stream:
            readers = tee(stream, 2)

            async def read(index: int) -> None:
                await sender.until_blocked() if index else None
                sizes[index] = sum([len(sse(event.data)) async for event in readers[index]])

            async with anyio.create_task_group() as group:
                group.start_soon(read, 0)
                group.start_soon(read, 1)
    assert sizes[0] == sizes[1] == sender.rounds * len(sender.block) + len(sse("END"))
