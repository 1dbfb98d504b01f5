"""A reader is used as an `EventStream` is, and says the same."""

from __future__ import annotations

from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from flow.backends import in_virtual_time, on_sockets
from flow.sources import DIALECT, Steps, data_of, is_interrupted, sse

import untorn
from untorn import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Interrupted,
    Position,
    StreamFailed,
    StreamInterrupted,
    broadcast,
    open_stream,
    tee,
)
from untorn.broadcast import SharedStream, Slow
from untorn.dialects import Sse
from untorn.testing import FaultySource, Reset

from .supply import Receiving, now, numbers, opened, taken

pytestmark = pytest.mark.anyio

BAD = b"data: " + b"\xff\n\n"
ENDS: dict[str, dict[str, Any]] = {
    "completed": {"wire": sse("a", "b", "END")},
    "EOF": {"wire": sse("a", "b")},
    "torn": {"wire": sse("a", "b") + b"data: \xe4"},
    "reset": {"wire": sse("a", "b"), "faults": [Reset()]},
    "failed": {"wire": sse("a", "b") + BAD},
    "empty": {"wire": b""},
}


def source(kind: str) -> FaultySource:
    return FaultySource(**ENDS[kind])


def dialect() -> Sse:
    return Sse(sentinel="END", errors="strict")


async def alone(kind: str) -> tuple[list[str], Any]:
    """Return what one consumer sees of a stream that is not shared."""
    async with open_stream(source(kind), dialect()) as stream:
        return await data_of(stream.events()), stream.outcome


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("slow", ["block", "drop_oldest", "evict"])
@pytest.mark.parametrize("n", [1, 2, 5])
async def test_every_reader_sees_what_one_alone_sees(kind: str, slow: Any, n: int) -> None:
    """The same events and an equal outcome, to the position, for every end and policy."""
    events, outcome = await alone(kind)
    seen: dict[int, list[str]] = {}
    async with open_stream(source(kind), dialect()) as stream:
        readers = tee(stream, n, slow=slow)

        async def read(index: int) -> None:
            seen[index] = await data_of(readers[index].events())

        async with anyio.create_task_group() as group:
            for index in range(n):
                group.start_soon(read, index)
    assert seen == dict.fromkeys(range(n), events)
    for reader in readers:
        assert described(reader.outcome) == described(outcome)
        assert reader.dropped == reader.skipped == 0


def described(outcome: Any) -> tuple[Any, ...]:
    """Return what can be compared: exceptions cannot."""
    cause, torn = getattr(outcome, "cause", None), getattr(outcome, "torn", None)
    value = outcome.value if isinstance(outcome, Completed) else outcome.partial
    error = repr(getattr(outcome, "error", None))
    return type(outcome), cause, torn, error, value, outcome.position


@pytest.mark.parametrize(
    ("kind", "error"),
    [("EOF", StreamInterrupted), ("reset", StreamInterrupted), ("failed", StreamFailed)],
)
async def test_bad_end_is_loud_for_each_reader(kind: str, error: type[Exception]) -> None:
    """Each has its own exception, with its own outcome, behind its own last event."""
    async with open_stream(source(kind), dialect()) as stream:
        readers = tee(stream, 2)
        raised = []
        for reader in readers:
            assert await taken(reader, 2) == ["a", "b"]
            assert reader.outcome is None
            with pytest.raises(error) as caught:
                await reader.receive()
            with pytest.raises(error) as again:  # it is sticky
                await reader.receive()
            assert again.value.outcome is caught.value.outcome is reader.outcome
            raised.append(caught.value)
    assert raised[0] is not raised[1]


async def test_end_of_a_completed_stream_is_sticky() -> None:
    async with opened(1, wire=sse("END")) as (_, stream):
        (reader,) = tee(stream, 1)
        assert await data_of(reader) == ["0", "END"]
        assert await data_of(reader) == []
        for _ in range(2):
            with pytest.raises(anyio.EndOfStream):
                await reader.receive()


async def test_completing_event_completes_whoever_has_received_it() -> None:
    """And nobody else, although the stream is complete."""
    async with opened(1, wire=sse("END")) as (_, stream):
        async with broadcast(stream).subscribe() as first:
            async with tee(stream, 1)[0]:
                pass
            assert await taken(first, 2) == ["0", "END"]
        assert isinstance(first.outcome, Completed)
        assert isinstance(stream.outcome, Completed)


