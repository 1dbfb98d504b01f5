"""Bytes that open, idle streams hold, and the cost of opening and closing one."""

from __future__ import annotations

import tracemalloc
from contextlib import AsyncExitStack

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream

import untorn
from untorn.dialects import Sse

from .measure import Row, interleaved
from .pipelines import BACKENDS


def per_stream(backend: str, count: int) -> float:
    """Return the traced bytes per stream that has handed out one event and waits."""
    name, options = BACKENDS[backend]
    return anyio.run(_per_stream, count, backend=name, backend_options=options)


async def _per_stream(count: int) -> float:
    async with AsyncExitStack() as stack:
        sources = [_source(stack) for _ in range(count)]
        await anyio.lowlevel.checkpoint()
        tracemalloc.start()
        for source in sources:
            stream = await stack.enter_async_context(untorn.open_stream(source, Sse()))
            await stream.receive()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return held / count


def _source(stack: AsyncExitStack) -> MemoryObjectReceiveStream[bytes]:
    send, receive = anyio.create_memory_object_stream[bytes](1)
    stack.push_async_exit(send)
    send.send_nowait(b"data: a\n\n")
    return receive


async def _open_and_close(count: int) -> None:
    for _ in range(count):
        send, receive = anyio.create_memory_object_stream[bytes](1)
        send.send_nowait(b"data: a\n\n")
        async with send, untorn.open_stream(receive, Sse()) as stream:
            await stream.receive()


def open_and_close(backend: str, count: int, rounds: int) -> Row:
    """Return the CPU time to open a stream, receive one event, and leave."""
    name, options = BACKENDS[backend]

    def run() -> None:
        anyio.run(_open_and_close, count, backend=name, backend_options=options)

    return interleaved("open, one event, close", backend, count, {"untorn": run}, rounds)
