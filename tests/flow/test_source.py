"""Every kind of source, from the library that makes it, and what is none."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import Any

import aiohttp
import anyio
import pytest
import trio
from anyio.abc import ByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream

from untorn import Cause, Completed, Limits, open_stream

from .backends import in_asyncio, in_trio, on_sockets
from .http_server import ANSWER, serving
from .sources import DIALECT, Steps, data_of, is_interrupted, sse

pytestmark = pytest.mark.anyio

WIRE = sse("a", "END")


async def reads(source: Any) -> None:
    """Read a source of the usual wire whole."""
    async with open_stream(source, DIALECT) as stream:
        assert await data_of(stream) == ["a", "END"]
    assert isinstance(stream.outcome, Completed)


# --- anyio --------------------------------------------------------------------------


async def test_object_stream() -> None:
    send, receive = anyio.create_memory_object_stream[bytes](9)
    for part in (WIRE[:5], b"", WIRE[5:]):
        await send.send(part)
    send.close()
    await reads(receive)
    with pytest.raises(anyio.ClosedResourceError):
        await receive.receive()


async def test_object_stream_that_ends() -> None:
    send, receive = anyio.create_memory_object_stream[bytes](9)
    await send.send(sse("a"))
    send.close()
    async with open_stream(receive, DIALECT) as stream:
        assert await data_of(stream.events()) == ["a"]
    assert is_interrupted(stream.outcome, Cause.EOF)


class Bytes(ByteReceiveStream):
    """A byte stream that notes how much was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def receive(self, max_bytes: int = 65536) -> bytes:
        self.asked.append(max_bytes)
        if len(self.asked) > len(WIRE):
            raise anyio.EndOfStream
        return WIRE[len(self.asked) - 1 :][:1]

    async def aclose(self) -> None:
        pass


async def test_byte_stream_is_asked_for_a_read() -> None:
    source = Bytes()
    async with open_stream(source, DIALECT, limits=Limits(read_bytes=7)) as stream:
        assert await data_of(stream) == ["a", "END"]
    assert set(source.asked) == {7}


@on_sockets
async def test_socket() -> None:
    async def serve(stream: Any) -> None:
        async with stream:
            await stream.send(WIRE)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        source = await anyio.connect_tcp("127.0.0.1", port)
        async with open_stream(source, DIALECT) as stream:
            assert stream.extra(anyio.abc.SocketAttribute.remote_port) == port
            assert await data_of(stream) == ["a", "END"]
        group.cancel_scope.cancel()


# --- trio ---------------------------------------------------------------------------


@in_trio
async def test_trio_stream() -> None:
    send, receive = trio.testing.memory_stream_one_way_pair()
    await send.send_all(WIRE)
    await reads(receive)
    with pytest.raises(trio.ClosedResourceError):
        await receive.receive_some()


@in_trio
async def test_trio_stream_that_ends() -> None:
    send, receive = trio.testing.memory_stream_one_way_pair()
    await send.send_all(sse("a"))
    await send.aclose()
    async with open_stream(receive, DIALECT) as stream:
        assert await data_of(stream.events()) == ["a"]
    assert is_interrupted(stream.outcome, Cause.EOF)


@in_trio
async def test_trio_channel() -> None:
    send, receive = trio.open_memory_channel[bytes](math.inf)
    for part in (WIRE[:5], b"", WIRE[5:]):
        await send.send(part)
    await reads(receive)
    with pytest.raises(trio.ClosedResourceError):
        await receive.receive()


@in_trio
async def test_trio_channel_around_a_generator() -> None:
    """trio's own wrapper of a generator is a source."""

    @trio.as_safe_channel
    async def source() -> AsyncIterator[bytes]:
        yield WIRE[:5]
        yield WIRE[5:]

    async with source() as channel:
        await reads(channel)


# --- asyncio ------------------------------------------------------------------------


@in_asyncio
async def test_asyncio_reader() -> None:
    """It is read by size and not by line, and is not ours to close."""
    reader = asyncio.StreamReader(limit=5)
    reader.feed_data(b": " + b"x" * 50 + b"\n\n" + WIRE)
    reader.feed_eof()
    await reads(reader)
    assert await reader.read() == b""


@in_asyncio
async def test_asyncio_reader_that_ends() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(sse("a"))
    reader.feed_eof()
    async with open_stream(reader, DIALECT) as stream:
        assert await data_of(stream.events()) == ["a"]
    assert is_interrupted(stream.outcome, Cause.EOF)


