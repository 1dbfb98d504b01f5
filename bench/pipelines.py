"""Whole readers on an event loop, fed from memory: each read is ready, and is one checkpoint."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import untorn
from untorn.dialects import JsonSse, OpenAIChat, Sse

from .loops import BACKENDS, ready, run
from .measure import OURS, Case, Effort, Row, grown, interleaved
from .peers import PEERS, importable
from .wires import READS, Wire, label, least

Reader = Callable[[list[bytes]], Awaitable[int]]

HEADERS = {"content-type": "text/event-stream"}


def cases(effort: Effort) -> Iterator[Case]:
    for backend in BACKENDS:
        reads = READS if backend == "asyncio" or not effort.quick else (0, 65536)
        for what, readers in (("pipeline", FRAMES), ("pipeline + JSON", JSON)):
            for read in reads:
                group = f"{what}, {backend}"
                rows = partial(_rows, group, backend, readers, read, effort)
                yield Case(group, label("chat", read), rows)


def _rows(
    group: str, backend: str, readers: dict[str, Reader], read: int, effort: Effort
) -> Iterator[Row]:
    found = {name: reader for name, reader in readers.items() if _runs(name)}

    def once(count: int) -> float:
        wire = Wire("chat", read, count)
        return run(backend, _timed, found[OURS], wire.chunks(), count)

    count = grown(once, effort.seconds, least("chat", read))
    chunks = Wire("chat", read, count).chunks()
    runs = {
        name: partial(run, backend, _timed, reader, chunks, count) for name, reader in found.items()
    }
    yield interleaved(group, label("chat", read), runs, effort.rounds, count)


async def _timed(reader: Reader, chunks: list[bytes], expected: int) -> float:
    """Return the seconds of CPU, without those that the loop takes to start and stop."""
    began = time.thread_time()
    count = await reader(chunks)
    seconds = time.thread_time() - began
    assert count == expected, (reader, count, expected)
    return seconds


def _runs(name: str) -> bool:
    return name not in PEERS or importable(PEERS[name])


def fold(value: Any, parts: list[str]) -> None:
    """What every reader of JSON does with an event: take its text."""
    parts.append(value["choices"][0]["delta"]["content"])


async def _untorn(chunks: list[bytes]) -> int:
    count = 0
    async with untorn.open_stream(ready(chunks), Sse(eof="completes")) as stream:
        async for _ in stream:
            count += 1
    return count


async def _untorn_json(chunks: list[bytes]) -> int:
    parts: list[str] = []
    async with untorn.open_stream(ready(chunks), JsonSse(eof="completes")) as stream:
        async for event in stream:
            fold(event.data, parts)
    return len(parts)


async def _untorn_chat(chunks: list[bytes]) -> int:
    """The dialect that checks the types, and folds all of the message."""
    count = 0
    async with untorn.open_stream(ready(chunks), OpenAIChat()) as stream:
        async for event in stream.events():
            count += isinstance(event, untorn.TextDelta)
    return count


def _httpx_sse_events(chunks: list[bytes]) -> AsyncIterator[Any]:
    import httpx
    from httpx_sse import EventSource

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in ready(chunks):
                yield chunk

    response = httpx.Response(200, headers=HEADERS, stream=Body())
    return EventSource(response).aiter_sse()


def _httpx2_events(chunks: list[bytes]) -> AsyncIterator[Any]:
    import httpx2

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in ready(chunks):
                yield chunk

    request = httpx2.Request("GET", "http://localhost")
    response = httpx2.Response(200, headers=HEADERS, stream=Body(), request=request)
    return aiter(httpx2.EventSource(response))


def _openai_events(chunks: list[bytes]) -> AsyncIterator[Any]:
    from openai._streaming import SSEDecoder

    return SSEDecoder().aiter_bytes(ready(chunks))


def _anthropic_events(chunks: list[bytes]) -> AsyncIterator[Any]:
    from anthropic._streaming import SSEDecoder

    return SSEDecoder().aiter_bytes(ready(chunks))


Events = Callable[[list[bytes]], AsyncIterator[Any]]


async def _count(events: Events, chunks: list[bytes]) -> int:
    count = 0
    async for _ in events(chunks):
        count += 1
    return count


async def _loads(events: Events, chunks: list[bytes]) -> int:
    parts: list[str] = []
    async for event in events(chunks):
        fold(json.loads(event.data), parts)
    return len(parts)


_PEERS: dict[str, Events] = {
    "httpx-sse": _httpx_sse_events,
    "httpx2": _httpx2_events,
    "openai": _openai_events,
    "anthropic": _anthropic_events,
}


async def _reads_alone(chunks: list[bytes]) -> int:
    size = 0
    async for chunk in ready(chunks):
        size += len(chunk)
    return size // len(Wire("chat", 0, 1).event)


FRAMES: dict[str, Reader] = {
    OURS: _untorn,
    **{name: partial(_count, events) for name, events in _PEERS.items()},
    "floor: reads": _reads_alone,
}
JSON: dict[str, Reader] = {
    OURS: _untorn_json,
    "untorn, OpenAIChat": _untorn_chat,
    **{name: partial(_loads, events) for name, events in _PEERS.items()},
}
