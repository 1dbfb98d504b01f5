"""`on_end` is called once, whatever happens, and has its time."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from flow.backends import in_asyncio
from flow.sources import sse

from untorn.dialects import SseState
from untorn.relay import Drain, Relay, Report
from untorn.testing import Hang, Send

from .asgi import SCOPE, Server
from .upstreams import Upstream, steady

pytestmark = pytest.mark.anyio


async def test_an_async_on_end_is_awaited() -> None:
    """The request ends behind it."""
    done = []

    async def on_end(report: Report) -> None:
        await anyio.sleep(2)
        done.append(report)

    server = Server()
    await Relay(steady(1, 1.0).manager, on_end=on_end)(SCOPE, server.receive, server.send)
    assert [report.whole for report in done] == [True]
    assert server.now == 3.0


async def test_an_on_end_that_is_empty_is_called_too() -> None:
    """A ledger without rows is false, and is no `None`."""

    class Ledger(list[Report]):
        def __call__(self, report: Report) -> None:
            self.append(report)

    server, ledger = Server(), Ledger()
    await Relay(steady(1, 1.0).manager, on_end=ledger)(SCOPE, server.receive, server.send)
    assert [report.whole for report in ledger] == [True]


async def test_a_cancellation_waits_for_on_end() -> None:
    """At a shutdown what must be written down is written down, and then the request ends."""
    done = []

    async def on_end(report: Report) -> None:
        await anyio.sleep(2)
        done.append(report)

    server = Server()
    with anyio.move_on_after(1.5) as scope:
        await Relay(steady(9, 1.0).manager, on_end=on_end)(SCOPE, server.receive, server.send)
    assert scope.cancelled_caught
    assert (len(done), server.now) == (1, 3.5)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("moments", [[2.5], [1.5, 2.5], [2.5, 3.0]])
async def test_a_cancelled_task_waits_for_on_end(moments: list[float]) -> None:
    """As servers on asyncio cancel it: before the report or while it is written, and again."""
    done = []

    async def on_end(report: Report) -> None:
        await anyio.sleep(2)
        done.append(report)

    server = Server(leave_at=2.0)
    relay = Relay(steady(9, 1.0).manager, on_end=on_end)
    task = asyncio.ensure_future(relay(SCOPE, server.receive, server.send))
    for moment in moments:
        await anyio.sleep(moment - server.now)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (len(done), server.now) == (1, min([2.0, *moments]) + 2)


@in_asyncio
async def test_what_on_end_raises_in_a_cancelled_task_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The cancellation goes before it; of a row that was not written the log says so."""
    failing = asyncio.Event()

    async def on_end(report: Report) -> None:
        await failing.wait()
        raise LookupError("no such row")

    server = Server()
    relay = Relay(Upstream(Send(sse("END"))).manager, on_end=on_end)
    task = asyncio.ensure_future(relay(SCOPE, server.receive, server.send))
    await anyio.sleep(0.05)
    task.cancel()
    await anyio.sleep(0.05)
    failing.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert caplog.text.count("LookupError: no such row") == 1


async def test_on_end_may_not_take_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    """After five seconds it is cancelled, and the log says so."""

    async def on_end(report: Report) -> None:
        await anyio.sleep_forever()

    server = Server()
    await Relay(steady(1, 1.0).manager, on_end=on_end)(SCOPE, server.receive, server.send)
    assert server.now == 6.0
    assert "on_end took over 5.0 s, and was cancelled" in caplog.text


async def test_what_on_end_raises_comes_out_bare() -> None:
    """When the response is over; the client has all of it."""

    def on_end(report: Report) -> None:
        raise LookupError("no such row")

    server = Server()
    with pytest.raises(LookupError):
        await Relay(steady(1, 1.0).manager, on_end=on_end)(SCOPE, server.receive, server.send)
    assert server.messages[-1][1]["more_body"] is False


async def test_what_on_end_raises_takes_the_place_of_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not of an error that was there before, nor of a cancellation: it is logged."""

    def on_end(report: Report) -> None:
        raise LookupError("no such row")

    server = Server()
    broken = Upstream(fails=ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await Relay(broken.manager, on_end=on_end)(SCOPE, server.receive, server.send)
    assert len(caplog.records) == 1
    with anyio.move_on_after(1.5) as scope:
        await Relay(steady(9, 1.0).manager, on_end=on_end)(SCOPE, server.receive, server.send)
    assert scope.cancelled_caught
    assert len(caplog.records) == 2
    assert all("no such row" in str(record.exc_info) for record in caplog.records)


async def test_a_cancellation_goes_through_an_upstream_that_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What it raises when it is left takes the place of the cancellation, and is logged."""

    @asynccontextmanager
    async def failing() -> AsyncIterator[Any]:
        try:
            async with Upstream(Send(sse("a")), Hang()).manager as stream:
                yield stream
        finally:
            raise LookupError("no way out")

    server = Server()
    with anyio.move_on_after(1) as scope:
        await Relay(failing())(SCOPE, server.receive, server.send)
    assert scope.cancelled_caught
    assert [record.message for record in caplog.records] == ["A relay that was cancelled failed"]
    assert "LookupError: no way out" in caplog.text


async def test_the_report_has_the_value() -> None:
    """All of it, or what there was of it when the client left."""
    reports: list[Report] = []
    for leave_at in (None, 1.5):
        server, upstream = Server(leave_at=leave_at), Upstream(Send(b"id: 4\n" + sse("a")), Hang())
        if leave_at is None:
            upstream = Upstream(Send(b"id: 4\n" + sse("a", "END")))
        relay = Relay(upstream.manager, on_end=reports.append)
        await relay(SCOPE, server.receive, server.send)
    assert [report.value for report in reports] == [SseState("4"), SseState("4")]
    assert [report.whole for report in reports] == [True, False]


@in_asyncio
async def test_a_task_that_is_cancelled_reports_too() -> None:
    """asyncio's own way to end a request, which servers have, is no other."""
    import asyncio

    reports: list[Any] = []
    upstream, server = Upstream(Send(sse("a")), Hang()), Server()
    relay = Relay(upstream.manager, on_end=reports.append, on_leave=Drain())
    task = asyncio.ensure_future(relay(SCOPE, server.receive, server.send))
    await anyio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert len(reports) == 1
    assert upstream.source.closed


async def test_nothing_is_logged_where_nothing_went_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A client that leaves is no event for a log."""
    with caplog.at_level(logging.DEBUG, "untorn"):
        server = Server(leave_at=1.5)
        await Relay(steady(9, 1.0).manager)(SCOPE, server.receive, server.send)
    assert not caplog.records
