"""What is sent, and when; what `stream` refuses; what it lets be known of the response."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import aiohttp
import anyio
import pytest
from anyio import TypedAttributeLookupError
from served import DIALECT, Peer, read, served, sse

from untorn import Clocks, Completed, UnexpectedResponse, collect, open_stream
from untorn.dialects import JsonLines
from untorn.http import HttpAttribute, RequestSource, stream
from untorn.testing import chaos_server

pytestmark = pytest.mark.anyio

WIRE = sse("a", "END")
SSE = {"media_types": ["text/event-stream"]}


async def sent(library: ModuleType, dialect: Any = DIALECT, **options: Any) -> Any:
    """Return the request that a server got."""
    of_client = options.pop("client", {})
    async with chaos_server(WIRE) as server, library.AsyncClient(**of_client) as client:
        method = options.pop("method", "GET")
        async with stream(client, method, server.url, dialect=dialect, **options) as events:
            async for _ in events.events():
                pass
        [request] = server.requests
    return request


async def test_events_are_asked_for(library: ModuleType) -> None:
    request = await sent(library)
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["cache-control"] == "no-store"


async def test_lines_are_asked_for(library: ModuleType) -> None:
    request = await sent(library, JsonLines())
    assert "application/x-ndjson" in request.headers["accept"].split(", ")
    assert "cache-control" not in request.headers


async def test_named_types_are_asked_for(library: ModuleType) -> None:
    request = await sent(library, media_types=["text/plain", "Text/HTML;x=y"])
    assert request.headers["accept"] == "text/html, text/plain"


@pytest.mark.parametrize("name", ["Accept", "accept"])
@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "*/*"])
@pytest.mark.parametrize("as_list", [False, True])
async def test_headers_of_the_caller_win(
    library: ModuleType, name: str, accept: str, as_list: bool
) -> None:
    """However they are given."""
    given: Any = {name: accept, "Cache-Control": "max-age=0"}
    request = await sent(library, headers=list(given.items()) if as_list else given)
    assert request.headers["accept"] == accept
    assert request.headers["cache-control"] == "max-age=0"


async def test_headers_of_the_client_win(library: ModuleType) -> None:
    request = await sent(library, client={"headers": {"Accept": "text/plain"}})
    assert request.headers["accept"] == "text/plain"


async def test_whatever_the_client_takes_is_sent(library: ModuleType) -> None:
    """Bodies, parameters, `auth`, and the base URL of the client."""
    request = await sent(
        library, method="POST", json={"stream": True}, params={"n": 1}, auth=("me", "pass")
    )
    assert (request.method, request.target) == ("POST", "/?n=1")
    assert request.body in (b'{"stream":true}', b'{"stream": true}')
    assert request.headers["authorization"] == "Basic bWU6cGFzcw=="
    async with chaos_server(WIRE) as server:
        async with library.AsyncClient(base_url=server.url) as client:
            data, _ = await read(stream(client, "GET", "under", dialect=DIALECT))
        assert server.requests[0].target == "/under"
    assert data == ["a", "END"]


async def test_nothing_is_sent_before_the_block_is_entered(library: ModuleType) -> None:
    async with chaos_server(WIRE) as server, library.AsyncClient() as client:
        opened = stream(client, "GET", server.url, dialect=DIALECT)
        source = RequestSource(client, "GET", server.url, **SSE)
        await anyio.wait_all_tasks_blocked()
        assert server.requests == []
        await source.aclose()
        async with opened as events:
            await events.receive()
        assert len(server.requests) == 1


async def test_source_is_one_for_open_stream_and_collect(library: ModuleType) -> None:
    async with chaos_server(WIRE) as server, library.AsyncClient() as client:
        source = RequestSource(client, "GET", server.url, **SSE)
        assert source.response is None
        assert isinstance(await collect(source, DIALECT), Completed)
        assert source.response.status_code == 200
        assert source.response.is_closed
        async with open_stream(RequestSource(client, "GET", server.url, **SSE), DIALECT) as events:
            assert (await events.receive()).data == "a"


async def test_source_sends_its_request_once(library: ModuleType) -> None:
    """Not again behind a refusal, a cancellation or a close, which read like an end."""
    async with chaos_server(b"", status=503) as server, library.AsyncClient() as client:
        source = RequestSource(client, "POST", server.url, **SSE)
        with pytest.raises(UnexpectedResponse):
            await anext(source)
        for _ in range(2):
            with pytest.raises(anyio.ClosedResourceError, match="make a new one"):
                await anext(source)
        await source.aclose()
        source = RequestSource(client, "POST", server.url, **SSE)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anext(source)
        with pytest.raises(anyio.ClosedResourceError):
            await anext(source)
        await source.aclose()
        assert len(server.requests) == 1
    async with chaos_server(WIRE) as server, library.AsyncClient() as client:
        source = RequestSource(client, "GET", server.url, **SSE)
        await source.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await anext(source)
        assert server.requests == []
        source = RequestSource(client, "GET", server.url, **SSE)
        await anext(source)
        await source.aclose()
        await source.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await anext(source)


async def test_head_is_reached_through_typed_attributes(library: ModuleType) -> None:
    """As soon as it is here, and of a response that was refused, too."""
    headers = {"x-request-id": "req-1"}
    async with (
        chaos_server(WIRE, headers=headers) as server,
        library.AsyncClient() as client,
        stream(client, "GET", server.url, dialect=DIALECT) as events,
    ):
        assert events.extra(HttpAttribute.status, None) is None
        with pytest.raises(TypedAttributeLookupError):
            events.extra(HttpAttribute.headers)
        await events.receive()
        assert events.extra(HttpAttribute.status) == 200
        assert events.extra(HttpAttribute.headers)["X-Request-Id"] == "req-1"
        assert isinstance(events.extra(HttpAttribute.response), library.Response)
    async with chaos_server(b"", status=503) as server, library.AsyncClient() as client:
        async with stream(client, "GET", server.url, dialect=DIALECT) as events:
            async for _ in events.events():
                pass
        assert events.extra(HttpAttribute.status) == 503


async def test_hook_may_read_the_body(library: ModuleType) -> None:
    """A response that was read already is decoded already."""

    async def hook(response: Any) -> None:
        await response.aread()

    hooks = {"response": [hook]}
    async with (
        chaos_server(WIRE, content_encoding="gzip") as server,
        library.AsyncClient(event_hooks=hooks) as client,
    ):
        data, _ = await read(stream(client, "GET", server.url, dialect=DIALECT))
    assert data == ["a", "END"]


async def test_transport_that_is_no_network_will_do(library: ModuleType) -> None:
    """As tests have it: the whole body is here at once."""

    def handle(request: Any) -> Any:
        return library.Response(200, content=WIRE, headers={"content-type": "text/event-stream"})

    async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
        data, _ = await read(stream(client, "GET", "http://test/", dialect=DIALECT))
    assert data == ["a", "END"]


def test_other_clients_are_refused() -> None:
    """A synchronous one, and a session of aiohttp, which has another way."""

    class Session:
        pass

    httpx = pytest.importorskip("httpx")
    with httpx.Client() as synchronous:
        for client in (synchronous, Session(), None, aiohttp):
            with pytest.raises(TypeError, match=r"AsyncClient of httpx2 or httpx.*open_response"):
                stream(client, "GET", "http://test/", dialect=DIALECT)
    with pytest.raises(TypeError, match="the class AsyncClient; give"):
        stream(httpx.AsyncClient, "GET", "http://test/", dialect=DIALECT)  # type: ignore[arg-type]


def test_wrong_requests_are_refused_at_once(library: ModuleType) -> None:
    """As the client refuses them; nothing of it is an outcome."""
    client = library.AsyncClient()
    with pytest.raises(TypeError, match="dialekt"):
        stream(client, "GET", "http://test/", dialect=DIALECT, dialekt=1)
    with pytest.raises(library.InvalidURL):
        stream(client, "GET", "http://test:port/", dialect=DIALECT)
    with pytest.raises(TypeError, match="one string; write media_types="):
        stream(client, "GET", "http://test/", dialect=DIALECT, media_types="text/plain")
    with pytest.raises(TypeError):
        stream(client, "GET", "http://test/", dialect=type(DIALECT))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Not clocks"):
        stream(client, "GET", "http://test/", dialect=DIALECT, clocks=5)  # type: ignore[arg-type]


async def test_other_timeouts_of_the_client_hold(library: ModuleType) -> None:
    """Connecting, sending and the pool are as the client has it."""

    async def answer(peer: Peer) -> None:
        await peer.head()
        await peer.chunks(WIRE)
        await peer.last()

    timeout = library.Timeout(7.0, connect=3.0, pool=4.0)
    async with (
        served(answer) as server,
        library.AsyncClient(timeout=timeout) as client,
        stream(client, "GET", server.url, dialect=DIALECT, clocks=Clocks()) as events,
    ):
        await events.receive()
        request = events.extra(HttpAttribute.response).request
    expected = {"connect": 3.0, "read": None, "write": 7.0, "pool": 4.0}
    assert request.extensions["timeout"] == expected
