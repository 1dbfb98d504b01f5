"""What is held: by idle streams, at the peak of a long one, and against a hostile one.

Each number comes from a process of its own.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

import untorn
from untorn.dialects import Sse

from .loops import BACKENDS, Silent, in_child, run
from .measure import OURS, Case, Effort, Row
from .wires import CHAT, TINY, label

KIB, MIB = 1024, 1 << 20


def cases(effort: Effort) -> Iterator[Case]:
    many = ((300, "traced"),) if effort.quick else ((1000, "traced"), (5000, "resident"))
    for backend in ("asyncio",) if effort.quick else BACKENDS:
        for count, how in many:
            subject = f"{count:,} idle streams, {backend}, {how}"
            rows = partial(_idle_rows, subject, backend, count, how)
            yield Case("memory", subject, rows)
    for name, measure, args in _peaks(effort):
        yield Case("memory", name, partial(_peak_rows, name, measure, args))


def _idle_rows(subject: str, backend: str, count: int, how: str) -> Iterator[Row]:
    values = {name: [in_child("memory.idle", backend, name, count, how) / KIB] for name in READERS}
    yield Row("memory", subject, "KiB/stream", values)


def _peak_rows(name: str, measure: str, args: tuple[int, int]) -> Iterator[Row]:
    peak, of = in_child(f"memory.{measure}", *args)
    note = f"peak {peak / MIB:.2f} MiB, of {of / MIB:.2f} MiB"
    yield Row("memory", name, "times", {OURS: [peak / of]}, note)


def _peaks(effort: Effort) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield the name of each peak, the function that measures it, and its arguments."""
    whole = effort.pick(64 * MIB, 4 * MIB)
    line, slow = effort.pick(16 * MIB, MIB), effort.pick(MIB // 2, MIB // 8)
    for read in (64 * KIB, 1460):
        yield label(f"peak, {_size(whole)} of events", read), "long_stream", (whole, read)
    for size, read in ((line, 64 * KIB), (line, KIB), (slow, 1)):
        yield label(f"peak, a line of {_size(size)}", read), "long_line", (size, read)
        yield label(f"peak, endless line, limit {_size(size)}", read), "hostile", (size, read)


def _size(size: int) -> str:
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


# --- idle streams; these run in children


Reader = Callable[[Any, Callable[[], None], bool], Coroutine[Any, Any, None]]
"""Reads one event of a source, tells of it, and then leaves, or stays and waits for another."""


async def _untorn(source: Any, told: Callable[[], None], stays: bool) -> None:
    async with untorn.open_stream(source, Sse()) as stream:
        await stream.receive()
        told()
        if stays:
            await stream.receive()


async def _httpx_sse(source: Any, told: Callable[[], None], stays: bool) -> None:
    import httpx
    from httpx_sse import EventSource

    class Body(httpx.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return source  # type: ignore[no-any-return]

    headers = {"content-type": "text/event-stream"}
    events = EventSource(httpx.Response(200, headers=headers, stream=Body())).aiter_sse()
    try:
        await anext(events)
        told()
        if stays:
            await anext(events)
    finally:
        await events.aclose()


async def _source_alone(source: Any, told: Callable[[], None], stays: bool) -> None:
    await anext(source)
    told()
    if stays:
        await anext(source)


READERS: dict[str, Reader] = {
    OURS: _untorn,
    "httpx-sse": _httpx_sse,
    "floor: task": _source_alone,
}


def idle(backend: str, reader: str, count: int, how: str) -> float:
    """Return the bytes per stream that has handed out one event, and waits in a task."""
    try:
        return run(backend, _idle, READERS[reader], count, MEMORY[how])
    finally:
        tracemalloc.stop()


async def _idle(reader: Reader, count: int, held: Callable[[], int]) -> float:
    got = before = after = 0

    def told() -> None:
        nonlocal got
        got += 1

    async with anyio.create_task_group() as group:
        group.start_soon(reader, Silent(TINY), told, True)  # what is made once is made now
        await _until(lambda: got == 1)
        before = held()
        for _ in range(count):
            group.start_soon(reader, Silent(TINY), told, True)
        await _until(lambda: got == count + 1)
        after = held()
        group.cancel_scope.cancel()
    return (after - before) / count


async def _until(done: Callable[[], bool]) -> None:
    while not done():
        await anyio.lowlevel.checkpoint()
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


def _traced() -> int:
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def resident() -> int:
    """Return the bytes of memory that the process occupies."""
    gc.collect()
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except FileNotFoundError:  # elsewhere than on Linux: the most there ever was
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return pages * 4096


MEMORY = {"traced": _traced, "resident": resident}


# --- peaks; these run in children


def long_stream(size: int, read: int) -> tuple[int, int]:
    """Return the traced peak while a stream of so many bytes is read, and its size."""
    body = CHAT * (4 * MIB // len(CHAT))

    async def source() -> AsyncIterator[bytes]:
        for _ in range(size // len(body)):
            for at in range(0, len(body), read):
                yield body[at : at + read]

    return _peak(source, untorn.Limits(), completes=True), size


def long_line(size: int, read: int) -> tuple[int, int]:
    """Return the traced peak while one event of one line is read, and handed out; its size."""
    limits = untorn.Limits(frame_bytes=size + KIB)
    return _peak(partial(_line, size, read, b"\n\n"), limits, completes=True), size


def hostile(size: int, read: int) -> tuple[int, int]:
    """Return the traced peak while a line outgrows its limit, and the limit."""
    limits = untorn.Limits(frame_bytes=size)
    return _peak(partial(_line, 2 * size, read, b""), limits, completes=False), size


async def _line(size: int, read: int, end: bytes) -> AsyncIterator[bytes]:
    block = b"x" * read
    yield b"data: "
    for _ in range(size // read):
        yield block
    if end:
        yield end


def _peak(
    source: Callable[[], AsyncIterator[bytes]], limits: untorn.Limits, *, completes: bool
) -> int:
    return run("asyncio", _read_all, source, limits, completes)


async def _read_all(
    source: Callable[[], AsyncIterator[bytes]], limits: untorn.Limits, completes: bool
) -> int:
    await untorn.collect(Silent(b""), Sse(), limits=limits, clocks=untorn.Clocks(idle=0.001))
    tracemalloc.start()
    async with untorn.open_stream(source(), Sse(eof="completes"), limits=limits) as stream:
        async for _ in stream.events():
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(stream.outcome, untorn.Completed) is completes, stream.outcome
    return peak
