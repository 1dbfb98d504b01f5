"""What others have of it: how long a rival task waits, and how far is read ahead."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial

import anyio
import anyio.lowlevel

import untorn
from untorn.dialects import Sse

from .loops import BACKENDS, run
from .measure import OURS, Case, Effort, Row, interleaved
from .wires import EVENTS, TINY, label

_WORK = 20e-6  # seconds that the consumer works on an event
_WINDOW = untorn.Limits().read_bytes


def cases(effort: Effort) -> Iterator[Case]:
    group = "fairness"
    for backend in BACKENDS:
        subject = f"a rival's longest wait, {backend}"
        yield Case(group, subject, partial(_waits, group, subject, backend, effort))
        subject = f"events after cancel(), {backend}"
        yield Case(group, subject, partial(_after_cancel, group, subject, backend, effort))
    for name in ("tiny", "chat", "100 KiB"):
        for read in (1460, 65536, 1 << 20):
            subject = f"read ahead, {label(name, read)}"
            yield Case(group, subject, partial(_ahead, group, subject, name, read))


# --- a consumer that works without waiting, on all events of one read of 64 KiB


async def _one_read() -> AsyncIterator[bytes]:
    await anyio.lowlevel.checkpoint()
    yield TINY * (65536 // len(TINY))


async def _untorn(work: Callable[[], None]) -> None:
    async with untorn.open_stream(_one_read(), Sse(eof="completes")) as stream:
        async for _ in stream:
            work()


async def _httpx_sse(work: Callable[[], None]) -> None:
    import httpx
    from httpx_sse import EventSource

    class Body(httpx.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return _one_read()

    headers = {"content-type": "text/event-stream"}
    async for _ in EventSource(httpx.Response(200, headers=headers, stream=Body())).aiter_sse():
        work()


_CONSUMERS: dict[str, Callable[[Callable[[], None]], Awaitable[None]]] = {
    OURS: _untorn,
    "httpx-sse": _httpx_sse,
}


def _busy() -> None:
    until = time.thread_time() + _WORK
    while time.thread_time() < until:
        pass


def _waits(group: str, subject: str, backend: str, effort: Effort) -> Iterator[Row]:
    """In CPU time of the thread: what other processes take is not the reader's doing."""
    runs = {
        name: partial(run, backend, _longest_wait, consumer)
        for name, consumer in _CONSUMERS.items()
    }
    yield interleaved(group, subject, runs, effort.rounds, 1, "ms")


async def _longest_wait(consumer: Callable[[Callable[[], None]], Awaitable[None]]) -> float:
    longest, over = 0.0, False

    async def rival() -> None:
        nonlocal longest
        last = time.thread_time()
        while not over:
            await anyio.lowlevel.checkpoint()
            longest, last = max(longest, time.thread_time() - last), time.thread_time()

    async with anyio.create_task_group() as group:
        group.start_soon(rival)
        await anyio.lowlevel.checkpoint()
        await consumer(_busy)
        over = True
    return longest


def _after_cancel(group: str, subject: str, backend: str, effort: Effort) -> Iterator[Row]:
    values = {
        name: [float(run(backend, _events_after, consumer)) for _ in range(effort.pick(3, 1))]
        for name, consumer in _CONSUMERS.items()
    }
    yield Row(group, subject, "events", values)


async def _events_after(consumer: Callable[[Callable[[], None]], Awaitable[None]]) -> int:
    """Return how many events the consumer still works on once its scope is cancelled."""
    seen = 0
    with anyio.CancelScope() as scope:

        def work() -> None:
            nonlocal seen
            seen += 1
            if seen == 100:
                scope.cancel()

        await consumer(work)
    return seen - 100


# --- a consumer that takes one event and stalls


def _ahead(group: str, subject: str, name: str, read: int) -> Iterator[Row]:
    """The stated bound: the window, one read, one frame; what was handed over is not held."""
    size = len(EVENTS[name])
    held = max(run("asyncio", _held, name, read, taken) for taken in (1, 2, 7))
    bound = _WINDOW + read + size
    note = f"{held:,} bytes held, of {bound:,} by the stated bound"
    yield Row(group, subject, "of bound", {OURS: [held / bound]}, note)
    yield Row(group, f"{subject}: reads", "reads", {OURS: [held / read]})


async def _held(name: str, read: int, taken: int) -> int:
    source = _Counting(name, read)
    async with untorn.open_stream(source, Sse()) as stream:
        for _ in range(taken):
            await stream.receive()
        await _until_it_rests(source)
        return source.given - taken * len(EVENTS[name])


async def _until_it_rests(source: _Counting) -> None:
    with anyio.fail_after(10):
        before = -1
        while source.given != before:
            before = source.given
            await anyio.sleep(0.02)


class _Counting:
    """Endless events in chunks of one size; counts the bytes that were taken."""

    def __init__(self, name: str, read: int) -> None:
        self._read, self.given = read, 0
        self._body = EVENTS[name] * max(1, (4 << 20) // len(EVENTS[name]))

    def __aiter__(self) -> _Counting:
        return self

    async def __anext__(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        at = self.given % len(self._body)
        chunk = (self._body[at : at + self._read] + self._body)[: self._read]
        self.given += len(chunk)
        return chunk