async def test_reader_that_leaves_before_the_completing_event_is_not_complete() -> None:
    """The partial value is whole by then, and yet it has not seen it all."""
    async with opened(1, wire=sse("END")) as (_, stream):
        first, second = tee(stream, 2)
        assert await taken(first, 2) == ["0", "END"]
        async with second:
            assert await taken(second, 1) == ["0"]
            assert second.outcome is None
    assert isinstance(first.outcome, Completed)
    assert is_interrupted(second.outcome, Cause.ABANDONED)
    assert second.outcome.position.events == 1


async def test_completion_that_makes_no_event_is_seen_by_asking_on() -> None:
    """However far ahead the others are: whether they are must make no difference."""
    dialect = untorn.dialects.TextSse(sentinel="END")
    async with open_stream(FaultySource(sse("a", "END")), dialect) as stream:
        first, second = tee(stream, 2)
        assert [event.text async for event in first] == ["a"]
        assert (await second.receive()).text == "a"
        assert second.outcome is None
        assert [event.text async for event in second] == []
        assert second.outcome == first.outcome == stream.outcome


@pytest.mark.parametrize("left", [0, 1, 3])
async def test_reader_that_leaves_is_abandoned_alone(left: int) -> None:
    """It says what it has received; the others go on to the end."""
    async with opened(3, wire=sse("END")) as (_, stream):
        first, second = tee(stream, 2)
        async with first:
            await taken(first, left)
        assert is_interrupted(first.outcome, Cause.ABANDONED)
        assert first.outcome.position.events == left
        assert first.outcome.retry_safe is (left == 0)
        assert first.outcome.torn is Boundary.MESSAGE
        assert await data_of(second) == [*numbers(0, 3), "END"]
        assert isinstance(second.outcome, Completed)
        with pytest.raises(anyio.ClosedResourceError):
            await first.receive()


async def test_position_of_a_reader_that_leaves_is_that_of_the_stream() -> None:
    """Bytes and frames are what the stream has read, events what the reader has."""
    async with opened(3) as (_, stream):
        first, second = tee(stream, 2)
        await taken(first, 3)
        await second.aclose()
        await first.aclose()
    assert first.outcome.position == Position(len(sse(*"012")), 3, 3)
    assert second.outcome.position == Position(len(sse(*"012")), 3, 0)


@in_virtual_time
async def test_reader_that_is_cancelled_is_cancelled_alone() -> None:
    """The cancellation is not swallowed, and the rest goes on."""
    async with opened(2) as (supply, stream):
        first, second = tee(stream, 2)
        with anyio.move_on_after(5) as scope:
            async with first:
                await data_of(first)
        assert scope.cancelled_caught
        assert is_interrupted(first.outcome, Cause.CANCELLED)
        assert first.outcome.position.events == 2
        supply.end(sse("END"))
        assert await data_of(second) == ["0", "1", "END"]


async def test_exception_of_the_body_comes_out_bare() -> None:
    error = KeyError("mine")
    async with opened(1) as (_, stream):
        (reader,) = tee(stream, 1)
        with pytest.raises(KeyError) as raised:
            async with reader:
                raise error
    assert raised.value is error
    assert is_interrupted(reader.outcome, Cause.ABANDONED)


async def test_closing_wakes_who_waits_and_who_leads() -> None:
    """From another task; those that wait go on, and lose nothing."""
    async with opened() as (supply, stream), anyio.create_task_group() as group:
        readers, receiving = tee(stream, 4), []
        for reader in readers:
            receiving.append(Receiving(reader, group))
            await anyio.wait_all_tasks_blocked()
        for index in (0, 2, 1):  # the one that leads, one that waits, the one that leads now
            await readers[index].aclose()
            await anyio.wait_all_tasks_blocked()
            assert isinstance(receiving[index].error, anyio.ClosedResourceError)
            assert is_interrupted(readers[index].outcome, Cause.ABANDONED)
        assert not receiving[3].done
        supply.feed(1)
        await anyio.wait_all_tasks_blocked()
        assert receiving[3].got == "0"


