"""What is relayed need not be an `EventStream`: a reader of a broadcast is one for each client."""

from collections.abc import AsyncIterator

import anyio
import pytest

from untorn import Cause, Completed, Interrupted, broadcast
from untorn.relay import Drain, Relay
from untorn.testing import Eof

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


async def test_the_bad_end_of_a_shared_stream_is_that_of_each_client() -> None:
    """A cut looks whole to none of them."""
    for played in await relayed(steady(2, 1.0, Eof()), Server(), Server()):
        assert '"interrupted"' in played.data[-1]
        assert not played.report.whole


async def test_what_ends_without_an_outcome_is_an_error() -> None:
    """A stream that is closed, and cannot say how it ended, is no end to tell a client of."""

    class Closed:
        outcome = None

        async def __aenter__(self) -> "Closed":
            return self

        async def __aexit__(self, *exc: object) -> None:
            pass

        async def events(self) -> AsyncIterator[object]:
            yield "a"
            raise anyio.ClosedResourceError

    server = Server()
    with pytest.raises(anyio.ClosedResourceError):
        await Relay(Closed())(SCOPE, server.receive, server.send)  # type: ignore[arg-type]
    assert not Played(server).finished
