"""Cancelled by whatever means, however often, and at every step: nobody loses an event."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from flow.backends import living, run
from flow.sources import DIALECT, Steps, sse
from flow.test_every_step import _Asyncio, _Trio
from flow.test_receive import ATTEMPTS, Attempt, Rival, _with_wait_for

from untorn import Cause, Completed, Interrupted, open_stream, tee

from .supply import now, numbers


@pytest.mark.anyio
@pytest.mark.parametrize(("anyio_backend", "attempt"), ATTEMPTS, indirect=["anyio_backend"])
@pytest.mark.parametrize("capacity", [1, 16])
async def test_readers_lose_nothing_however_often_they_are_cancelled(
    attempt: Attempt, capacity: int
) -> None:
    """Each cancelled and called again hundreds of times: every event once, in order, at each."""
    names = numbers(0, 300)
    turns = random.Random(capacity)
    seen: dict[int, list[str]] = {}
    cancelled = [0] * 3

    async def source() -> AsyncIterator[bytes]:
        for start in range(0, len(names), 3):
            for _ in range(turns.randrange(9)):
                await checkpoint()
            if attempt is _with_wait_for and turns.random() < 0.2:
                await anyio.sleep(0.0005)
            yield sse(*names[start : start + 3])
        yield sse("END")

    async def read(index: int, reader: Any) -> None:
        rival, seen[index] = Rival(index), []
        async with anyio.create_task_group() as group:
            group.start_soon(rival.run)
            while not isinstance(reader.outcome, Completed):
                event = await attempt(reader.receive, rival)
                if event is None:
                    cancelled[index] += 1
                else:
                    seen[index].append(event.data)
            group.cancel_scope.cancel()

    async with (
        open_stream(source(), DIALECT) as stream,
        anyio.create_task_group() as group,
    ):
        for index, reader in enumerate(tee(stream, 3, capacity=capacity)):
            group.start_soon(read, index, reader)
    assert seen == {index: [*names, "END"] for index in range(3)}
    assert all(cancelled)


# --- at every step ------------------------------------------------------------------

EVENTS = ["a", "b", "c", "d", "e", "END"]


class Company:
    """Three readers of one stream, each in a task; the first has an enemy."""

    def __init__(self, slow: Any, capacity: int) -> None:
        self.slow, self.capacity = slow, capacity
        self.seen: list[list[str]] = [[], [], []]
        self.readers: Any = ()
        self.scope = anyio.CancelScope()
        self.task: Any = None
        self.begun = False

    async def read(self, index: int) -> None:
        with suppress(anyio.ClosedResourceError):
            async with self.readers[index] as reader:
                async for event in reader:
                    self.seen[index].append(event.data)
                    if event.data in "bd" and self.slow == "block":
                        await checkpoint()

    async def victim(self) -> None:
        self.begun = True
        with self.scope:
            await self.read(0)

    async def run(self) -> None:
        source = Steps(sse("a"), checkpoint, sse("b", "c", "d"), checkpoint, sse("e"), sse("END"))
        async with open_stream(source, DIALECT) as stream:
            self.readers = tee(stream, 3, slow=self.slow, capacity=self.capacity)
            async with anyio.create_task_group() as group:
                group.start_soon(self.read, 1)
                self.start(group)
                group.start_soon(self.read, 2)

    def start(self, group: Any) -> None:
        if self.task is None:
            group.start_soon(self.victim)
        else:
            self.task = asyncio.get_running_loop().create_task(self.victim())
            group.start_soon(asyncio.wait, [self.task])


def by_scope(company: Company) -> None:
    company.scope.cancel()


def by_task(company: Company) -> None:
    if company.begun:  # before, it has no reader to leave
        company.task.cancel()


def by_close(company: Company) -> None:
    if company.readers:
        now(company.readers[0].aclose())


WAYS: dict[str, tuple[str, Any, Callable[[Company], None]]] = {
    "asyncio scope": ("asyncio", _Asyncio, by_scope),
    "asyncio task": ("asyncio", _Asyncio, by_task),
    "asyncio close": ("asyncio", _Asyncio, by_close),
    "uvloop scope": ("uvloop", _Asyncio, by_scope),
    "uvloop task": ("uvloop", _Asyncio, by_task),
    "uvloop close": ("uvloop", _Asyncio, by_close),
    "trio scope": ("trio", _Trio, by_scope),
    "trio close": ("trio", _Trio, by_close),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("slow", ["block", "evict"])
@pytest.mark.parametrize("capacity", [1, 3])
def test_enemy_at_every_step(way: str, slow: str, capacity: int) -> None:
    """One is cancelled or closed, whatever anybody is doing: the others receive everything."""
    backend, watch, act = WAYS[way]

    async def main(at: int) -> tuple[int, Company]:
        company, alive = Company(slow, capacity), living()
        company.task = act is by_task or None
        watching = watch(at, lambda: act(company))
        with anyio.fail_after(60), watching:
            await company.run()
        assert living() == alive, at
        return watching.counter.steps, company

    steps, company = run(backend, main, -1)
    assert company.seen == [EVENTS] * 3
    assert 15 < steps < 400
    causes = set()
    for at in range(1, steps + 1):
        _, company = run(backend, main, at)
        causes.add(check(company, f"step {at} of {steps}"))
    assert (Cause.ABANDONED if act is by_close else Cause.CANCELLED) in causes


def check(company: Company, where: str) -> Cause | None:
    """Return why the victim was ended, if it was."""
    victim, *others = company.seen
    assert others == [EVENTS] * 2, where
    assert all(isinstance(reader.outcome, Completed) for reader in company.readers[1:]), where
    assert victim == EVENTS[: len(victim)], where
    outcome = company.readers[0].outcome
    if isinstance(outcome, Completed):
        assert victim == EVENTS, where
        return None
    assert isinstance(outcome, Interrupted)
    assert outcome.position.events == len(victim), where
    return outcome.cause
