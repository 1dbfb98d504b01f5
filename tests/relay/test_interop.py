"""The events of untorn in the responses of FastAPI and of sse-starlette."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from flow.sources import sse

from untorn import Completed, ServerSentEvent, StreamInterrupted, TextDelta, parse
from untorn.dialects import Sse
from untorn.relay import SseEncoder, as_sse
from untorn.relay.interop import for_fastapi, for_sse_starlette
from untorn.testing import Hang, Send, Stall

from .asgi import Played, Server
from .test_starlette import Middleware, Passing, scope_of, wrapped
from .upstreams import Upstream, steady

pytestmark = [
    pytest.mark.anyio,
    # BaseHTTPMiddleware leaves it to the collector, which older versions of trio tell.
    pytest.mark.filterwarnings("ignore:Async generator 'starlette.requests.Request.stream'"),
]

EVENTS = [
    ServerSentEvent("message", "a\n\n b\u2028", "1"),
    ServerSentEvent("tick", "", "2", 500),
    ServerSentEvent("tick", '{"a":1}', "2"),
    TextDelta("京"),
]


def fastapi(upstream: Upstream) -> Any:
    fastapi = pytest.importorskip("fastapi")
    sse = pytest.importorskip("fastapi.sse")
    app = fastapi.FastAPI()

    @app.get("/", response_class=sse.EventSourceResponse)
    async def endpoint() -> AsyncIterator[Any]:
        async with upstream.manager as stream:
            async for event in stream:
                yield for_fastapi(event)

    return app


def sse_starlette(upstream: Upstream) -> Any:
    sse_starlette = pytest.importorskip("sse_starlette")

    async def events() -> AsyncIterator[Any]:
        async with upstream.manager as stream:
            async for event in stream:
                yield for_sse_starlette(event)

    return sse_starlette.EventSourceResponse(events())


responses = pytest.mark.parametrize("response", [fastapi, sse_starlette])


async def played(app: Any, server: Server) -> Played:
    await app(scope_of("/"), server.receive, server.send)
    return Played(server)


@responses
async def test_the_events_are_the_same_in_the_responses_of_others(response: Any) -> None:
    """Names, ids, reconnection times and every character of the data."""
    encoder = SseEncoder()
    wire = [encoder.encode(as_sse(event)) for event in EVENTS[:3]]
    seen = await played(response(Upstream(*map(Send, wire), Send(sse("END")))), Server())
    stream = parse([seen.body], Sse(sentinel="END"))
    assert list(stream)[:3] == EVENTS[:3]
    assert isinstance(stream.outcome, Completed)


def test_an_event_of_a_chat_is_its_fields() -> None:
    """As in a relay, and JSON only once."""
    pytest.importorskip("fastapi.sse")
    data = '{"text":"京","choice":0}'
    assert for_sse_starlette(EVENTS[3]) == {"event": "text_delta", "data": data}
    shown = for_fastapi(EVENTS[3])
    assert (shown.event, shown.raw_data, shown.data, shown.id) == ("text_delta", data, None, None)
    assert for_sse_starlette(EVENTS[0]) == {"data": EVENTS[0].data, "id": "1"}


@responses
async def test_a_client_may_leave_the_responses_of_others(response: Any) -> None:
    """They watch for it too, while the stream is silent."""
    upstream = Upstream(Stall(1), Send(sse("a")), Hang())
    await played(response(upstream), Server(leave_at=2.5))
    assert upstream.closed_at == 2.5


@responses
async def test_a_cut_is_an_exception_within_the_responses_of_others(response: Any) -> None:
    """They end as untorn ends: with an exception, and without the end of the body."""
    server = Server()
    with pytest.raises((StreamInterrupted, BaseExceptionGroup)):
        await played(response(steady(1, 1.0, Stall(1))), server)
    assert not Played(server).finished


@responses
async def test_behind_middleware_of_starlette_such_a_cut_looks_whole(response: Any) -> None:
    """Which the page on relays warns of: the exception is the server's, the end is the client's."""
    server = Server()
    app = wrapped(response(steady(1, 1.0, Stall(1))), [Middleware(Passing)])
    with pytest.raises((StreamInterrupted, BaseExceptionGroup)):
        await played(app, server)
    assert Played(server).finished
