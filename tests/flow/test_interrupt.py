"""A source that is stopped while it is waited for can still clean up."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anyio
import pytest

from untorn import Clocks, Completed, Interrupted, open_stream
from untorn.dialects import Sse
from untorn.interrupt import interruptible
from untorn.testing import virtual_time

ASYNCIO = pytest.mark.parametrize("anyio_backend", [virtual_time("asyncio")], ids=["asyncio"])
pytestmark = [pytest.mark.anyio, ASYNCIO]


def source(log: list[str], *chunks: bytes, slow: float = 0.01) -> AsyncIterator[bytes]:
    async def generate() -> AsyncIterator[bytes]:
        try:
            for chunk in chunks:
                yield chunk
            await asyncio.sleep(3600)
        finally:
            log.append("cleaning up")
            await asyncio.sleep(slow)
            log.append("clean")

    return generate()


CLEAN = ["cleaning up", "clean"]


async def test_when_the_consumer_leaves() -> None:
    """The `finally` of a generator is not cut off at its first `await`."""
    log: list[str] = []
    async with open_stream(source(log, b"data: a\n\n"), Sse()) as stream:
        await stream.receive()
    assert log == CLEAN


async def test_when_a_clock_runs_out() -> None:
    """The same, and the outcome says which clock."""
    log: list[str] = []
    async with open_stream(source(log, b"data: a\n\n"), Sse(), clocks=Clocks(idle=5)) as stream:
        assert [event.data async for event in stream.events()] == ["a"]
    assert log == CLEAN
    assert isinstance(stream.outcome, Interrupted)


async def test_when_the_body_stays_open_behind_the_marker() -> None:
    """The drain ends, and so does the source."""
    log: list[str] = []
    async with open_stream(source(log, b"data: a\n\n"), Sse(sentinel="a")) as stream:
        assert [event.data async for event in stream] == ["a"]
    assert log == CLEAN
    assert isinstance(stream.outcome, Completed)


@pytest.mark.parametrize("how", [anyio.move_on_after, asyncio.timeout])
async def test_when_the_block_is_cancelled(how: Any) -> None:
    """By a scope or natively: the source is cancelled once either way."""
    log: list[str] = []
    with suppress(TimeoutError):
        async with (
            _entered(how(1)),
            open_stream(source(log, b"data: a\n\n"), Sse()) as stream,
        ):
            async for _ in stream:
                pass
    assert log == CLEAN


async def test_when_its_group_is_cancelled() -> None:
    """A cancelled group of the caller's stops the source as well."""
    log: list[str] = []
    async with (
        anyio.create_task_group() as group,
        open_stream(source(log, b"data: a\n\n"), Sse(), task_group=group) as stream,
    ):
        await stream.receive()
        group.cancel_scope.cancel()
    assert log == CLEAN


async def test_a_clean_up_that_takes_too_long_is_cut_off() -> None:
    """After a second it is cancelled the scope's way, as often as it awaits."""
    log: list[str] = []
    began = anyio.current_time()
    async with open_stream(source(log, b"data: a\n\n", slow=60), Sse()) as stream:
        await stream.receive()
    assert log == ["cleaning up"]
    assert anyio.current_time() - began < 2


async def test_the_task_is_not_left_cancelled() -> None:
    """The runner's cancellation is its own business: the host's count is untouched."""
    task = asyncio.current_task()
    assert task is not None
    async with open_stream(source([], b"data: a\n\n"), Sse()) as stream:
        await stream.receive()
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_a_block_tells_until_when_it_may_run() -> None:
    """As a scope does: for ever, then until the time that was set, inside and outside of it."""
    block = interruptible()
    assert block.deadline == math.inf
    block.deadline = anyio.current_time() + 5
    with block:
        assert block.deadline == anyio.current_time() + 5
        await asyncio.sleep(3600)
    assert block.cancelled_caught and block.deadline == math.inf


class _entered:
    """Any context manager, as an async one."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    async def __aenter__(self) -> None:
        if hasattr(self._manager, "__aenter__"):
            await self._manager.__aenter__()
        else:
            self._manager.__enter__()

    async def __aexit__(self, *exc: Any) -> Any:
        if hasattr(self._manager, "__aexit__"):
            return await self._manager.__aexit__(*exc)
        return self._manager.__exit__(*exc)