async def test_closing_twice_changes_nothing() -> None:
    async with opened(1) as (_, stream):
        (reader,) = tee(stream, 1)
        async with reader:
            await reader.aclose()
            outcome = reader.outcome
            await reader.aclose()
        assert reader.outcome is outcome


async def test_second_receiver_of_one_reader_is_refused() -> None:
    async with opened() as (supply, stream), anyio.create_task_group() as group:
        first, second = tee(stream, 2)
        receiving = Receiving(first, group)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(anyio.BusyResourceError):
            await first.receive()
        with pytest.raises(anyio.BusyResourceError):
            await stream.receive()
        supply.feed(1)
        assert await taken(second, 1) == ["0"]
        await anyio.wait_all_tasks_blocked()
        assert receiving.got == "0"


async def test_late_reader_begins_with_the_next_event() -> None:
    """It says how many had gone by, and its position counts its own."""
    async with opened(3, wire=sse("END")) as (_, stream):
        shared = broadcast(stream)
        first = shared.subscribe()
        await taken(first, 2)
        late = shared.subscribe()
        assert late.skipped == 2
        assert await data_of(late) == ["2", "END"]
        assert await data_of(first) == ["2", "END"]
        assert late.outcome.position.events == 2
        assert first.outcome.position.events == 4
        last = shared.subscribe()
        assert last.skipped == 4
        assert await data_of(last) == []
        assert isinstance(last.outcome, Completed)


async def test_nothing_is_received_while_nobody_asks() -> None:
    """Neither without a reader, nor once all have left; what is left is the stream's."""
    async with opened(2, wire=sse("END")) as (_, stream):
        shared = broadcast(stream)
        await anyio.wait_all_tasks_blocked()
        async with shared.subscribe() as reader:
            assert await taken(reader, 1) == ["0"]
        await anyio.wait_all_tasks_blocked()
        assert await data_of(stream) == ["1", "END"]


async def test_stream_that_is_left_ends_its_readers() -> None:
    """What was received before is still there; then they hear that it was left."""
    async with opened(5) as (_, stream):
        ahead, behind, fresh = tee(stream, 3)
        await taken(ahead, 2)
    assert await data_of(behind.events()) == ["0", "1"]
    for reader, count in ((ahead, 0), (behind, 0), (fresh, 2)):
        await taken(reader, count)
        with pytest.raises(StreamInterrupted, match="The consumer left"):
            await reader.receive()
        assert is_interrupted(reader.outcome, Cause.ABANDONED)
        assert reader.outcome.position.events == 2


async def test_stream_that_is_closed_wakes_who_receives() -> None:
    async with opened() as (_, stream), anyio.create_task_group() as group:
        receiving = [Receiving(reader, group) for reader in tee(stream, 3)]
        await anyio.wait_all_tasks_blocked()
        await stream.aclose()
        await anyio.wait_all_tasks_blocked()
        assert [type(one.error) for one in receiving] == [StreamInterrupted] * 3


@pytest.mark.parametrize("fatal", [KeyboardInterrupt, SystemExit])
async def test_what_is_the_hosts_business_comes_out_bare(fatal: type[BaseException]) -> None:
    """Once, in the reader that happened to receive; the others hear that the stream ended."""
    async with open_stream(Steps(sse("a"), fatal("stop")), DIALECT) as stream:
        first, second = tee(stream, 2)
        assert await taken(first, 1) == ["a"]
        with pytest.raises(fatal, match="stop"):
            await first.receive()
        assert isinstance(first.outcome, Interrupted)
        assert isinstance(first.outcome.error, fatal)
        with pytest.raises(StreamInterrupted):
            await first.receive()
        assert await data_of(second.events()) == ["a"]
        assert described(second.outcome) == described(first.outcome)


async def test_value_is_the_streams() -> None:
    dialect = untorn.dialects.TextSse()
    async with open_stream(FaultySource(sse("a", "b")), dialect) as stream:
        first, second = tee(stream, 2)
        await first.receive()
        assert first.value == second.value == stream.value
        assert first.value.startswith("a")


class _Bare:
    """The least that can be shared."""

    def __init__(self, count: int, partial: Any = "") -> None:
        self.left, self.partial = count, partial
        self.outcome: Any = None

    @property
    def value(self) -> Any:
        if isinstance(self.partial, Exception):
            raise self.partial
        return self.partial

    async def receive(self) -> int:
        await anyio.lowlevel.checkpoint()
        if not self.left:
            self.outcome = Failed(untorn.StreamFault("bad"), "", Position(9, 9, 9))
            raise StreamFailed(self.outcome)
        self.left -= 1
        return self.left


