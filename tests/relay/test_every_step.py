"""The client leaves, or the request is cancelled, at every moment of a relay."""

from typing import Any

import anyio
import pytest
from flow.backends import living

from untorn import Cause, Completed, Interrupted
from untorn.relay import Cancel, Detach, Drain, Relay

from .asgi import Played, Server, play
from .upstreams import Upstream, steady

pytestmark = pytest.mark.anyio

# A relay of 4 s: the upstream opens, sends three events and completes, and each message
# takes 0.1 s. What happens at multiples of 0.05 s happens before, in and behind each.
MOMENTS = [n * 0.05 for n in range(90)]
WHOLE_AT = 4.0
# A client that left before there was an answer is answered within that.
REFUSED = 0.1


def upstream_of_4_seconds() -> Upstream:
    upstream = steady(3, 1.0)
    upstream.opening = 0.5
    return upstream


async def relayed(upstream: Upstream, policy: Any, server: Server, **how: Any) -> Played:
    return await play(
        lambda on_end: Relay(
            upstream.manager, on_end=on_end, on_leave=policy, keepalive=0.3, head_wait=0.2
        ),
        server,
        **how,
    )


def check(played: Played, upstream: Upstream) -> None:
    """What holds in any case."""
    report = played.report  # exactly one
    assert upstream.closed_at is not None
    assert report.whole is (played.finished and not report.client_left and not played.cancelled)
    shown = [data for data in played.data if data in ("0", "1", "2", "END")]
    # One send, of two events at most, may be pending when the client leaves.
    assert report.sent <= len(shown) <= report.sent + 2
    assert shown == ["0", "1", "2", "END"][: len(shown)]
    if not isinstance(report.outcome, Completed):
        assert b"completed" not in played.body


@pytest.mark.parametrize("raises", [None, OSError()], ids=["ignored", "raised"])
@pytest.mark.parametrize("policy", [Cancel(), Drain(seconds=60)], ids=["cancel", "drain"])
async def test_a_client_may_leave_at_any_moment(policy: Any, raises: Any) -> None:
    """The upstream is closed at once, or at its end; all is reported once; nothing is raised."""
    before = living()
    for moment in MOMENTS:
        upstream = upstream_of_4_seconds()
        server = Server(leave_at=moment, send_seconds=0.1, raises=raises)
        played = await relayed(upstream, policy, server)
        check(played, upstream)
        assert upstream.closed_at is not None
        if isinstance(policy, Cancel) and played.report.client_left:
            assert upstream.closed_at <= moment + 1e-6
        if isinstance(policy, Drain):
            assert isinstance(played.outcome, Completed)
        await anyio.wait_all_tasks_blocked()
        assert living() == before


async def test_a_client_of_a_detached_relay_may_leave_at_any_moment() -> None:
    """Its request ends at once, and the upstream is read to its end."""
    for moment in MOMENTS:
        upstream, server = upstream_of_4_seconds(), Server(leave_at=moment, send_seconds=0.1)
        async with anyio.create_task_group() as group:
            played = await relayed(upstream, Detach(group), server)
        assert played.over_at <= moment + REFUSED + 1e-6 or played.report.whole
        check(played, upstream)
        assert isinstance(played.outcome, Completed)


@pytest.mark.parametrize("policy", [Cancel(), Drain(seconds=60)], ids=["cancel", "drain"])
async def test_a_send_that_ends_with_its_client_was_not_taken(policy: Any) -> None:
    """Though it returns like one that was: the report has what was taken before, and no more."""
    for moment in MOMENTS:
        moment += 0.025  # in the middle of a send, or between two
        upstream = upstream_of_4_seconds()
        server = Server(leave_at=moment, send_seconds=0.1, gone="returns")
        played = await relayed(upstream, policy, server)
        taken = [data for data in played.data if data in ("0", "1", "2", "END")]
        assert played.report.sent == len(taken)
        assert played.report.delivered is played.report.whole is not played.report.client_left
        assert taken[-1:] == ["END"] or not played.report.delivered


@pytest.mark.parametrize("policy", [Cancel(), Drain(seconds=60)], ids=["cancel", "drain"])
async def test_a_request_may_be_cancelled_at_any_moment(policy: Any) -> None:
    """The cancellation goes through, the upstream is closed, and all is reported once."""
    before = living()
    for moment in MOMENTS:
        upstream, server = upstream_of_4_seconds(), Server(send_seconds=0.1)
        played = await relayed(upstream, policy, server, cancel_at=moment)
        if not upstream.entered:
            assert played.cancelled and moment == 0
            continue
        check(played, upstream)
        assert played.cancelled is not played.report.whole
        if played.cancelled and isinstance(played.outcome, Interrupted):
            assert played.outcome.cause is Cause.CANCELLED
            assert upstream.closed_at is not None and upstream.closed_at <= moment + 1e-6
        await anyio.wait_all_tasks_blocked()
        assert living() == before


@pytest.mark.parametrize("policy", [Cancel(), Drain(seconds=60)], ids=["cancel", "drain"])
async def test_a_request_may_be_cancelled_after_its_client_left(policy: Any) -> None:
    """As at the shutdown of a server: what is drained ends there."""
    for moment in MOMENTS[::5]:
        upstream, server = steady(9, 1.0), Server(leave_at=moment)
        played = await relayed(upstream, policy, server, cancel_at=moment + 1.25)
        assert played.cancelled is isinstance(policy, Drain)
        assert isinstance(played.outcome, Interrupted)
        assert played.outcome.cause is Cause.ABANDONED
        assert played.report.client_left


async def test_the_moments_reach_from_before_to_behind() -> None:
    """A relay that nothing disturbs takes some 4 s: so the tests above disturb all of it."""
    upstream = upstream_of_4_seconds()
    played = await relayed(upstream, Cancel(), Server(send_seconds=0.1))
    assert MOMENTS[0] == 0 and WHOLE_AT - 0.5 < played.over_at < MOMENTS[-1]
    assert played.data[:-1] == ["0", "1", "2", "END"]
    assert b"keepalive" in played.body
