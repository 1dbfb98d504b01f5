"""What came twice is dropped, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from feeds import Service
from flow.backends import in_virtual_time

from untorn import JsonEvent, Other, ServerSentEvent
from untorn.frame import CarriedId
from untorn.http import Connected, distinct, messages

pytestmark = [pytest.mark.anyio, in_virtual_time]

CONNECTED = Connected(1, "7")


def event(id: str | None, data: str = "") -> ServerSentEvent:
    return ServerSentEvent("message", data or f"of {id}", id or "")


def behind(id: str, data: str) -> ServerSentEvent:
    """Return an event without an id, on a connection that was resumed behind one."""
    return event(CarriedId(id), data)


async def kept(events: list[Any], **options: Any) -> list[Any]:
    async def feed() -> AsyncIterator[Any]:
        for each in events:
            yield each

    return [each async for each in distinct(feed(), **options)]


async def data_kept(*events: Any) -> str:
    feed = messages(_again(await kept(list(events))))
    return "".join([each.data async for each in feed])


async def _again(events: list[Any]) -> AsyncIterator[Any]:
    for each in events:
        yield each


async def test_an_id_that_was_handed_out_is_dropped() -> None:
    """Whatever else the event says now: by its id it is known."""
    again = [CONNECTED, event("7", "otherwise"), event("8")]
    assert await kept([event("6"), event("7"), *again]) == [
        event("6"), event("7"), CONNECTED, event("8"),
    ]  # fmt: skip


async def test_what_has_no_id_passes() -> None:
    """Notices, events of dialects without ids, and those before the first id."""
    events = [CONNECTED, event(None), event(None), Other("ping", ""), JsonEvent(None, 1)]
    assert await kept(events * 2) == events * 2


async def test_events_behind_an_id_are_events_of_their_own() -> None:
    """An id stays in force; as many events as carry it are handed out, equal ones too."""
    events = [event("7", "a"), event("7", "b"), event("7", "b"), event("7", "b")]
    assert await kept(events) == events


async def test_a_replay_with_the_last_event_is_dropped() -> None:
    """Inclusive: the event with the id comes again, and those behind it."""
    first = [event("7", "a"), event("7", "b")]
    again = [CONNECTED, event("7", "a"), event("7", "b"), event("7", "c"), event("8", "d")]
    assert await data_kept(*first, *again) == "abcd"
    assert await data_kept(*first, *again, *again) == "abcd"


async def test_a_replay_behind_the_last_event_is_dropped() -> None:
    """Exclusive: only those behind it, which have no id of their own."""
    first = [event("7", "a"), event("7", "b")]
    again = [CONNECTED, behind("7", "b"), behind("7", "c"), event("8", "d")]
    assert await data_kept(*first, *again) == "abcd"
    assert await data_kept(*first, *again, *again) == "abcd"


async def test_an_event_that_is_not_repeated_is_not_lost() -> None:
    """Where a service does not repeat what has no id, what comes in its place is new."""
    assert await data_kept(event("7", "a"), event("7", "b"), CONNECTED, behind("7", "x")) == "abx"


async def test_the_window_is_bounded() -> None:
    """What is further back than that is not known any more."""
    events = [event(str(number)) for number in range(5)]
    again = [CONNECTED, *events[2:]]
    assert await kept([*events, *again], window=3) == [*events, CONNECTED]
    assert await kept([*events, *again], window=2) == [*events, *again]
    stream: Any = distinct(_again([event(str(number)) for number in range(5000)]))
    assert len([each async for each in stream]) == 5000
    assert len(stream._seen) == 1024


@pytest.mark.parametrize("window", [0, -1, 1.5, "a", True, None])
async def test_a_window_that_is_none_is_refused(window: Any) -> None:
    with pytest.raises(ValueError, match=r"distinct\(window=.*1 or more"):
        distinct(_again([]), window)


@pytest.mark.parametrize("read", [distinct, messages])
async def test_what_is_no_feed_is_refused(read: Any) -> None:
    """At once; and of a feed that was not opened it says how."""
    for wrong in ([1], None, "a", _again):
        with pytest.raises(TypeError, match=r"Not a feed: an object of .* connect"):
            read(wrong)
    with pytest.raises(TypeError, match=r"enter its block first: async with connect"):
        read(Service().connect())


async def test_the_end_is_that_of_the_feed() -> None:
    """What the feed raises is raised, and its end is the end."""

    async def broken() -> AsyncIterator[Any]:
        yield event("1")
        raise OSError("broken")

    stream = distinct(broken())
    assert await anext(stream) == event("1")
    with pytest.raises(OSError, match="broken"):
        await anext(stream)
    with pytest.raises(StopAsyncIteration):
        await anext(distinct(_again([])))
