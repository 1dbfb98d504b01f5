"""Real HTTP clients against a real server: reading, draining, and the connection afterwards."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest
from anyio.lowlevel import checkpoint

from untorn import Cause, Completed, Limits, open_stream

from .backends import on_sockets
from .http_server import Server, serving
from .sources import DIALECT, data_of, is_interrupted

httpx2 = pytest.importorskip("httpx2")

pytestmark = [
    pytest.mark.anyio,
    on_sockets,
    pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"]),
]

WHOLE = ["你好", " 🦊", "END"]


async def _read(client: Any, url: str, **options: Any) -> tuple[list[str], Any]:
    async with client.stream("GET", url) as response:
        async with open_stream(response, DIALECT, **options) as stream:
            events = await data_of(stream.events())
        assert response.is_closed
        return events, stream.outcome


async def _closed(server: Server, count: int) -> None:
    with anyio.fail_after(5):
        while server.closed < count:  # noqa: ASYNC110 - a counter has no event to wait for
            await anyio.sleep(0.001)


@pytest.mark.parametrize("path", ["/plain", "/gzip", "/late"])
async def test_connection_is_used_again(library: Any, path: str) -> None:
    """The rest behind the marker is drained, so the second request needs no new connection."""
    async with serving() as server, library.AsyncClient(trust_env=False) as client:
        for _ in range(3):
            events, outcome = await _read(client, server.url + path)
            assert events == WHOLE
            assert isinstance(outcome, Completed)
        assert (server.requests, server.connections) == (3, 1)


async def test_connection_is_used_again_after_a_break(library: Any) -> None:
    """Whoever leaves at the last event leaves a usable connection too."""
    async with serving() as server, library.AsyncClient(trust_env=False) as client:
        for _ in range(2):
            async with client.stream("GET", server.url + "/plain") as response:  # noqa: SIM117 - each for itself
                async with open_stream(response, DIALECT) as stream:
                    async for event in stream:
                        if event.data == "END":
                            break
            assert isinstance(stream.outcome, Completed)
        assert server.connections == 1


async def test_body_that_never_ends_is_not_waited_for(library: Any) -> None:
    """The exit comes within the bound of the drain, and the connection is closed."""
    async with serving() as server, library.AsyncClient(trust_env=False) as client:
        began = anyio.current_time()
        events, outcome = await _read(client, server.url + "/endless")
        assert events == WHOLE
        assert isinstance(outcome, Completed)
        assert anyio.current_time() - began < 1
        await _closed(server, 1)


async def test_drain_can_be_turned_off(library: Any) -> None:
    async with serving() as server, library.AsyncClient(trust_env=False) as client:
        limits = Limits(drain_bytes=0)
        began = anyio.current_time()
        await _read(client, server.url + "/endless", limits=limits)
        assert anyio.current_time() - began < 0.15
        await _closed(server, 1)
        await _read(client, server.url + "/endless", limits=limits)
        assert server.connections == 2


async def test_broken_body_is_interrupted(library: Any) -> None:
    """The library's own exception is kept."""
    async with serving() as server, library.AsyncClient(trust_env=False) as client:
        events, outcome = await _read(client, server.url + "/broken")
    assert events == ["a"]
    assert is_interrupted(outcome, Cause.TRANSPORT)
    assert isinstance(outcome.error, library.RemoteProtocolError)


async def test_leaving_early_closes_the_connection(library: Any) -> None:
    async with serving() as server, library.AsyncClient(trust_env=False) as client:
        async with client.stream("GET", server.url + "/endless") as response:
            async with open_stream(response, DIALECT) as stream:
                await stream.receive()
            assert response.is_closed
        await _closed(server, 1)
    assert is_interrupted(stream.outcome, Cause.ABANDONED)


async def test_cancellation_closes_the_connection(library: Any) -> None:
    async with serving() as server, library.AsyncClient(trust_env=False) as client:
        with anyio.CancelScope() as scope:
            async with client.stream("GET", server.url + "/endless") as response:  # noqa: SIM117 - each for itself
                async with open_stream(response, DIALECT) as stream:
                    await stream.receive()
                    scope.cancel()
                    await checkpoint()
        await _closed(server, 1)
    assert scope.cancelled_caught
    assert is_interrupted(stream.outcome, Cause.CANCELLED)


async def test_body_that_is_here_already_is_read(library: Any) -> None:
    """A response that was read whole is a source as well."""
    async with serving() as server, library.AsyncClient(trust_env=False) as client:
        response = await client.get(server.url + "/plain")
        async with open_stream(response, DIALECT) as stream:
            assert await data_of(stream) == WHOLE


async def test_response_of_a_synchronous_client_is_refused(library: Any) -> None:
    """The hint says what to do instead."""

    def answer(request: Any) -> Any:
        return library.Response(200, content=iter([b"data: a\n\n"]))

    client = library.Client(transport=library.MockTransport(answer))
    with client, client.stream("GET", "http://test") as response:  # noqa: SIM117 - each for itself
        with pytest.raises(TypeError, match=r"parse\(response\.iter_bytes\(\)"):
            open_stream(response, DIALECT)
