"""Back-pressure in bytes: what is read ahead of a stalled consumer is window, read and frame.

`read_bytes` is the window and the size of a read; a window is four bytes at least, so that an
unfinished character cannot fill it.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from anyio.abc import ByteReceiveStream, SocketStream

from untorn import Cause, Completed, Limits, open_stream
from untorn.testing import FaultySource

from .backends import on_sockets
from .sources import DIALECT, data_of, is_interrupted, sse

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


def ahead(read_bytes: int, frame: int) -> int:
    """Return the bound on the bytes read and not done with."""
    return max(read_bytes, 4) + read_bytes + frame


@pytest.mark.parametrize(
    ("read_bytes", "size", "count"),
    [
        (1, 5, 20),
        (1, 100, 5),
        (2, 40, 15),
        (5, 700, 5),
        (64, 10, 100),
        (1000, 10, 700),
        (1000, 100_000, 3),
        (65536, 300_000, 5),
        (65536, 10, 9_000),
    ],
)
async def test_reading_ahead_is_bounded(read_bytes: int, size: int, count: int) -> None:
    """However large events and reads are, at every moment; and nothing is blocked by its size."""
    frame = len(sse("x" * size))
    source = FaultySource(sse(*["x" * size] * count, "END"))
    done, taken = 0, 0
    async with open_stream(source, DIALECT, limits=Limits(read_bytes=read_bytes)) as stream:
        async for event in stream:
            taken += 1
            if taken < 20 or taken % 500 == 0:
                await anyio.wait_all_tasks_blocked()
            assert source.offset - done <= ahead(read_bytes, frame), taken
            done += len(sse(event.data))
    assert taken == count + 1
    assert isinstance(stream.outcome, Completed)


@pytest.mark.parametrize("read_bytes", [1, 2, 5, 64, 1000, 65536])
@pytest.mark.parametrize("size", [1, 30, 600])
async def test_stalled_consumer_stops_the_reading(read_bytes: int, size: int) -> None:
    """Nobody takes an event: the bound holds to the byte."""
    frame = len(sse("x" * size))
    source = FaultySource(sse("x" * size) * (200_000 // frame))
    async with open_stream(source, DIALECT, limits=Limits(read_bytes=read_bytes)) as stream:
        await anyio.wait_all_tasks_blocked()
        assert min(read_bytes, frame) <= source.offset <= ahead(read_bytes, frame)
        assert stream.statistics().bytes <= source.offset
    assert is_interrupted(stream.outcome, Cause.ABANDONED)


@pytest.mark.parametrize("read_bytes", [1, 3, 100])
async def test_chunk_larger_than_a_read_is_sliced(read_bytes: int) -> None:
    """A source that gives more than was asked for is taken a read at a time."""

    async def source() -> AsyncIterator[bytes]:
        yield sse(*"abcdefgh") * 10 + sse("END")

    async with open_stream(source(), DIALECT, limits=Limits(read_bytes=read_bytes)) as stream:
        await anyio.wait_all_tasks_blocked()
        assert stream.statistics().bytes <= ahead(read_bytes, 9)
        assert len(await data_of(stream)) == 81


@pytest.mark.parametrize("read_bytes", [1, 2, 5, 1000])
async def test_comments_cost_no_window(read_bytes: int) -> None:
    """Bytes that make no event are done with at once, though nobody takes any."""
    wire = b": ping\n\n" * 50 + b": " + b"x" * 100
    source = FaultySource(wire + b"\n\n" + sse("END"))
    async with open_stream(source, DIALECT, limits=Limits(read_bytes=read_bytes)) as stream:
        await anyio.wait_all_tasks_blocked()
        assert source.offset >= len(wire)
        assert await data_of(stream) == ["END"]


@pytest.mark.parametrize("read_bytes", [1, 2, 3, 5])
async def test_characters_fill_no_window(read_bytes: int) -> None:
    """Characters of four bytes, a BOM and a CRLF in reads of one byte block nothing."""
    wire = b"\xef\xbb\xbf" + "data: 🦊🙂\r\n\r\n: 🦊\r\n\r\ndata: END\r\n\r\n".encode()
    async with open_stream(
        FaultySource(wire), DIALECT, limits=Limits(read_bytes=read_bytes)
    ) as stream:
        assert await data_of(stream) == ["🦊🙂", "END"]


# --- on a real socket ---------------------------------------------------------------


class Counted(ByteReceiveStream):
    """A socket, and how many bytes were taken from it."""

    def __init__(self, socket: SocketStream) -> None:
        self.socket = socket
        self.taken = 0

    async def receive(self, max_bytes: int = 65536) -> bytes:
        chunk = await self.socket.receive(max_bytes)
        self.taken += len(chunk)
        return chunk

    async def aclose(self) -> None:
        await self.socket.aclose()


class Sender:
    """A peer that sends events as fast as it can, up to `total` bytes, and then END."""

    def __init__(self, total: int, size: int) -> None:
        self.block = sse(*["x" * size] * max(1, 65536 // size))
        self.rounds = total // len(self.block)
        self.sent = 0
        self.over = anyio.Event()

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                for _ in range(self.rounds):
                    await stream.send(self.block)
                    self.sent += len(self.block)
                await stream.send(sse("END"))
            except anyio.BrokenResourceError:
                pass
        self.over.set()

    async def until_blocked(self) -> None:
        """Wait until the buffers of the kernel are full and nothing moves any more."""
        before = -1
        while self.sent != before:
            before = self.sent
            with anyio.move_on_after(0.1):
                await self.over.wait()
            await anyio.wait_all_tasks_blocked()


async def _connect(sender: Sender, group: Any) -> Counted:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def accept() -> None:
        async with listener:
            await sender.serve(await listener.listeners[0].accept())

    group.start_soon(accept)
    return Counted(await anyio.connect_tcp("127.0.0.1", port))


@on_sockets
@pytest.mark.parametrize("size", [300, 300_000])
async def test_stalled_consumer_holds_a_peer_back(size: int) -> None:
    """A peer that tries to send 256 MiB gets no further than the bound; memory stays flat."""
    sender = Sender(256 * MIB, size)
    frame = len(sse("x" * size))
    async with anyio.create_task_group() as group:
        source = await _connect(sender, group)
        async with open_stream(source, DIALECT) as stream:
            first = await stream.receive()
            assert len(first.data) == size
            tracemalloc.start()
            try:
                await sender.until_blocked()
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert source.taken <= ahead(65536, frame)  # the first is not done with yet
            assert not sender.over.is_set()
            assert sender.sent < 64 * MIB
            assert peak < 8 * MIB
        await sender.over.wait()
    assert is_interrupted(stream.outcome, Cause.ABANDONED)


@on_sockets
async def test_peer_goes_on_when_the_consumer_does() -> None:
    """After the stall all arrives, in full."""
    sender = Sender(8 * MIB, 5000)
    async with anyio.create_task_group() as group:
        source = await _connect(sender, group)
        async with open_stream(source, DIALECT) as stream:
            size = len(sse((await stream.receive()).data))
            await sender.until_blocked()
            async for event in stream:
                size += len(sse(event.data))
            assert source.taken <= size + 65536
    assert isinstance(stream.outcome, Completed)
    assert size == sender.rounds * len(sender.block) + len(sse("END"))
    assert stream.statistics().waited_for_consumer > 0
