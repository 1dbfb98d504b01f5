"""A real response on loopback, read to its end: the client's CPU per event.

What is timed begins when the head of the response has come: no client is charged for
being set up. With 1 and 5 events per chunk the server paces them, so that each chunk
is a read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import anyio

import untorn
from untorn.dialects import JsonSse

from .loops import BACKENDS, run
from .measure import OURS, Case, Effort, Row, interleaved
from .peers import importable
from .pipelines import fold
from .wires import CHAT

_PAUSE = 400  # microseconds between chunks, where there are few events in each

Client = Callable[[str, int], Awaitable[float]]
"""Reads so many events from a URL, and returns the seconds of CPU it took."""


def cases(effort: Effort) -> Iterator[Case]:
    for backend in BACKENDS:
        for per_chunk, full, quick in ((1, 400, 60), (5, 1000, 0), (250, 5000, 500)):
            if not effort.pick(full, quick):
                continue
            group, subject = f"HTTP, {backend}", f"{per_chunk} per chunk"
            count = effort.pick(full, quick)
            rows = partial(_rows, group, subject, backend, count, per_chunk, effort)
            yield Case(group, subject, rows)


def _rows(
    group: str, subject: str, backend: str, count: int, per_chunk: int, effort: Effort
) -> Iterator[Row]:
    pause = _PAUSE if per_chunk < 10 else 0
    url = f"http://127.0.0.1:{_port()}/{count}/{per_chunk}/{pause}"
    runs = {
        name: partial(run, backend, client, url, count)
        for name, (module, client) in CLIENTS.items()
        if importable(module)
    }
    # Processes that sleep and wake are noisier than those that work.
    yield interleaved(group, subject, runs, effort.pick(11, effort.rounds), count, "us/event")


@cache
def _port() -> int:
    import atexit

    server = subprocess.Popen(
        [sys.executable, "-m", "bench.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    )
    atexit.register(server.kill)
    assert server.stdout is not None
    return int(server.stdout.readline())


class Timer:
    seconds = 0.0


@contextmanager
def _timed() -> Iterator[Timer]:
    timer, began = Timer(), time.thread_time()
    yield timer
    timer.seconds = time.thread_time() - began


def _check(found: int, expected: int) -> None:
    assert found == expected, f"{found} events of {expected}"


async def _socket(url: str, count: int) -> float:
    """Reads of the socket alone."""
    port, _, path = url.removeprefix("http://127.0.0.1:").partition("/")
    async with await anyio.connect_tcp("127.0.0.1", int(port)) as stream:
        await stream.send(b"GET /%b HTTP/1.1\r\nhost: localhost\r\n\r\n" % path.encode())
        head = await stream.receive()
        size = len(head.partition(b"\r\n\r\n")[2])  # on a busy machine it does not come alone
        with _timed() as timer:
            async for chunk in stream:
                size += len(chunk)
    assert size > count * len(CHAT)
    return timer.seconds


async def _httpx_bytes(url: str, count: int) -> float:
    import httpx

    size = 0
    async with httpx.AsyncClient(verify=False) as client, client.stream("GET", url) as response:
        with _timed() as timer:
            async for chunk in response.aiter_bytes():
                size += len(chunk)
    _check(size, count * len(CHAT))
    return timer.seconds


async def _httpx_sse(url: str, count: int) -> float:
    import httpx
    from httpx_sse import EventSource

    parts: list[str] = []
    async with httpx.AsyncClient(verify=False) as client, client.stream("GET", url) as response:
        with _timed() as timer:
            async for event in EventSource(response).aiter_sse():
                fold(json.loads(event.data), parts)
    _check(len(parts), count)
    return timer.seconds


async def _httpx2_sse(url: str, count: int) -> float:
    import httpx2

    parts: list[str] = []
    async with httpx2.AsyncClient(verify=False) as client, client.stream("GET", url) as response:
        with _timed() as timer:
            async for event in httpx2.EventSource(response):
                fold(json.loads(event.data), parts)
    _check(len(parts), count)
    return timer.seconds


async def _untorn(library: str, url: str, count: int) -> float:
    from importlib import import_module

    module: Any = import_module(library)
    parts: list[str] = []
    async with module.AsyncClient(verify=False) as client, client.stream("GET", url) as response:
        with _timed() as timer:
            async with untorn.open_stream(response, JsonSse(eof="completes")) as stream:
                async for event in stream:
                    fold(event.data, parts)
    _check(len(parts), count)
    return timer.seconds


async def _openai(url: str, count: int) -> float:
    """The vendor's client: typed objects, checked by pydantic."""
    import httpx2
    from openai import AsyncOpenAI

    parts: list[str] = []
    http_client: Any = httpx2.AsyncClient(verify=False)
    async with AsyncOpenAI(base_url=url, api_key="none", http_client=http_client) as client:
        stream = await _openai_stream(client)
        with _timed() as timer:
            async for chunk in stream:
                parts.append(chunk.choices[0].delta.content)  # noqa: PERF401
    _check(len(parts), count)
    return timer.seconds


async def _openai_stream(client: Any) -> AsyncIterator[Any]:
    messages = [{"role": "user", "content": "hello"}]
    stream: AsyncIterator[Any] = await client.chat.completions.create(
        model="a-model", messages=messages, stream=True
    )
    return stream


CLIENTS: dict[str, tuple[str, Client]] = {
    OURS: ("httpx", partial(_untorn, "httpx")),
    "httpx-sse": ("httpx_sse", _httpx_sse),
    "httpx2 + untorn": ("httpx2", partial(_untorn, "httpx2")),
    "httpx2": ("httpx2", _httpx2_sse),
    "openai": ("openai", _openai),
    "floor: httpx": ("httpx", _httpx_bytes),
    "floor: socket": ("anyio", _socket),
}
