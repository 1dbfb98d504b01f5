"""What clients of a relay read with untorn is what the relay read, on every server."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from untorn import Completed, Interrupted, Outcome, ServerSentEvent, open_stream
from untorn.dialects import Sse
from untorn.relay import says_completed

from .servers import SERVERS, Server, serve
from .upstream import Upstream, upstream

for library in ("starlette", "httpx2"):  # of which the application is made
    pytest.importorskip(library)

APP = Path(__file__).with_name("apps.py")
DIALECT = Sse(complete_when=says_completed)
Read = tuple[list[ServerSentEvent], Outcome[Any]]


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("clients")
    with serve(request.param, APP, folder, env={"RELAY_REPORTS": str(folder / "r")}) as server:
        yield server


@pytest.fixture(scope="module")
def asked() -> Iterator[Upstream]:
    with upstream() as asked:
        yield asked


async def read(response: Any) -> Read:
    async with open_stream(response, DIALECT) as stream:
        events = [event async for event in stream.events()]
    assert stream.outcome is not None
    return events, stream.outcome


async def with_httpx2(url: str) -> Read:
    httpx2 = pytest.importorskip("httpx2")
    async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
        return await read(response)


async def with_httpx(url: str) -> Read:
    httpx = pytest.importorskip("httpx")
    async with httpx.AsyncClient() as client, client.stream("GET", url) as response:
        return await read(response)


async def with_aiohttp(url: str) -> Read:
    aiohttp = pytest.importorskip("aiohttp")
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await read(response.content)


async def directly(url: str) -> list[ServerSentEvent]:
    httpx2 = pytest.importorskip("httpx2")
    async with (
        httpx2.AsyncClient() as client,
        client.stream("GET", url) as response,
        open_stream(response, Sse(sentinel="END")) as stream,
    ):
        return [event async for event in stream.events()]


@pytest.mark.parametrize("client", [with_httpx2, with_httpx, with_aiohttp])
@pytest.mark.parametrize(
    ("path", "count", "kind"), [("/count/300", 301, Completed), ("/cut", 1, Interrupted)]
)
def test_a_client_reads_what_the_relay_read(
    server: Server, asked: Upstream, client: Any, path: str, count: int, kind: type
) -> None:
    """The same events with the same ids, and an outcome of the same kind behind them."""
    url = f"{server.url}/relay?upstream={quote(asked.url + path)}"
    events, outcome = asyncio.run(client(url))
    assert events[:-1] == asyncio.run(directly(asked.url + path))
    assert (len(events), events[-1].event, type(outcome)) == (count + 1, "end", kind)
