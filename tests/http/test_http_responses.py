"""`open_response`: the same judgement for a response that is open, whichever client it is of."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import aiohttp
import httpx
import pytest
from served import DIALECT, Peer, read, served, sse, unexpected

from untorn import Cause, Completed, Interrupted
from untorn.http import HttpAttribute, open_response
from untorn.testing import chaos_server

pytestmark = pytest.mark.anyio

WIRE = sse("a", "END")
in_asyncio_real = pytest.mark.parametrize(
    "anyio_backend", ["asyncio-real", "uvloop"], indirect=True
)


@asynccontextmanager
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """Open a session of aiohttp."""
    async with aiohttp.ClientSession() as opened:
        yield opened


async def test_response_is_judged_and_read(library: ModuleType) -> None:
    async with (
        chaos_server(WIRE, content_encoding="gzip") as server,
        library.AsyncClient() as client,
        client.stream("GET", server.url) as response,
    ):
        async with open_response(response, DIALECT) as events:
            assert events.extra(HttpAttribute.status) == 200
            assert [event.data async for event in events] == ["a", "END"]
        assert response.is_closed
        assert isinstance(events.outcome, Completed)


async def test_response_that_is_no_stream_fails(library: ModuleType) -> None:
    headers = {"content-type": "application/json"}
    async with chaos_server(b'{"error": "No"}', headers=headers) as server:
        async with library.AsyncClient() as client, client.stream("GET", server.url) as response:
            _, outcome = await read(open_response(response, DIALECT))
            fault = unexpected(outcome)
            assert (fault.code, fault.message) == ("content-type", "No")
        async with library.AsyncClient() as client, client.stream("GET", server.url) as response:
            opened = open_response(response, DIALECT, media_types=["application/json"])
            _, outcome = await read(opened)
            assert isinstance(outcome, Interrupted)


async def test_response_that_was_read_is_here_already(library: ModuleType) -> None:
    async with (
        chaos_server(WIRE, content_encoding="gzip") as server,
        library.AsyncClient() as client,
    ):
        response = await client.get(server.url)
        data, _ = await read(open_response(response, DIALECT))
    assert data == ["a", "END"]


async def test_response_that_was_consumed_is_interrupted(library: ModuleType) -> None:
    async with (
        chaos_server(WIRE) as server,
        library.AsyncClient() as client,
        client.stream("GET", server.url) as response,
    ):
        async for _ in response.aiter_raw():
            pass
        _, outcome = await read(open_response(response, DIALECT))
    assert isinstance(outcome.error, library.StreamConsumed)


async def test_response_that_was_made_needs_no_request(library: ModuleType) -> None:
    response = library.Response(404, content=b"no")
    _, outcome = await read(open_response(response, DIALECT))
    assert unexpected(outcome).message == "no"


@in_asyncio_real
@pytest.mark.parametrize("coding", ["gzip", "deflate", None])
async def test_aiohttp_is_read_as_well(coding: Any) -> None:
    """And the connection is used again."""
    async with chaos_server(WIRE, content_encoding=coding) as server, session() as client:
        for _ in range(2):
            async with client.get(server.url) as response:
                async with open_response(response, DIALECT) as events:
                    assert [event.data async for event in events] == ["a", "END"]
                assert isinstance(events.outcome, Completed)
                assert events.extra(HttpAttribute.status) == 200
        assert [request.connection for request in server.requests] == [0, 0]


@in_asyncio_real
async def test_aiohttp_is_judged_as_well() -> None:
    headers = {"retry-after": "3"}
    async with (
        chaos_server(b"slow down", status=429, headers=headers) as server,
        session() as client,
        client.get(server.url) as response,
    ):
        _, outcome = await read(open_response(response, DIALECT))
    fault = unexpected(outcome)
    assert (fault.status, fault.retry_after, fault.message) == (429, 3.0, "slow down")


@in_asyncio_real
@pytest.mark.parametrize("named", ["x-gzip", "gzip, identity", "gzip, gzip", "lzma"])
async def test_what_aiohttp_does_not_decode_is_decoded_or_refused(named: str) -> None:
    """Never taken for the text of a stream."""

    async def answer(peer: Peer) -> None:
        await peer.head("200 OK", f"content-encoding: {named}")
        body = gzip.compress(WIRE)
        await peer.chunks(gzip.compress(body) if named == "gzip, gzip" else body)
        await peer.last()

    async with served(answer) as server, session() as client, client.get(server.url) as response:
        data, outcome = await read(open_response(response, DIALECT))
    if named == "lzma":
        assert unexpected(outcome).code == "content-encoding"
    else:
        assert (data, type(outcome)) == (["a", "END"], Completed)


@in_asyncio_real
async def test_aiohttp_is_closed_as_well() -> None:
    """By whoever leaves; and a body that breaks off is interrupted."""

    async def answer(peer: Peer) -> None:
        await peer.head()
        await peer.chunks(sse("a"))
        await (peer.close() if b"/broken" in peer.request else peer.left())

    async with served(answer) as server, session() as client:
        async with client.get(server.url) as response:
            async with open_response(response, DIALECT) as events:
                await events.receive()
            await server.all_closed()
        async with client.get(f"{server.url}broken") as response:
            data, outcome = await read(open_response(response, DIALECT))
    assert data == ["a"]
    assert isinstance(outcome, Interrupted)
    assert outcome.cause is Cause.TRANSPORT
    assert isinstance(outcome.error, aiohttp.ClientPayloadError)


def test_what_is_no_response_is_refused() -> None:
    """With the sentence that helps."""
    handle = httpx.MockTransport(lambda request: httpx.Response(200, content=iter([b""])))
    with (
        httpx.Client(transport=handle) as client,
        client.stream("GET", "http://test/") as refused,
        pytest.raises(TypeError, match=r"parse\(response\.iter_bytes\(\), \.\.\.\)"),
    ):
        open_response(refused, DIALECT)
    with pytest.raises(TypeError, match="enter the block first"):
        open_response(httpx.AsyncClient().stream("GET", "http://test/"), DIALECT)
    with pytest.raises(TypeError, match="Not a response of httpx2, httpx or aiohttp"):
        open_response(b"data: a", DIALECT)
