"""`open_response`: the same judgement for a response that is open, whichever client it is of."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import aiohttp
import brotli
import httpx
import pytest
from multidict import CIMultiDict
from served import DIALECT, Peer, read, served, sse, unexpected

from untorn import Cause, Completed, Interrupted
from untorn.dialects import JsonLines
from untorn.http import HttpAttribute, open_response
from untorn.http.answer import as_answer, leave
from untorn.testing import chaos_server

pytestmark = pytest.mark.anyio

zstd: Any = pytest.importorskip("backports.zstd")

WIRE = sse("a", "END")
LINES = b'{"a": 1}\n{"b": 2}\n'
in_asyncio_real = pytest.mark.parametrize(
    "anyio_backend", ["asyncio-real", "uvloop"], indirect=True
)


@asynccontextmanager
async def session(**options: Any) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a session of aiohttp."""
    async with aiohttp.ClientSession(**options) as opened:
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


def cut_at_a_flush(named: str) -> bytes:
    """Return a body that is cut where its encoder has flushed, so that all of it is decoded."""
    if named == "br":
        encoder = brotli.Compressor()
        cut: bytes = encoder.process(LINES) + encoder.flush()
        return cut
    encoder = zlib.compressobj(wbits={"gzip": 31, "deflate": 15}[named])
    return encoder.compress(LINES) + encoder.flush(zlib.Z_SYNC_FLUSH)


@in_asyncio_real
@pytest.mark.parametrize(
    ("named", "decompress"),  # of a torn deflate aiohttp itself makes neither an end nor an error
    [("gzip", True), ("br", True), ("gzip", False), ("deflate", False), ("br", False)],
)
async def test_aiohttp_does_not_make_a_torn_coding_whole(named: str, decompress: bool) -> None:
    """Cut at a flush, with a proper last chunk, where the end of the transport completes."""

    async def answer(peer: Peer) -> None:
        await peer.head("200 OK", f"content-encoding: {named}", type="application/x-ndjson")
        await peer.chunks(cut_at_a_flush(named))
        await peer.last()

    async with (
        served(answer) as server,
        session(auto_decompress=decompress) as client,
        client.get(server.url) as response,
        open_response(response, JsonLines(eof="completes")) as events,
    ):
        seen = [event.data async for event in events.events()]
    assert seen == [{"a": 1}, {"b": 2}]
    assert isinstance(events.outcome, Interrupted)
    assert events.outcome.cause is Cause.TRANSPORT
    if not decompress:
        assert "inside its content coding" in str(events.outcome.error)


@in_asyncio_real
@pytest.mark.parametrize("named", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "identity"])
async def test_what_aiohttp_leaves_on_is_decoded(named: str) -> None:
    """With `auto_decompress=False`, and a whole body is whole."""
    encoders = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}
    encoders |= {"zstd": zstd.compress, "identity": bytes}

    async def answer(peer: Peer) -> None:
        await peer.head("200 OK", f"content-encoding: {named}", type="application/x-ndjson")
        body = LINES
        for coding in named.split(", "):
            body = encoders[coding](body)
        await peer.chunks(body)
        await peer.last()

    async with (
        served(answer) as server,
        session(auto_decompress=False) as client,
        client.get(server.url) as response,
    ):
        data, outcome = await read(open_response(response, JsonLines(eof="completes")))
    assert [*map(str, data)] == ["{'a': 1}", "{'b': 2}"]
    assert isinstance(outcome, Completed)


@in_asyncio_real
@pytest.mark.parametrize("body", [LINES, b""])
async def test_what_aiohttp_does_not_say_is_told(body: bytes) -> None:
    """It decodes gzip and does not say whether it was whole; nothing at all is whole."""

    async def answer(peer: Peer) -> None:
        await peer.head("200 OK", "content-encoding: gzip", type="application/x-ndjson")
        await peer.chunks(*([gzip.compress(body)] if body else []))
        await peer.last()

    async with served(answer) as server, session() as client, client.get(server.url) as response:
        _, outcome = await read(open_response(response, JsonLines(eof="completes")))
    if body:
        assert isinstance(outcome, Interrupted)
        assert "auto_decompress=False" in str(outcome.error)
    else:
        assert isinstance(outcome, Completed)


def test_older_aiohttp_is_asked_by_its_session() -> None:
    """It did not count what it decoded."""
    for given, left in ((True, []), (False, ["gzip"])):
        session = SimpleNamespace(auto_decompress=given)
        content = SimpleNamespace(iter_any=None)
        headers = CIMultiDict({"content-encoding": "gzip"})
        response = SimpleNamespace(
            release=None, content=content, headers=headers, _session=session, status=200
        )
        assert as_answer(response)._codings() == left


@pytest.mark.parametrize("of", ["aiohttp", "httpx"])
@pytest.mark.parametrize("anyio_backend", ["asyncio-real"], indirect=True)
async def test_type_that_was_sent_twice_is_one(of: str) -> None:
    """The last one that is valid counts, whichever client it is."""

    async def answer(peer: Peer) -> None:
        await peer.head("200 OK", "content-type: text/event-stream,", type="text/html")
        await peer.chunks(WIRE)
        await peer.last()

    async with served(answer) as server, session() as aio, httpx.AsyncClient() as client:
        opened = aio.get(server.url) if of == "aiohttp" else client.stream("GET", server.url)
        async with opened as response:
            data, outcome = await read(open_response(response, DIALECT))
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
    # aiohttp drops what it has not handed out when it hears of the break.
    assert data in (["a"], [])
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
    with pytest.raises(TypeError, match=r"Not a response of .*: an object of SimpleNamespace"):
        open_response(SimpleNamespace(release=None), DIALECT)  # as a lock has one


class Closing(AsyncIterator[bytes]):
    """A body whose closing raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration

    async def aclose(self) -> None:
        raise self._error


async def test_a_body_that_is_being_closed_is_left_to_it() -> None:
    """Of two cancellations in quick succession; any other error is raised."""
    await leave(Closing(RuntimeError("aclose(): asynchronous generator is already running")))
    with pytest.raises(RuntimeError, match="no socket"):
        await leave(Closing(RuntimeError("no socket")))