@pytest.mark.parametrize("anyio_backend", ["asyncio-real", "uvloop"], indirect=True)
@pytest.mark.parametrize("path", ["/plain", "/gzip"])
async def test_aiohttp_response(path: str) -> None:
    async with serving() as server, aiohttp.ClientSession() as session:
        for _ in range(2):
            async with session.get(server.url + path) as response:
                with pytest.raises(TypeError, match=r"give `\.content`"):
                    open_stream(response, DIALECT)
                async with open_stream(response.content, DIALECT) as stream:
                    assert "".join(await data_of(stream)) == "你好 🦊END"
                assert stream.statistics().bytes == len(ANSWER)
        assert server.connections == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio-real", "uvloop"], indirect=True)
async def test_aiohttp_response_that_breaks() -> None:
    async with serving() as server, aiohttp.ClientSession() as session:  # noqa: SIM117 - each for itself
        async with session.get(server.url + "/broken") as response:
            async with open_stream(response.content, DIALECT) as stream:
                assert await data_of(stream.events()) == ["a"]
    assert is_interrupted(stream.outcome, Cause.TRANSPORT)
    assert isinstance(stream.outcome.error, aiohttp.ClientPayloadError)


# --- iterables ----------------------------------------------------------------------


async def generator() -> AsyncIterator[bytes]:
    yield WIRE[:5]
    yield WIRE[5:]


class Iterator:
    """An async iterator with nothing to close."""

    def __init__(self) -> None:
        self.parts = [WIRE[:5], WIRE[5:]]

    def __aiter__(self) -> Iterator:
        return self

    async def __anext__(self) -> bytes:
        if not self.parts:
            raise StopAsyncIteration
        return self.parts.pop(0)


@pytest.mark.parametrize("make", [generator, Iterator, lambda: Steps(WIRE[:5], WIRE[5:])])
async def test_iterables(make: Callable[[], Any]) -> None:
    source = make()
    await reads(source)
    assert getattr(source, "closed", True)


class Both:
    """An iterable that has something to close, beside the iterator it makes."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            yield sse("a")
            await anyio.sleep_forever()
        finally:
            self.log.append("iterator")

    async def aclose(self) -> None:
        self.log.append("iterable")


async def test_iterable_is_closed_behind_its_iterator() -> None:
    source = Both()
    async with open_stream(source, DIALECT) as stream:
        await stream.receive()
    assert source.log == ["iterator", "iterable"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
async def test_chunks_are_any_bytes_like(kind: Callable[[bytes], Any]) -> None:
    """Empty ones mean nothing."""
    await reads(Steps(*(kind(part) for part in (b"", WIRE[:5], b"", WIRE[5:]))))


async def test_buffer_that_is_used_again_is_copied() -> None:
    """A source may keep one buffer and fill it anew for each chunk."""
    buffer = bytearray(3)

    async def source() -> AsyncIterator[Any]:
        for start in range(0, len(WIRE), 3):
            part = WIRE[start : start + 3]
            buffer[: len(part)] = part
            yield memoryview(buffer)[: len(part)]

    await reads(source())


@pytest.mark.parametrize("chunk", ["text", 7, None])
async def test_chunk_that_is_no_bytes_breaks_the_transport(chunk: Any) -> None:
    """The exception names what came; the events before it are delivered."""

    async def source() -> AsyncIterator[Any]:
        yield sse("a")
        yield chunk

    async with open_stream(source(), DIALECT) as stream:
        assert await data_of(stream.events()) == ["a"]
    assert is_interrupted(stream.outcome, Cause.TRANSPORT)
    assert isinstance(stream.outcome.error, TypeError)
    assert type(chunk).__name__ in str(stream.outcome.error)


@pytest.mark.parametrize(
    ("thing", "hint"),
    [
        (42, "give an async iterable of bytes"),
        (b"data: a\n\n", r"parse\(\)"),
        ("data: a\n\n", r"parse\(\)"),
        ([b"data: a\n\n"], r"parse\(\)"),
        (iter([]), r"parse\(\)"),
        (generator, r"; call it first: generator\(\)$"),
        (nullcontext(), "; enter the block first: async with"),
    ],
)
def test_what_is_no_source_is_refused(thing: Any, hint: str) -> None:
    """At once, with a hint."""
    with pytest.raises(TypeError, match=hint):
        open_stream(thing, DIALECT)


def test_memory_streams_are_object_streams() -> None:
    """The class that tests rely on is the one that anyio documents."""
    assert issubclass(MemoryObjectReceiveStream, anyio.abc.ObjectReceiveStream)
