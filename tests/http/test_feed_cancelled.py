"""A `receive()` that was cancelled and is called again loses nothing and begins nothing anew."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

import anyio
import anyio.abc
import pytest
from feeds import Service, answer, short
from flow.backends import living

from untorn import Cause, Completed
from untorn.http import distinct

pytestmark = pytest.mark.anyio

ALL = ["<1>", "a", "<1 in 3>", "<1 from 1>", "b", "c", "END"]
Receive = Callable[[], Coroutine[Any, Any, Any]]
Attempt = Callable[[Receive, float], Awaitable[Any]]


def service() -> Service:
    """Return a service at which there is something to wait for in every state."""
    first = answer(0.5, b"id: 1\ndata: a\n\n")
    second = answer(2.0, b"id: 2\ndata: b\n\nid: 3\ndata: c\n\n", b"data: END\n\n")
    return Service(first, second, seconds=1.0)


async def _in_scope(receive: Receive, seconds: float) -> Any:
    with anyio.move_on_after(seconds):
        return await receive()


async def _with_timeout(receive: Receive, seconds: float) -> Any:
    try:
        async with asyncio.timeout(seconds):
            return await receive()
    except TimeoutError:
        return None


async def _with_wait_for(receive: Receive, seconds: float) -> Any:
    try:
        return await asyncio.wait_for(receive(), seconds)
    except TimeoutError:
        return None


async def _in_task(receive: Receive, seconds: float) -> Any:
    task = asyncio.ensure_future(receive())
    asyncio.get_running_loop().call_later(seconds, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return None


ATTEMPTS = [
    *((name, _in_scope) for name in ("asyncio", "trio")),
    *(("asyncio", attempt) for attempt in (_with_timeout, _with_wait_for, _in_task)),
]


@pytest.mark.parametrize(("anyio_backend", "attempt"), ATTEMPTS, indirect=["anyio_backend"])
@pytest.mark.parametrize("seconds", [0.001, 0.0625, 0.3, 0.999, 1.0])
async def test_a_receive_that_times_out_begins_no_wait_anew(
    attempt: Attempt, seconds: float
) -> None:
    """Asked for again at any rate: all events, and each wait as long as if asked for once."""
    script, seen, in_vain = service(), [], 0
    async with script.connect() as feed:
        while not isinstance(feed.outcome, Completed):
            event = await attempt(feed.receive, seconds)
            if event is None:
                in_vain += 1
            else:
                seen.append(short(event))
    assert seen == ALL
    assert script.times == [0.0, pytest.approx(4.5)]
    assert anyio.current_time() == pytest.approx(7.5)
    assert in_vain >= 6


@types.coroutine
def _stepped(
    coro: Coroutine[Any, Any, Any], step: Callable[[], object]
) -> Generator[Any, Any, Any]:
    """Run a coroutine, and call `step` wherever it is suspended."""
    send: Any = coro.send
    value: Any = None
    while True:
        try:
            yielded = send(value)
        except StopIteration as end:
            return end.value
        step()
        try:
            send, value = coro.send, (yield yielded)
        except BaseException as error:
            send, value = coro.throw, error


class Stepper:
    """Cancels each receive at its step of this number."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.cancelled = 0

    async def by_scope(self, receive: Receive) -> Any:
        with anyio.CancelScope() as scope:
            return await _stepped(receive(), self._counter(scope.cancel))
        self.cancelled += 1
        return None

    async def by_task(self, receive: Receive) -> Any:
        async def run() -> Any:
            return await _stepped(receive(), self._counter(lambda: task.cancel()))

        task = asyncio.ensure_future(run())
        await asyncio.wait([task])
        self.cancelled += task.cancelled()
        return None if task.cancelled() else task.result()

    def _counter(self, cancel: Callable[[], object]) -> Callable[[], None]:
        steps = 0

        def step() -> None:
            nonlocal steps
            steps += 1
            if steps == self.at:
                cancel()

        return step


@pytest.mark.parametrize(
    ("anyio_backend", "way"),
    [("asyncio", Stepper.by_scope), ("asyncio", Stepper.by_task), ("trio", Stepper.by_scope)],
    indirect=["anyio_backend"],
)
@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("grouped", [False, True])
async def test_cancelled_at_every_step(way: Any, at: int, grouped: bool) -> None:
    """Each receive, once, at its step of this number; then it is let through."""
    script, stepper, seen, alive = service(), Stepper(at), [], living()
    async with (
        anyio.create_task_group() as group,
        script.connect(task_group=group if grouped else None) as feed,
    ):
        while not isinstance(feed.outcome, Completed):
            event = await way(stepper, feed.receive) or await feed.receive()
            seen.append(short(event))
    assert seen == ALL
    assert len(script.requests) == 2 and script.times[1] == pytest.approx(4.5)
    assert living() == alive
    assert stepper.cancelled >= {1: 5, 2: 5, 3: 2, 4: 2}[at]


@pytest.mark.parametrize(
    ("anyio_backend", "way"),
    [("asyncio", Stepper.by_scope), ("asyncio", Stepper.by_task), ("trio", Stepper.by_scope)],
    indirect=["anyio_backend"],
)
@pytest.mark.parametrize("grouped", [False, True])
async def test_a_consumer_cancelled_at_every_step(way: Any, grouped: bool) -> None:
    """Its connection is closed, no task is left, the outcome is set, nothing is swallowed."""
    async with anyio.create_task_group() as group:
        await _cancelled_at_every_step(way, group if grouped else None)


async def _cancelled_at_every_step(way: Any, group: anyio.abc.TaskGroup | None) -> None:
    causes, at, cancelled = set(), 0, True
    while cancelled:
        at += 1
        script, stepper, seen, alive = service(), Stepper(at), [], living()
        opening = script.connect(task_group=group)

        async def consume(opening: Any = opening, seen: list[str] = seen) -> None:
            async with opening as feed:
                async for event in feed:
                    seen.append(short(event))  # noqa: PERF401 - as far as it comes

        await way(stepper, consume)
        cancelled = bool(stepper.cancelled)
        feed = opening._feed
        assert living() == alive
        assert all(response.is_closed for response in script.given)
        assert seen == ALL[: len(seen)]
        if at > 1:  # it was entered
            causes.add(getattr(feed.outcome, "cause", None))
            assert feed.outcome.position.events == sum(not word.startswith("<") for word in seen)
    assert at > 12
    assert causes == {Cause.CANCELLED, None}


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"], indirect=True)
async def test_distinct_loses_nothing_either() -> None:
    """It takes an event and hands it out without waiting between."""
    script, seen = service(), []
    async with script.connect() as feed:
        events = distinct(feed)
        while not isinstance(feed.outcome, Completed):
            with anyio.move_on_after(0.3):
                seen.append(short(await anext(events)))
    assert seen == ALL