async def test_what_is_no_event_stream_can_be_shared() -> None:
    """`receive()`, `outcome` and `value` are enough; where it is, it may not be able to say."""
    first, second = tee(_Bare(3), 2)
    assert [await first.receive() for _ in range(3)] == [2, 1, 0]
    await second.aclose()
    assert second.outcome.position == Position(0, 0, 0)
    assert second.extra_attributes == {}
    with pytest.raises(StreamFailed):
        await first.receive()
    assert first.outcome.position == Position(9, 9, 3)


async def test_a_reader_has_the_counts_of_the_stream_and_its_own_events() -> None:
    """What was read for all is counted for each; of events it counts those it has received."""
    async with opened(3) as (_, stream):
        first, second = tee(stream, 2)
        await taken(first, 3)
        await taken(second, 1)
        assert first.statistics() == stream.statistics()
        assert first.statistics().bytes == 3 * len(sse("0"))
        assert second.statistics() == replace(stream.statistics(), events=1)


async def test_a_reader_of_what_counts_less_counts_no_more() -> None:
    """Zeros stand for what nobody has counted, and its own events are its own."""
    reader, _ = tee(_Bare(3), 2)
    await reader.receive()
    counted = asdict(reader.statistics())
    assert {name: count for name, count in counted.items() if count} == {"events": 1}

    class Counting(_Bare):
        def statistics(self) -> Any:
            return SimpleNamespace(bytes=7, frames=5)

    (reader,) = tee(Counting(3, None), 1)
    counted = reader.statistics()
    assert (counted.bytes, counted.frames, counted.events) == (7, 5, 0)


async def test_leaving_a_stream_whose_value_is_broken_frees_the_others() -> None:
    first, second = tee(_Bare(3, ValueError("a bug of the dialect")), 2, capacity=1)
    assert await first.receive() == 2
    await second.aclose()
    assert second.outcome.partial is None
    assert await first.receive() == 1


async def test_readers_can_be_shared_in_their_turn() -> None:
    """A reader is what can be shared."""
    async with opened(3, wire=sse("END")) as (_, stream):
        first, second = tee(stream, 2)
        inner = tee(first, 2)
        assert await data_of(inner[0]) == [*numbers(0, 3), "END"]
        assert await data_of(second) == [*numbers(0, 3), "END"]
        assert await data_of(inner[1]) == [*numbers(0, 3), "END"]
        assert inner[0].outcome == inner[1].outcome == second.outcome == stream.outcome


async def test_reader_knows_the_attributes_of_the_source() -> None:
    send, receive = anyio.create_memory_object_stream[bytes](1)
    with send:
        async with open_stream(receive, DIALECT) as stream:
            (reader,) = tee(stream, 1)
            assert reader.extra_attributes is not None
            assert dict(reader.extra_attributes) == dict(stream.extra_attributes)


@on_sockets
async def test_reader_may_be_made_where_no_loop_runs() -> None:
    """It looks for one only when it has to wait."""
    async with opened(1, wire=sse("END")) as (_, stream):
        readers = await anyio.to_thread.run_sync(tee, stream, 2)
        assert await data_of(readers[0]) == await data_of(readers[1]) == ["0", "END"]


@pytest.mark.parametrize("n", [0, -1, 1.0, "2", True, None])
def test_number_of_readers_is_checked(n: Any) -> None:
    with pytest.raises(ValueError, match="at least 1, not"):
        tee(_Bare(0), n)


@pytest.mark.parametrize("capacity", [0, -1, 1.5, "16", True, None])
def test_capacity_is_checked(capacity: Any) -> None:
    with pytest.raises(ValueError, match="capacity is a number of events, at least 1, not"):
        broadcast(_Bare(0), capacity=capacity)


@pytest.mark.parametrize("slow", ["drop", "", None, 3])
def test_policy_is_checked(slow: Any) -> None:
    with pytest.raises(ValueError, match="one of 'block', 'drop_oldest', 'evict'; not"):
        broadcast(_Bare(0), slow=slow)
    if slow is not None:
        with pytest.raises(ValueError, match="one of"):
            broadcast(_Bare(0)).subscribe(slow=slow)


