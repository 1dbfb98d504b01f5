"""What is relayed need not be an `EventStream`: a reader of a broadcast is one for each client."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anyio
import pytest
from flow.sources import sse

from untorn import Cause, Completed, Interrupted, broadcast
from untorn.relay import Cancel, Detach, Drain, OnLeave, Relay
from untorn.testing import Eof, Hang, Send, Stall

from .asgi import SCOPE, Played, Server
from .upstreams import Upstream, steady

pytestmark = pytest.mark.anyio


async def relayed(upstream: Upstream, *servers: Server, **terms: object) -> list[Played]:
    """Relay one upstream to the clients of several servers."""
    plays = [Played(server) for server in servers]
    async with upstream.manager as stream:
        shared = broadcast(stream)
        async with anyio.create_task_group() as group:
            for played in plays:
                relay = Relay(shared.subscribe(), on_end=played.note, **terms)
                group.start_soon(relay, SCOPE, played.server.receive, played.server.send)
    return plays


async def test_each_client_gets_all_of_a_shared_stream() -> None:
    """With an end of its own."""
    for played in await relayed(steady(3, 1.0), Server(), Server(send_seconds=0.5)):
        assert played.data[:-1] == ["0", "1", "2", "END"]
        assert isinstance(played.outcome, Completed)
        assert played.report.whole


async def test_a_client_that_leaves_takes_nothing_from_the_others() -> None:
    """Its own reading ends at once, or within its seconds."""
    for policy, cause in ((None, Cause.ABANDONED), (Drain(seconds=0.7), Cause.ABANDONED)):
        terms = {} if policy is None else {"on_leave": policy}
        gone, other = await relayed(steady(4, 1.0), Server(leave_at=2.2), Server(), **terms)
        assert isinstance(gone.outcome, Interrupted)
        assert (gone.outcome.cause, gone.report.sent) == (cause, 2)
        assert gone.reported_at == pytest.approx(2.2 if policy is None else 2.9)
        assert other.report.whole


async def test_what_makes_no_event_is_bounded_for_each_reader() -> None:
    """The one that left is done after its bytes; the other gets the rest."""
    comments = [Stall(1), Send(b": " + b"x" * 96 + b"\n\n")] * 9
    upstream = Upstream(Send(sse("a")), *comments, Send(sse("END")), Hang())
    gone, other = await relayed(
        upstream, Server(leave_at=2.5), Server(), on_leave=Drain(max_bytes=250)
    )
    assert (gone.reported_at, other.reported_at) == (5.0, 9.0)
    assert gone.report.client_left and other.report.whole


async def test_what_is_read_of_a_shared_stream_for_nobody_is_bounded() -> None:
    """In bytes of the stream: a flood ends where the bound says, and not by the seconds."""
    upstream = Upstream(*[Stall(1), Send(sse("x" * 92))] * 300)
    (gone,) = await relayed(upstream, Server(leave_at=2.5), on_leave=Drain(max_bytes=250))
    assert (gone.report.client_left, gone.reported_at) == (True, 5.0)
    assert upstream.source.offset == 2 * 100 + 3 * 100
    assert gone.outcome.position.bytes == 500


async def test_a_flood_that_never_pauses_is_bounded_too() -> None:
    """Also where it is said by a send that the client has left, and no time goes by."""
    upstream = Upstream(*[Send(sse("x" * 992))] * 5000)
    server = Server(leave_at=0.0, raises=OSError())
    (gone,) = await relayed(upstream, server, on_leave=Drain(max_bytes=50_000), head_wait=0)
    assert gone.report.client_left
    assert 50_000 <= upstream.source.offset < 300_000


async def test_a_head_request_holds_up_nobody() -> None:
    """Its reader, which is never entered, is closed."""
    upstream = Upstream(*[Send(sse(str(n))) for n in range(9)], Send(sse("END")), Hang())
    async with upstream.manager as stream:
        shared = broadcast(stream, capacity=2)
        server, reader = Server(), shared.subscribe()
        await Relay(reader)({**SCOPE, "method": "HEAD"}, server.receive, server.send)
        with anyio.fail_after(5):
            assert len([event async for event in shared.subscribe()]) == 10


class Broken(Server):
    """A server whose `send` fails."""

    async def send(self, message: object) -> None:
        raise ZeroDivisionError


class Stuck(Server):
    """A server whose `send` never returns."""

    async def send(self, message: object) -> None:
        await anyio.sleep_forever()


@pytest.mark.parametrize("way", ["broken", "cancelled", "no group"])
async def test_a_reader_that_is_never_entered_is_closed_however_that_ends(way: str) -> None:
    """By a send that fails or is cancelled, and where there is no group to read it in."""
    server = Broken() if way == "broken" else Stuck()
    on_leave: OnLeave = Cancel()
    if way == "no group":
        async with anyio.create_task_group() as over:
            on_leave = Detach(over)
    upstream = Upstream(*[Send(sse(str(n))) for n in range(9)], Send(sse("END")), Hang())
    async with upstream.manager as stream:
        shared = broadcast(stream, capacity=2)
        relay = Relay(shared.subscribe(), on_leave=on_leave)
        with anyio.move_on_after(1), suppress(ZeroDivisionError, RuntimeError):
            await relay({**SCOPE, "method": "HEAD"}, server.receive, server.send)
        with anyio.fail_after(5):
            assert len([event async for event in shared.subscribe()]) == 10


async def test_the_bad_end_of_a_shared_stream_is_that_of_each_client() -> None:
    """A cut looks whole to none of them."""
    for played in await relayed(steady(2, 1.0, Eof()), Server(), Server()):
        assert '"interrupted"' in played.data[-1]
        assert not played.report.whole


class Given:
    """An upstream that gives whatever it was told."""

    def __init__(self, given: Any) -> None:
        self.given = given

    async def __aenter__(self) -> Any:
        return self.given

    async def __aexit__(self, *exc: object) -> None:
        pass


async def test_what_ends_without_an_outcome_is_an_error() -> None:
    """A stream that is closed, and cannot say how it ended, is no end to tell a client of."""

    class Closed:
        outcome = None

        async def events(self) -> AsyncIterator[object]:
            yield "a"
            raise anyio.ClosedResourceError

    server = Server()
    with pytest.raises(anyio.ClosedResourceError):
        await Relay(Given(Closed()))(SCOPE, server.receive, server.send)  # type: ignore[arg-type]
    assert not Played(server).finished


@pytest.mark.parametrize("leave_at", [None, 0.5, 1.5])
async def test_events_that_end_without_an_outcome_are_an_error(leave_at: float | None) -> None:
    """An async generator, which is over when a wait of it is cancelled, is asked no further."""

    class Generated:
        outcome = None

        async def events(self) -> AsyncIterator[object]:
            await anyio.sleep(1)
            yield "a"
            await anyio.sleep(1)

    server = Server(leave_at=leave_at)
    played = Played(server)
    relay = Relay(Given(Generated()), on_end=played.note, on_leave=Drain())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="The events of a Generated ended while its outcome"):
        await relay(SCOPE, server.receive, server.send)
    assert not played.report.delivered


@pytest.mark.parametrize("given", [None, object(), {"outcome": 1}])
async def test_what_is_no_stream_is_named_and_reported(given: object) -> None:
    """Like an upstream that cannot be opened: a status, a report, and a sentence for the log."""
    server = Server()
    played = Played(server)
    with pytest.raises(TypeError, match=f"The upstream gave a {type(given).__name__}, which"):
        await Relay(Given(given), on_end=played.note)(SCOPE, server.receive, server.send)
    assert (played.status, played.report.sent, played.report.whole) == (502, 0, False)
