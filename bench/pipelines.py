"""Whole readers on an event loop, fed from memory: each read is ready, and is one checkpoint."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import anyio.lowlevel
import httpx
import httpx_sse

import untorn
from untorn.dialects import JsonSse, Sse

Reader = Callable[[list[bytes]], Awaitable[int]]


async def _source(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await anyio.lowlevel.checkpoint()
        yield chunk


async def untorn_frames(chunks: list[bytes]) -> int:
    count = 0
    async with untorn.open_stream(_source(chunks), Sse(eof="completes")) as stream:
        async for _ in stream:
            count += 1
    return count


async def untorn_json(chunks: list[bytes]) -> int:
    count = 0
    async with untorn.open_stream(_source(chunks), JsonSse(eof="completes")) as stream:
        async for _ in stream:
            count += 1
    return count


class _Body(httpx.AsyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in _source(self._chunks):
            yield chunk


def _response(chunks: list[bytes]) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(chunks))


async def httpx_sse_frames(chunks: list[bytes]) -> int:
    count = 0
    async for _ in httpx_sse.EventSource(_response(chunks)).aiter_sse():
        count += 1
    return count


async def httpx_sse_json(chunks: list[bytes]) -> int:
    count = 0
    async for event in httpx_sse.EventSource(_response(chunks)).aiter_sse():
        json.loads(event.data)
        count += 1
    return count


FRAMES: dict[str, Reader] = {"untorn": untorn_frames, "httpx-sse": httpx_sse_frames}
JSON: dict[str, Reader] = {"untorn": untorn_json, "httpx-sse": httpx_sse_json}

BACKENDS = {
    "asyncio": ("asyncio", {}),
    "uvloop": ("asyncio", {"use_uvloop": True}),
    "trio": ("trio", {}),
}


def run(backend: str, reader: Reader, chunks: list[bytes], expected: int) -> None:
    """Run a reader to its end on a fresh loop."""
    name, options = BACKENDS[backend]
    count = anyio.run(reader, chunks, backend=name, backend_options=options)
    assert count == expected, (backend, reader, count, expected)
