"""Thousands of slow streams on one event loop: CPU, memory, delay, and a cancel of them all.

Each stream has an event due every two seconds, all of them evenly spread. A consumer notes
how long after it was due it has the event.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import anyio

from .loops import BACKENDS, in_child, run
from .measure import OURS, Case, Effort, Row
from .memory import resident

_PERIOD = 2.0


def cases(effort: Effort) -> Iterator[Case]:
    count, periods = effort.pick(5000, 300), effort.pick(3, 1)
    for backend in ("asyncio",) if effort.quick else BACKENDS:
        group = f"{count:,} slow streams, {backend}"
        yield Case(group, "all", partial(_rows, group, backend, count, periods))


def _rows(group: str, backend: str, count: int, periods: int) -> Iterator[Row]:
    found = {name: in_child("many.measured", backend, name, count, periods) for name in READERS}
    for what, unit in _UNITS.items():
        values = {name: [got[what]] for name, got in found.items()}
        yield Row(group, what, unit, values)


_UNITS = {
    "CPU": "us/event",
    "memory": "KiB/stream",
    "delay, median": "ms",
    "delay, p99": "ms",
    "delay, longest": "ms",
    "fewest events of a stream": "of due",
    "cancel all": "s",
}


# --- what follows runs in children


class Schedule:
    """When the events are due, once all streams are open; and how late each then was."""

    def __init__(self, count: int) -> None:
        self._count, self._open = count, 0
        self.all_open, self.begun = anyio.Event(), anyio.Event()
        self.first = 0.0
        self.delays: list[list[float]] = [[] for _ in range(count)]

    def begin(self) -> None:
        self.first = anyio.current_time() + 0.2
        self.begun.set()

    def note(self, stream: int, data: str) -> None:
        """A stream has an event, whose data says when it was due; the first is due at once."""
        if data:
            self.delays[stream].append(anyio.current_time() - float(data))
            return
        self._open += 1
        if self._open == self._count:
            self.all_open.set()


class Slow:
    """A source with one chunk at once, and then, when all are open, one each period."""

    def __init__(self, schedule: Schedule, number: int, count: int) -> None:
        self._schedule, self._offset = schedule, number * _PERIOD / count
        self._sent = 0

    def __aiter__(self) -> Slow:
        return self

    async def __anext__(self) -> bytes:
        self._sent += 1
        if self._sent == 1:
            return b"data:\n\n"
        if self._sent == 2:
            await self._schedule.begun.wait()
        due = self._schedule.first + self._offset + (self._sent - 2) * _PERIOD
        await anyio.sleep_until(due)
        return b"data: %.9f\n\n" % due

    async def aclose(self) -> None: ...


async def _untorn(source: Any, number: int, schedule: Schedule) -> None:
    import untorn
    from untorn.dialects import Sse

    async with untorn.open_stream(source, Sse()) as stream:
        async for event in stream:
            schedule.note(number, event.data)


async def _httpx_sse(source: Any, number: int, schedule: Schedule) -> None:
    import httpx
    from httpx_sse import EventSource

    class Body(httpx.AsyncByteStream):
        def __aiter__(self) -> Any:
            return source

    headers = {"content-type": "text/event-stream"}
    response = httpx.Response(200, headers=headers, stream=Body())
    async for event in EventSource(response).aiter_sse():
        schedule.note(number, event.data)


async def _source_alone(source: Any, number: int, schedule: Schedule) -> None:
    async for chunk in source:
        schedule.note(number, chunk[6:].strip().decode())


READERS = {OURS: _untorn, "httpx-sse": _httpx_sse, "floor: timers": _source_alone}


def measured(backend: str, reader: str, count: int, periods: int) -> dict[str, float]:
    """Return what so many streams cost over so many periods."""
    return run(backend, _measured, READERS[reader], count, periods)


async def _measured(reader: Any, count: int, periods: int) -> dict[str, float]:
    await _warm_up(reader)
    schedule, before = Schedule(count), resident()
    memory, used, asked = 0, 0.0, 0.0
    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(reader, Slow(schedule, number, count), number, schedule)
        await schedule.all_open.wait()
        memory = resident() - before
        schedule.begin()
        began = time.process_time()
        await anyio.sleep_until(schedule.first + periods * _PERIOD + 0.5)
        used, asked = time.process_time() - began, time.perf_counter()
        group.cancel_scope.cancel()
    took = time.perf_counter() - asked
    events = sum(map(len, schedule.delays))
    return _summary(schedule.delays, periods) | {
        "CPU": used / events * 1e6,
        "memory": memory / count / 1024,
        "cancel all": took,
    }


async def _warm_up(reader: Any) -> None:
    """Import and make what is made once."""
    schedule = Schedule(1)
    async with anyio.create_task_group() as group:
        group.start_soon(reader, Slow(schedule, 0, 1), 0, schedule)
        await schedule.all_open.wait()
        group.cancel_scope.cancel()


def _summary(delays: list[list[float]], periods: int) -> dict[str, float]:
    all_of_them = sorted(delay * 1e3 for of in delays for delay in of)
    return {
        "delay, median": statistics.median(all_of_them),
        "delay, p99": all_of_them[int(len(all_of_them) * 0.99)],
        "delay, longest": all_of_them[-1],
        "fewest events of a stream": min(map(len, delays)) / periods,
    }
