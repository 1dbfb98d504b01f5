"""A feed counts over its connections, and so what is read of it for nobody is bounded."""

from __future__ import annotations

from typing import Any

import pytest
from feeds import Service, answer, read
from flow.backends import in_virtual_time
from relay.asgi import Server, play

from untorn import Cause, Interrupted, Statistics
from untorn.http.total import total
from untorn.relay import Drain, Relay

pytestmark = [pytest.mark.anyio, in_virtual_time]

EVENT = b"id: 1\ndata: " + b"x" * 86 + b"\n\n"
COMMENT = b": still there\n\n"
END = b"data: END\n\n"
NOTHING = Statistics(
    bytes=0,
    frames=0,
    events=0,
    comments=0,
    largest_frame=0,
    literal_replacements=0,
    replacements=0,
)


async def test_the_counts_are_those_of_all_connections() -> None:
    """Sums, but for the largest frame and the first times."""
    service = Service(answer(1.0, EVENT, COMMENT), answer(2.0, EVENT, EVENT), answer(END))
    seen, feed = await read(service)
    counted = feed.statistics()
    assert counted.bytes == 3 * len(EVENT) + len(COMMENT) + len(END)
    assert (counted.frames, counted.events, counted.comments) == (4, 4, 1)
    assert (counted.largest_frame, counted.first_byte, counted.first_event) == (86, 1.0, 1.0)
    assert counted.waited_for_source == 3.0
    assert len(seen) == 4 + 3 + 2


async def test_the_counts_begin_with_nothing_and_never_fall() -> None:
    """Neither where a connection ends nor while there is none."""
    service = Service(answer(EVENT), answer(EVENT, EVENT), answer(END))
    async with service.connect() as feed:
        assert feed.statistics() == total() == NOTHING
        counts = [feed.statistics().bytes async for _ in feed.events()]
    assert counts == sorted(counts)
    assert counts[-1] == feed.statistics().bytes == 3 * len(EVENT) + len(END)


async def test_a_flood_is_read_for_nobody_within_the_bytes() -> None:
    """Over two connections here; the seconds would let it go on ten times as long."""
    flood: list[Any] = [1.0, EVENT] * 300
    service = Service(answer(*flood[:6]), answer(*flood), answer(*flood))
    played = await play(
        lambda on_end: Relay(
            service.connect(), on_leave=Drain(max_bytes=250), on_end=on_end, last=None
        ),
        Server(leave_at=2.5),
    )
    assert len(EVENT) == 100
    assert isinstance(played.outcome, Interrupted)
    assert (played.outcome.cause, played.outcome.position.events) == (Cause.ABANDONED, 2 + 3)
    assert played.over_at == 3.0 + 3.0 + 2.0  # the service names no time: three seconds between


# What httpx2 leaves to the collector on trio is httpx2's.
@pytest.mark.filterwarnings("ignore:.*Async generator:ResourceWarning")
async def test_a_flood_that_never_pauses_is_bounded_too() -> None:
    """Also where it is said by a send that the client has left, and no time goes by."""
    service = Service(answer(*[EVENT] * 20_000))
    played = await play(
        lambda on_end: Relay(
            service.connect(), on_leave=Drain(max_bytes=50_000), on_end=on_end, head_wait=0
        ),
        Server(leave_at=0.0, raises=OSError()),
    )
    assert played.report.client_left
    assert 50_000 <= played.outcome.position.bytes < 300_000
