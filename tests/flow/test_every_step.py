"""A cancellation at every step of a run: of any task, at any of its checkpoints."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any

import anyio
import pytest
import trio
from anyio.lowlevel import checkpoint

from untorn import Cause, Completed, Interrupted, StreamError, open_stream
from untorn.testing import FaultySource, Raise, Reset, Send

from .backends import living, run
from .sources import DIALECT, Steps, sse

Act = Callable[[], None]


class Counter:
    """Counts the steps of all tasks, and acts at one of them."""

    def __init__(self, at: int, act: Act) -> None:
        self.steps = 0
        self._at = at
        self._act = act

    def step(self) -> None:
        self.steps += 1
        if self.steps == self._at:
            self._act()


class TrioCounter(Counter, trio.abc.Instrument):
    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.step()


def _counted(counter: Counter) -> Any:
    """Return a task factory of asyncio whose tasks count each of their suspensions."""

    @types.coroutine
    def drive(coro: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        step: Any = coro.send
        value: Any = None
        while True:
            try:
                yielded = step(value)
            except StopIteration as end:
                return end.value
            counter.step()
            try:
                step, value = coro.send, (yield yielded)
            except BaseException as error:
                step, value = coro.throw, error

    async def whole(coro: Coroutine[Any, Any, Any]) -> Any:
        return await drive(coro)

    def factory(loop: Any, coro: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(whole(coro), loop=loop, **options)

    return factory


class Run:
    """One run of a consumer, and what was seen of it."""

    def __init__(self, source: Any, group: bool) -> None:
        self.source = source
        self.group = group
        self.stream: Any = None
        self.seen: list[str] = []
        self.ended = False  # the code behind the block has run

    async def consume(self) -> None:
        await self._read()
        self.ended = True
        await checkpoint()

    async def _read(self) -> None:
        if self.group:
            async with anyio.create_task_group() as group:
                await self._read_in(group)
        else:
            await self._read_in(None)

    async def _read_in(self, group: Any) -> None:
        opened = open_stream(self.source, DIALECT, task_group=group)
        with suppress(StreamError):
            async with opened as self.stream:
                async for event in self.stream:
                    self.seen.append(event.data)
                    if event.data == "b":
                        await checkpoint()


def _sources() -> dict[str, Callable[[], Any]]:
    parts = [sse("a"), sse("b", "c"), sse("END"), b": more\n"]
    sends = [Send(part) for part in parts]
    return {
        "completed": lambda: FaultySource(b"", faults=sends),
        "cut": lambda: FaultySource(b"", faults=sends[:2]),
        "broken": lambda: FaultySource(b"", faults=[*sends[:2], Reset()]),
        "bad close": lambda: FaultySource(b"", faults=sends, on_close=Raise(OSError())),
        "generator": lambda: Steps(parts[0], checkpoint, *parts[1:]),
    }


async def _by_scope(one: Run, at: int, counter: Any) -> tuple[int, bool]:
    """Cancel the scope around the consumer at step `at`; return all steps, and if it noticed."""
    with anyio.CancelScope() as scope:
        watch = counter(at, scope.cancel)
        with watch:
            async with anyio.create_task_group() as group:
                group.start_soon(one.consume)
    return watch.counter.steps, scope.cancelled_caught


async def _by_task(one: Run, at: int, counter: Any) -> tuple[int, bool]:
    """The same by `Task.cancel()`."""
    task: Any = None
    watch = counter(at, lambda: task.cancel())
    with watch:
        task = asyncio.get_running_loop().create_task(one.consume())
        await asyncio.wait([task])
    return watch.counter.steps, task.cancelled()


class _Asyncio:
    def __init__(self, at: int, act: Act) -> None:
        self.counter = Counter(at, act)

    def __enter__(self) -> None:
        asyncio.get_running_loop().set_task_factory(_counted(self.counter))

    def __exit__(self, *exc: object) -> None:
        asyncio.get_running_loop().set_task_factory(None)


class _Trio:
    def __init__(self, at: int, act: Act) -> None:
        self.counter = TrioCounter(at, act)

    def __enter__(self) -> None:
        trio.lowlevel.add_instrument(self.counter)

    def __exit__(self, *exc: object) -> None:
        trio.lowlevel.remove_instrument(self.counter)


WAYS = {
    "asyncio scope": ("asyncio", _by_scope, _Asyncio),
    "asyncio task": ("asyncio", _by_task, _Asyncio),
    "uvloop scope": ("uvloop", _by_scope, _Asyncio),
    "uvloop task": ("uvloop", _by_task, _Asyncio),
    "trio scope": ("trio", _by_scope, _Trio),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", _sources())
@pytest.mark.parametrize("group", [False, True], ids=["own", "group"])
def test_cancelled_at_every_step(way: str, kind: str, group: bool) -> None:
    """The source is closed, no task is left, the outcome is set, nothing is swallowed."""
    backend, cancel, counter = WAYS[way]

    async def main(at: int) -> tuple[int, bool, Run]:
        one, alive = Run(_sources()[kind](), group), living()
        steps, cancelled = await cancel(one, at, counter)
        assert living() == alive, f"step {at}"
        return steps, cancelled, one

    steps, cancelled, one = run(backend, main, -1)
    assert not cancelled
    everything = one.seen
    assert 10 < steps < 400
    causes = set()
    for at in range(1, steps + 1):
        _, cancelled, one = run(backend, main, at)
        causes.add(_check(one, cancelled, everything, f"step {at} of {steps}"))
    assert "cancelled" in causes


def _check(one: Run, cancelled: bool, everything: list[str], where: str) -> str:
    # Only if it came behind the last checkpoint may a cancellation go unnoticed.
    assert cancelled or one.ended, where
    assert one.seen == everything[: len(one.seen)], where
    if one.stream is None:  # cancelled on the way in
        assert cancelled, where
        return "untouched"
    assert one.source.closed or (not isinstance(one.source, FaultySource)), where
    if isinstance(one.source, Steps):
        assert one.source.closed or one.source.yielded == 0, where
    outcome = one.stream.outcome
    assert isinstance(outcome, (Completed, Interrupted)), where
    if isinstance(outcome, Interrupted) and outcome.cause is Cause.CANCELLED:
        assert cancelled, where
        assert outcome.position.events == len(one.seen), where
        return "cancelled"
    assert one.seen == everything, where
    return "settled"
