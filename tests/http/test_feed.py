"""The members of a feed: what `receive()` promises, and every way to end or leave one."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from feeds import Service, answer, short
from flow.backends import in_virtual_time, living

from untorn import (
    Cause,
    Completed,
    Failed,
    Interrupted,
    Reducer,
    StageError,
    StreamInterrupted,
)
from untorn.dialects import Sse, SseState
from untorn.http import Connected, NotResumable, Reconnecting, messages

pytestmark = [pytest.mark.anyio, in_virtual_time]

ONE, TWO, END = b"id: 1\ndata: a\n\n", b"id: 2\ndata: b\n\n", b"data: END\n\n"


def two_connections(**options: Any) -> Service:
    return Service(answer(ONE), answer(2.0, TWO, END), **options)


async def test_the_end_is_sticky() -> None:
    """Asked again, a completed feed gives the same answer; behind its block it is closed."""
    async with Service(answer(ONE, END)).connect() as feed:
        for _ in range(3):
            await feed.receive()
        assert isinstance(feed.outcome, Completed)
        for _ in range(3):
            with pytest.raises(anyio.EndOfStream):
                await feed.receive()
            with pytest.raises(StopAsyncIteration):
                await anext(feed)
    with pytest.raises(anyio.ClosedResourceError):
        await feed.receive()


async def test_a_bad_end_is_raised_each_time() -> None:
    """And `events()` ends quietly each time."""
    async with Service(answer(b"data: a\n\n")).connect() as feed:
        assert [short(event) async for event in feed.events()] == ["<1>", "a"]
        for _ in range(2):
            with pytest.raises(StreamInterrupted, match="no ids"):
                await feed.receive()
        assert [event async for event in feed.events()] == []
    assert isinstance(feed.outcome, Interrupted)
    assert isinstance(feed.outcome.error, NotResumable)


async def test_a_feed_is_opened_once() -> None:
    opening = Service(answer(END)).connect()
    async with opening:
        pass
    with pytest.raises(RuntimeError, match="once for each"):
        async with opening:
            pass


async def test_nothing_is_sent_before_it_is_asked_for() -> None:
    """A block that is left at once has touched nothing; its outcome is set."""
    service = Service(answer(END))
    async with service.connect(last_event_id="7") as feed:
        assert feed.outcome is None and feed.value == SseState("7")
        await anyio.sleep(1)
    assert service.requests == []
    assert isinstance(feed.outcome, Interrupted)
    assert feed.outcome.cause is Cause.ABANDONED and feed.outcome.retry_safe


@pytest.mark.parametrize("taken", range(6))
async def test_leaving_closes_everything(taken: int) -> None:
    """After whatever was received: no task is left, the response is closed, the outcome set."""
    service = two_connections()
    alive = living()
    async with service.connect() as feed:
        for _ in range(taken):
            await feed.receive()
    assert living() == alive
    assert all(response.is_closed for response in service.given)
    assert isinstance(feed.outcome, Completed if taken == 6 else Interrupted)
    assert feed.outcome.cause is Cause.ABANDONED
    assert feed.outcome.position.events == [0, 0, 1, 1, 1, 2][taken]
    with pytest.raises(anyio.ClosedResourceError):
        await anext(feed)


async def test_what_the_body_raises_comes_out_bare() -> None:
    error = ValueError("mine")
    with pytest.raises(ValueError) as raised:
        async with two_connections().connect() as feed:
            await feed.receive()
            raise error
    assert raised.value is error
    assert feed.outcome.cause is Cause.ABANDONED


@pytest.mark.parametrize("after", [0.5, 2.5, 4.0, 6.0])
async def test_a_cancellation_is_told_apart(after: float) -> None:
    """Before the answer, while it waits for the next attempt, or for an event."""
    service = two_connections(seconds=1.0)
    with anyio.move_on_after(after) as scope:
        async with service.connect() as feed:
            async for _ in feed:
                pass
    assert scope.cancelled_caught
    assert isinstance(feed.outcome, Interrupted) and feed.outcome.cause is Cause.CANCELLED


async def _drain(feed: Any, seen: list[Any]) -> None:
    async for event in feed:
        seen.append(event)  # noqa: PERF401 - to be seen as they come


async def test_a_second_receiver_is_refused() -> None:
    """Whatever the first waits for; it goes on undisturbed."""
    service, seen = two_connections(seconds=1.0), []
    async with service.connect() as feed, anyio.create_task_group() as group:
        group.start_soon(_drain, feed, seen)
        for _ in range(6):  # in the midst of each second
            await anyio.sleep(0.5)
            with pytest.raises(anyio.BusyResourceError):
                await feed.receive()
            await anyio.sleep(0.5)
    assert len(seen) == 6 and isinstance(feed.outcome, Completed)


async def _until_closed(feed: Any) -> None:
    with pytest.raises(anyio.ClosedResourceError):
        await _drain(feed, [])


@pytest.mark.parametrize("after", [0.5, 1.5, 3.5, 4.5, 5.5])
async def test_aclose_wakes_the_receiver(after: float) -> None:
    """From another task, and twice, whatever the receiver waits for."""
    service = two_connections(seconds=1.0)
    seen, alive = [], living()

    async def receive(feed: Any) -> None:
        with pytest.raises(anyio.ClosedResourceError):
            await _drain(feed, seen)
        assert feed.outcome.cause is Cause.ABANDONED

    async with service.connect() as feed:
        async with anyio.create_task_group() as group:
            group.start_soon(receive, feed)
            await anyio.sleep(after)
            await feed.aclose()
            await feed.aclose()
            assert isinstance(feed.outcome, Interrupted)
        assert living() == alive
    assert len(seen) == {0.5: 0, 1.5: 3, 3.5: 3, 4.5: 3, 5.5: 4}[after]
    assert anyio.current_time() == after


async def test_aclose_on_the_way_into_a_connection() -> None:
    """At each of the turns that the receiver takes to get there."""
    for turns in range(12):
        alive = living()
        async with two_connections().connect() as feed:
            async with anyio.create_task_group() as group:
                group.start_soon(_until_closed, feed)
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                await feed.aclose()
            assert living() == alive
        assert isinstance(feed.outcome, Interrupted)


async def test_a_ctrl_c_in_the_source_is_the_hosts() -> None:
    """It is raised once, bare, and nothing is tried again."""
    service = Service(answer(ONE, KeyboardInterrupt()), answer(END))
    async with service.connect() as feed:
        with pytest.raises(KeyboardInterrupt):
            async for _ in feed:
                pass
        assert feed.outcome.cause is Cause.TRANSPORT
        with pytest.raises(StreamInterrupted):
            await feed.receive()
    assert len(service.requests) == 1


async def test_messages_are_the_events_alone() -> None:
    """They end as the feed does."""
    async with two_connections().connect() as feed:
        assert [event.data async for event in messages(feed)] == ["a", "b", "END"]
    async with Service(answer(b"data: a\n\n")).connect() as feed:
        with pytest.raises(StreamInterrupted):
            [event async for event in messages(feed)]


async def test_notices_say_what_happened() -> None:
    async with two_connections().connect() as feed:
        connected, _, reconnecting, again = [await feed.receive() for _ in range(4)]
    assert connected == Connected(attempt=1, resumed_from=None)
    assert isinstance(reconnecting, Reconnecting)
    assert (reconnecting.attempt, reconnecting.delay) == (1, 3.0)
    assert reconnecting.last_event_id == "1"
    assert isinstance(reconnecting.outcome, Interrupted)
    assert reconnecting.outcome.cause is Cause.EOF
    assert reconnecting.reason == (
        "The transport ended at byte 15, between frames, before the completion marker"
    )
    assert again == Connected(attempt=1, resumed_from="1")


async def test_connected_comes_with_the_head() -> None:
    """Not with the first event, which may be hours away."""
    async with Service(answer(3600.0, END), seconds=1.0).connect() as feed:
        assert isinstance(await feed.receive(), Connected)
        assert anyio.current_time() == 1.0
        assert (await feed.receive()).data == "END"
        assert anyio.current_time() == 3601.0


async def test_a_task_group_of_the_caller_has_the_tasks() -> None:
    """Those of each connection; where it is cancelled, the feed ends, and is not resumed."""
    service = two_connections()
    async with anyio.create_task_group() as group:
        with anyio.CancelScope(shield=True):
            async with service.connect(task_group=group) as feed:
                seen = [short(await feed.receive()) for _ in range(4)]
                assert seen == ["<1>", "a", "<1 in 3>", "<1 from 1>"]
                group.cancel_scope.cancel()
                with pytest.raises(StreamInterrupted, match="cancelled"):
                    await feed.receive()
    assert feed.outcome.cause is Cause.CANCELLED
    assert len(service.requests) == 2 and all(each.is_closed for each in service.given)


async def test_a_feed_in_a_task_group_is_read_to_its_end() -> None:
    """No task of it is left in the group."""
    service, alive = two_connections(), living()
    async with anyio.create_task_group() as group, service.connect(task_group=group) as feed:
        seen = [short(event) async for event in feed]
        assert living() == alive
    assert seen == ["<1>", "a", "<1 in 3>", "<1 from 1>", "b", "END"]


async def test_a_task_group_that_is_over_is_refused() -> None:
    """By the first receive; nothing was sent, and the block may be left."""
    async with anyio.create_task_group() as group:
        pass
    service = two_connections()
    async with service.connect(task_group=group) as feed:
        for _ in range(2):
            with pytest.raises(RuntimeError):
                await feed.receive()
    assert service.requests == [] and feed.outcome.cause is Cause.ABANDONED


class _Valueless(Sse):
    """A dialect with a bug: behind an event, its reducer has no value to show."""

    def reducer(self, limits: Any) -> Any:
        return _Broken(super().reducer(limits))


class _Broken(Reducer[Any, Any]):
    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._fed = False

    @property
    def value(self) -> Any:
        if self._fed:
            raise ZeroDivisionError
        return self._inner.value

    def feed(self, frame: Any) -> Any:
        self._fed = True
        return self._inner.feed(frame)


async def test_a_dialect_with_a_bug_ends_the_feed() -> None:
    """Once: what its value raises is the outcome, and there is no second request."""
    service = Service(answer(ONE), answer(END))
    async with service.connect(dialect=_Valueless(sentinel="END")) as feed:
        seen = [short(event) async for event in feed.events()]
    assert isinstance(feed.outcome, Failed) and isinstance(feed.outcome.error, StageError)
    assert seen == ["<1>", "a"] and len(service.requests) == 1