def test_stream_is_checked() -> None:
    """Above all a stream that is not entered yet is no stream."""
    for wrong in (open_stream(Steps(), DIALECT), Steps(), None):
        with pytest.raises(TypeError, match=r"Not a stream of events: .*open_stream"):
            broadcast(wrong)  # type: ignore[arg-type]


async def test_leaving_waits_for_nothing() -> None:
    """It needs no turn of the loop, and cannot be cancelled itself."""
    async with opened(1) as (_, stream):
        (reader,) = tee(stream, 1)
        now(reader.aclose())
        assert reader.outcome is not None


async def test_reader_that_leaves_a_broken_stream_says_what_broke_it() -> None:
    """It has not seen the end; but what is known of it is not lost."""
    wire = sse("a") + b"data: \xe4"
    async with open_stream(FaultySource(wire, faults=[Reset()]), DIALECT) as stream:
        first, second = tee(stream, 2)
        await data_of(first.events())
        await second.aclose()
    assert is_interrupted(second.outcome, Cause.ABANDONED)
    assert second.outcome.torn is first.outcome.torn is Boundary.CHARACTER
    assert second.outcome.error is first.outcome.error is stream.outcome.error
    assert second.outcome.position == Position(len(wire), 1, 0)


class _Silent(_Bare):
    """A stream that says nothing, until it ends."""

    def __init__(self) -> None:
        super().__init__(0)
        self.over = anyio.Event()

    async def receive(self) -> int:
        await self.over.wait()
        return await super().receive()


async def test_cancelled_reader_has_not_seen_the_end() -> None:
    """If the stream is closed in the same turn, the next who asks is told."""
    stream = _Silent()
    first, second = tee(stream, 2)
    async with anyio.create_task_group() as group:
        receiving = []
        for reader in (first, second):
            receiving.append(Receiving(reader, group))
            await anyio.wait_all_tasks_blocked()
        stream.outcome = Interrupted(Cause.ABANDONED, Boundary.MESSAGE, None, "", Position(1, 1, 0))
        receiving[0].scope.cancel()
    assert first.outcome is None
    assert isinstance(receiving[1].error, StreamInterrupted)
    with pytest.raises(StreamInterrupted):
        await first.receive()
    assert first.outcome == second.outcome == stream.outcome


async def test_end_reaches_all_at_once() -> None:
    """In a few turns, and not in as many as there are readers."""
    stream = _Silent()
    async with anyio.create_task_group() as group:
        receiving = [Receiving(reader, group) for reader in tee(stream, 100)]
        await anyio.wait_all_tasks_blocked()
        stream.over.set()
        for _ in range(8):
            await anyio.lowlevel.checkpoint()
        assert all(isinstance(one.error, StreamFailed) for one in receiving)


async def test_reader_that_was_cancelled_while_it_waited_is_no_longer_asked_to_lead() -> None:
    """Its turn is the next one's."""
    async with opened() as (supply, stream), anyio.create_task_group() as group:
        receiving = []
        for reader in tee(stream, 4):
            receiving.append(Receiving(reader, group))
            await anyio.wait_all_tasks_blocked()
        for index in (1, 0):  # the first of those that wait, then the one that leads
            receiving[index].scope.cancel()
            await anyio.wait_all_tasks_blocked()
        supply.feed(1)
        await anyio.wait_all_tasks_blocked()
        assert [one.got for one in receiving] == [None, None, "0", "0"]


def shared(stream: SharedStream[int, int], slow: Slow) -> untorn.Broadcast[int, int]:
    """Share what need not be an `EventStream`: so the types are written."""
    return broadcast(stream, slow=slow)


async def test_what_keeps_the_promises_of_a_stream_can_be_shared() -> None:
    """A stream of somebody's own has no statistics, and ends as its outcome says."""

    class Own:
        value = 0
        outcome: untorn.Outcome[int] | None = None

        async def receive(self) -> int:
            self.value += 1
            if self.value == 2:
                self.outcome = Completed(self.value, "2", Position(0, 0, 0))
            return self.value

    async with shared(Own(), "block").subscribe() as own:
        assert [event async for event in own] == [1, 2]
    assert isinstance(own.outcome, Completed)
    assert own.outcome.position.events == 2
