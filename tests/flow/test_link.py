"""A link hands items over in order, loses none, and tells each side when the other is gone."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from untorn.link import Link
from untorn.outcome import Cause
from untorn.stage import Cut

pytestmark = pytest.mark.anyio

EOF = Cut(Cause.EOF)


@pytest.fixture(autouse=True)
def room_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untorn.link.CAPACITY", 1)


async def test_items_come_in_order() -> None:
    link: Link[int] = Link()
    seen = []

    async def write() -> None:
        for number in range(50):
            assert await link.put(number)
        link.finish(EOF)

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        while await link.ready():
            seen.append(link.pop())
    assert seen == list(range(50))
    assert link.ending is EOF


async def test_writer_waits_for_room() -> None:
    link: Link[str] = Link()
    done: list[str] = []

    async def write() -> None:
        for item in "abc":
            await link.put(item)
            done.append(item)

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        assert done == ["a"]
        assert link.full
        assert await link.ready()
        assert link.pop() == "a"
        await anyio.wait_all_tasks_blocked()
        assert done == ["a", "b"]
        link.pop()
    assert done == ["a", "b", "c"]


async def test_end_needs_no_room() -> None:
    """It is seen behind the last item."""
    link: Link[str] = Link()
    assert link.put_now("a")
    assert link.put_now("b")
    link.finish(EOF)
    link.finish(None)  # the first ending stands
    assert await link.ready()
    assert link.pop() + link.pop() == "ab"
    assert not await link.ready()
    assert link.ending is EOF


@pytest.mark.parametrize("way", ["finish", "close"])
async def test_waiting_reader_is_woken_at_the_end(way: str) -> None:
    link: Link[str] = Link()
    seen: list[bool] = []

    async def read() -> None:
        seen.append(await link.ready())

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        assert not link.items
        link.finish(None) if way == "finish" else link.close()
    assert seen == [False]


async def test_writer_is_told_that_the_reader_left() -> None:
    link: Link[str] = Link()
    told: list[bool] = []

    async def write() -> None:
        told.append(await link.put("a"))
        told.append(await link.put("b"))

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        link.close()
    assert told == [True, False]
    assert link.closed
    assert not link.put_now("c")
    assert not await link.ready()


async def test_reader_cancelled_while_it_waits_takes_nothing() -> None:
    """Neither before nor after it was woken: what was put is there for the next."""
    link: Link[str] = Link()
    with anyio.move_on_after(0):
        await link.ready()
    async with anyio.create_task_group() as group:

        async def read(*, task_status: Any) -> None:
            with anyio.CancelScope() as scope:
                task_status.started(scope)
                if await link.ready():
                    await checkpoint()
                    link.pop()

        scope = await group.start(read)
        await anyio.wait_all_tasks_blocked()
        link.put_now("a")
        scope.cancel()
    assert await link.ready()
    assert link.pop() == "a"


async def test_writer_cancelled_while_it_waits_adds_nothing() -> None:
    link: Link[str] = Link()
    link.put_now("a")
    with anyio.move_on_after(0) as scope:
        await link.put("b")
    assert scope.cancelled_caught
    link.pop()
    link.finish(None)
    assert not await link.ready()
