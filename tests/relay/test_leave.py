"""What becomes of the upstream when the client leaves: three policies, in virtual time."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from flow.backends import in_asyncio, living
from flow.sources import sse

from untorn import Cause, Completed, Interrupted, ServerSentEvent
from untorn.relay import Cancel, Detach, Drain, Relay
from untorn.testing import Eof, Hang, Send, Stall

from .asgi import SCOPE, Played, Server, play
from .upstreams import Upstream, steady

pytestmark = pytest.mark.anyio


async def left(upstream: Upstream, on_leave: Any, leave_at: float = 2.5, **server: Any) -> Played:
    """Relay an upstream to a client that leaves."""
    return await play(
        lambda on_end: Relay(upstream.manager, on_leave=on_leave, on_end=on_end, keepalive=1.0),
        Server(leave_at=leave_at, **server),
    )


def cause_of(played: Played) -> Cause:
    assert isinstance(played.outcome, Interrupted)
    return played.outcome.cause


@asynccontextmanager
async def group_of(kind: str) -> AsyncIterator[Any]:
    """Have a task group of anyio, trio or asyncio; nothing in it may fail."""
    if kind == "anyio":
        async with anyio.create_task_group() as group:
            yield group
    elif kind == "trio":
        import trio

        async with trio.open_nursery() as nursery:
            yield nursery
    else:
        async with asyncio.TaskGroup() as tasks:
            yield tasks


# --- cancel


@pytest.mark.parametrize("opening", [0.0, 100.0])
async def test_the_upstream_is_closed_at_once(opening: float) -> None:
    """Whether it sends, is silent, or is still being opened."""
    upstream = Upstream(Stall(1), Send(sse("a")), Hang(), opening=opening)
    played = await left(upstream, Cancel())
    assert upstream.closed_at == played.over_at == 2.5
    assert cause_of(played) is Cause.ABANDONED
    assert (played.report.client_left, played.report.delivered) == (True, False)
    assert not played.report.whole


async def test_a_client_that_stalls_and_leaves_is_not_waited_for() -> None:
    """A send that hangs is given up, and its events are not counted."""
    upstream = steady(9, 1.0)
    played = await left(upstream, Cancel(), 2.5, send_seconds=1000)
    assert upstream.closed_at == played.over_at == 2.5
    assert (played.report.sent, played.report.client_left) == (0, True)


@pytest.mark.parametrize("error", [OSError(), BrokenPipeError(), ConnectionResetError()])
@pytest.mark.parametrize("opening", [0.0, 5.0])
async def test_a_send_that_says_so_is_a_client_that_left(error: OSError, opening: float) -> None:
    """Where a server raises from `send`, nobody has to wait for `receive`."""
    server = Server(raises=error)
    upstream = Upstream(*[Stall(1), Send(sse("a"))] * 9, opening=opening)
    played = Played(server)
    relay = Relay(upstream.manager, on_end=played.note, keepalive=1, head_wait=1)

    async def receive() -> Any:
        await anyio.sleep_forever()

    server.leave_at = 2.5
    await relay(SCOPE, receive, server.send)
    assert upstream.closed_at == 3.0
    assert (cause_of(played), played.report.client_left) == (Cause.ABANDONED, True)


async def test_an_answer_that_was_delivered_is_whole_though_the_client_is_gone() -> None:
    """Servers report every client as gone, at last: here, while the upstream is being closed."""
    upstream = Upstream(Stall(2), Send(sse("a", "END")), closing=3)
    played = await left(upstream, Cancel(), leave_at=2.5)
    assert played.over_at == 5.0
    assert played.report.whole
    assert not played.report.client_left


# The head, the last events, an empty part, the end.
@pytest.mark.parametrize("seconds", [0.9, 1000.0])
async def test_the_end_may_be_sent_when_its_client_is_said_to_have_left(seconds: float) -> None:
    """Some servers say so of every client before that send returns; it gets a second more."""
    upstream = Upstream(Send(sse("END")), Hang())
    played = await left(upstream, Cancel(), leave_at=seconds * 3.5, send_seconds=seconds)
    if seconds < 1:
        assert played.report.whole and not played.report.client_left
        assert played.over_at == pytest.approx(3.64)
    else:
        assert not played.report.delivered and played.report.client_left
        assert played.over_at == 3501
    assert played.report.sent == 1


@pytest.mark.parametrize("gone", ["returns", "blocks"])
@pytest.mark.parametrize(("leave_at", "sent"), [(0.5, 0), (1.5, 0), (2.5, 1)])
async def test_a_client_that_leaves_before_the_end_is_sent_has_not_got_it_all(
    leave_at: float, sent: int, gone: str
) -> None:
    """Not while the last events wait for it, nor while the server has yet to make room for them."""
    upstream = Upstream(Send(sse("END")), Hang())
    played = await left(upstream, Cancel(), leave_at=leave_at, send_seconds=1, gone=gone)
    assert isinstance(played.outcome, Completed)
    assert (played.report.delivered, played.report.client_left) == (False, True)
    assert (played.report.sent, played.over_at) == (sent, leave_at)


@pytest.mark.parametrize("leave_at", [1.01, 2.03, 3.5])
async def test_a_client_that_leaves_when_it_has_it_all_was_delivered_to(leave_at: float) -> None:
    """A page closes its connection when it has read the last event: the end comes to nobody.

    It may do so before the send of that event has returned, in which nobody waits for it.
    """
    upstream = Upstream(Send(sse("END")), Hang())
    played = await left(upstream, Cancel(), leave_at=leave_at, send_seconds=1, gone="returns")
    assert played.report.whole and not played.report.client_left
    assert played.report.sent == 1


async def test_a_stream_that_somebody_else_closes_is_at_its_end() -> None:
    """So an application can end its relays, and the clients are told."""
    streams: list[Any] = []

    @asynccontextmanager
    async def opened(upstream: Upstream) -> AsyncIterator[Any]:
        async with upstream.manager as stream:
            streams.append(stream)
            yield stream

    server, upstream = Server(), steady(9, 1.0)
    played = Played(server)
    async with anyio.create_task_group() as group:
        relay = Relay(opened(upstream), on_end=played.note)
        group.start_soon(relay, SCOPE, server.receive, server.send)
        await anyio.sleep(2.5)
        await streams[0].aclose()
    assert played.data[-1] == '{"outcome":"interrupted","cause":"abandoned","torn":"message"}'
    assert (played.finished, played.report.client_left) == (True, False)
    assert server.now == 2.5


@pytest.mark.parametrize("error", [None, OSError()])
async def test_nobody_is_left_without_an_answer(error: Exception | None) -> None:
    """What wraps applications takes one that answers nothing for broken."""
    server = Server(leave_at=1.0, raises=error)
    played = await play(
        lambda on_end: Relay(Upstream(Hang()).manager, on_end=on_end, on_leave=Cancel()), server
    )
    assert [message.get("status") for _, message in server.messages] == [499, None][
        : 0 if error else 2
    ]
    assert not played.report.delivered


@pytest.mark.parametrize("opening", [0.0, 100.0])
async def test_an_answer_that_nobody_takes_holds_up_nothing(opening: float) -> None:
    """Where a send to a client that left never returns: the upstream is closed at once."""
    upstream = Upstream(Hang(), opening=opening)
    played = await left(upstream, Cancel(), gone="blocks")
    assert upstream.closed_at == 2.5
    assert played.over_at == pytest.approx(2.6)
    assert played.report.client_left


@pytest.mark.parametrize("policy", [Cancel(), Drain()])
async def test_what_encode_raised_is_not_lost_with_the_client(policy: Any) -> None:
    """Which leaves while it is sent the events before."""
    upstream, server = Upstream(Send(sse("a", "b", "c")), Hang()), Server(leave_at=1, gone="blocks")
    relay = Relay(upstream.manager, encode=not_b, on_leave=policy)
    server.send_seconds = 0.6
    with pytest.raises(LookupError, match="no b"):
        await relay(SCOPE, server.receive, server.send)
    assert server.now == 1


async def test_what_encode_raised_is_logged_where_the_request_is_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The cancellation goes before it."""
    upstream, server = Upstream(Send(sse("a", "b", "c")), Hang()), Server(send_seconds=0.6)
    with anyio.move_on_after(1) as scope:
        await Relay(upstream.manager, encode=not_b)(SCOPE, server.receive, server.send)
    assert scope.cancelled_caught
    assert [record.message for record in caplog.records] == ["A relay that was cancelled failed"]
    assert "LookupError: no b" in caplog.text


def not_b(event: ServerSentEvent) -> ServerSentEvent:
    if event.data == "b":
        raise LookupError("no b")
    return event


# --- drain


@pytest.mark.parametrize("opening", [0.0, 100.0])
async def test_an_answer_that_nobody_takes_is_no_part_of_the_draining(opening: float) -> None:
    """The seconds are counted from when the client left."""
    upstream = Upstream(Hang(), opening=opening)
    played = await left(upstream, Drain(seconds=0.5), gone="blocks")
    assert upstream.closed_at == played.over_at == 3.0
    upstream = Upstream(Stall(2.52), Send(sse("END")))
    played = await left(upstream, Drain(seconds=0.5), gone="blocks")
    assert isinstance(played.outcome, Completed)
    assert upstream.closed_at == pytest.approx(2.52)


async def test_a_drained_upstream_is_read_to_its_end() -> None:
    """So its usage is known; the request ends with it."""
    upstream = steady(9, 1.0)
    played = await left(upstream, Drain())
    assert isinstance(played.outcome, Completed)
    assert played.over_at == upstream.closed_at == 9.0
    assert (played.report.sent, played.report.client_left) == (2, True)
    assert not played.report.whole


@pytest.mark.parametrize("opening", [0.0, 100.0])
async def test_draining_ends_after_its_seconds(opening: float) -> None:
    """Counted from when the client left, opening included."""
    upstream = Upstream(Stall(1), Send(sse("a")), Hang(), opening=opening)
    played = await left(upstream, Drain(seconds=7))
    assert upstream.closed_at == played.over_at == 9.5
    assert cause_of(played) is Cause.ABANDONED


async def test_an_upstream_that_opens_for_nobody_is_drained_too() -> None:
    """What was asked for is paid for."""
    upstream = Upstream(Stall(1), Send(sse("a", "END")), opening=5)
    played = await left(upstream, Drain(seconds=7))
    assert isinstance(played.outcome, Completed)
    assert (upstream.closed_at, played.report.sent) == (6.0, 0)


async def test_leaving_an_upstream_is_not_cut_short() -> None:
    """The bounds are on the reading, and what has to be done behind it is done."""
    upstream = Upstream(Hang(), opening=5, closing=0.5)
    await left(upstream, Drain(seconds=7))
    assert upstream.closed_at == 10.0


async def test_an_upstream_that_fails_for_nobody_is_reported() -> None:
    """The client is sent nothing, and the error comes out."""
    server = Server(leave_at=2.5)
    upstream, played = Upstream(opening=5, fails=LookupError()), Played(server)
    relay = Relay(upstream.manager, on_leave=Drain(), on_end=played.note)
    with pytest.raises(LookupError):
        await relay(SCOPE, server.receive, server.send)
    assert cause_of(played) is Cause.TRANSPORT
    assert played.report.client_left


async def test_nothing_is_sent_behind_the_answer_to_a_client_that_left() -> None:
    """Not where the upstream fails later, and sending takes no time either."""
    server, sent = Server(leave_at=2.5), []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    relay = Relay(Upstream(opening=5, fails=LookupError()).manager, on_leave=Drain())
    with pytest.raises(LookupError):
        await relay(SCOPE, server.receive, send)
    assert sent == ["http.response.start", "http.response.body"]


async def test_draining_ends_after_its_bytes() -> None:
    """Where the event ends in which they were read."""
    event = sse("x" * 92)
    upstream = Upstream(*[Stall(1), Send(event)] * 100)
    played = await left(upstream, Drain(max_bytes=250))
    assert upstream.source.offset == 2 * 100 + 3 * 100
    assert cause_of(played) is Cause.ABANDONED


COMMENT = b": " + b"x" * 96 + b"\n\n"


@pytest.mark.parametrize("pace", [1.0, 0.0])
@pytest.mark.parametrize(
    "flood", [COMMENT, b"event: x\n" + b"\n" * 91], ids=["comments", "no data"]
)
async def test_draining_ends_after_bytes_that_make_no_event(flood: bytes, pace: float) -> None:
    """No event is waited for, which may never come."""
    upstream = Upstream(*[Stall(0.5), Send(sse("a")), Stall(1)], *[Send(flood), Stall(pace)] * 999)
    played = await left(upstream, Drain(max_bytes=250), leave_at=1.0)
    behind = upstream.source.offset - len(sse("a"))
    assert 250 <= behind < 250 + 100 if pace else behind < 2000
    assert played.over_at == pytest.approx(3.5 if pace else 1.5)
    assert cause_of(played) is Cause.ABANDONED


async def test_an_end_behind_bytes_without_an_event_is_found() -> None:
    """In the read that ends the draining."""
    upstream = Upstream(Stall(2), Send(COMMENT * 3 + sse("END")), Hang())
    played = await left(upstream, Drain(max_bytes=250), leave_at=1.0)
    assert isinstance(played.outcome, Completed)


@pytest.mark.parametrize("policy", [Drain, lambda **bounds: Detach(object(), **bounds)])
@pytest.mark.parametrize(
    "bounds", [{"max_bytes": 0}, {"max_bytes": 1.5}, {"max_bytes": True}, {"seconds": 0}]
)
def test_a_bound_is_positive(policy: Any, bounds: dict[str, Any]) -> None:
    """A wrong one is refused with a sentence."""
    with pytest.raises(ValueError, match=r"^(Drain|Detach)\(.*give a positive number of"):
        policy(**bounds)


def test_a_detached_relay_needs_a_task_group() -> None:
    """Something else is refused before anything is lost in it."""
    with pytest.raises(TypeError, match="Not a task group: None"):
        Detach(None)


# --- detach


def kinds() -> list[str]:
    return ["anyio", "native"]


@pytest.fixture(params=kinds())
def kind(request: pytest.FixtureRequest, anyio_backend_name: str) -> str:
    return request.param if request.param == "anyio" else anyio_backend_name


async def detached(
    upstream: Upstream, kind: str, leave_at: float | None = 2.5, **terms: Any
) -> Played:
    """Relay with a policy of a task group around the request; wait for all of it."""
    bounds = {name: terms.pop(name) for name in ("max_bytes", "seconds") if name in terms}
    server = Server(leave_at=leave_at)
    played = Played(server)
    async with group_of(kind) as group:
        policy = Detach(group, **bounds)
        relay = Relay(upstream.manager, on_leave=policy, on_end=played.note, **terms)
        try:
            await relay(SCOPE, server.receive, server.send)
        finally:
            played.over_at = server.now
    return played


async def test_a_detached_upstream_is_read_when_the_request_has_ended(kind: str) -> None:
    """The request ends when the client leaves, and the report comes when all is over."""
    upstream = steady(9, 1.0)
    played = await detached(upstream, kind)
    assert (played.over_at, played.reported_at) == (2.5, 9.0)
    assert isinstance(played.outcome, Completed)
    assert (played.report.sent, played.report.client_left) == (2, True)


async def test_a_detached_upstream_that_is_not_left_is_relayed(kind: str) -> None:
    """With a client that stays, there is no difference."""
    played = await detached(steady(2, 1.0), kind, leave_at=None)
    assert played.data[:-1] == ["0", "1", "END"]
    assert played.report.whole


@pytest.mark.parametrize(
    ("bounds", "closed_at"), [({"seconds": 3.0}, 5.5), ({"max_bytes": 10}, 4.0)]
)
async def test_what_is_detached_is_bounded(
    kind: str, bounds: dict[str, Any], closed_at: float
) -> None:
    """In time and in bytes, as what is drained."""
    upstream = steady(99, 1.0)
    played = await detached(upstream, kind, **bounds)
    assert (upstream.closed_at, played.over_at) == (closed_at, 2.5)
    assert cause_of(played) is Cause.ABANDONED


async def test_a_detached_request_does_not_wait_for_an_answer_that_nobody_takes(kind: str) -> None:
    """Where a send to a client that left never returns."""
    server = Server(leave_at=2.5, gone="blocks")
    async with group_of(kind) as group:
        relay = Relay(Upstream(Hang()).manager, on_leave=Detach(group, seconds=3))
        await relay(SCOPE, server.receive, server.send)
        assert server.now == pytest.approx(2.6)
    assert server.now == 5.5


async def test_what_is_detached_is_bounded_in_bytes_without_events(kind: str) -> None:
    """As what is drained."""
    upstream = Upstream(*[Stall(1), Send(COMMENT)] * 99)
    played = await detached(upstream, kind, max_bytes=250)
    assert (upstream.closed_at, played.over_at) == (5.0, 2.5)


async def test_what_goes_wrong_while_a_client_listens_is_raised_in_its_request(kind: str) -> None:
    """Bare, and the task group of the application knows nothing of it."""

    def bug(event: ServerSentEvent) -> Any:
        return 1 / 0

    upstream, server = steady(1, 1.0), Server()
    async with group_of(kind) as group:
        relay = Relay(upstream.manager, encode=bug, on_leave=Detach(group))
        with pytest.raises(ZeroDivisionError):
            await relay(SCOPE, server.receive, server.send)
        await anyio.sleep(1)  # the group goes on
    assert server.now == 2.0


async def test_what_was_raised_in_a_request_is_not_logged_too(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Though its report takes longer than the request."""

    async def on_end(report: object) -> None:
        await anyio.sleep(1)

    server = Server()
    async with group_of(kind) as group:
        relay = Relay(
            steady(1, 1.0).manager,
            encode=lambda event: {}[1],
            on_leave=Detach(group),
            on_end=on_end,
        )
        with pytest.raises(KeyError):
            await relay(SCOPE, server.receive, server.send)
        assert server.now == 1.0
    assert (server.now, caplog.records) == (2.0, [])


async def test_what_goes_wrong_later_is_logged(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """It can be raised to nobody, and must not end what else the group does."""

    def bug(report: object) -> None:
        raise LookupError("late")

    server = Server(leave_at=2.5)
    async with group_of(kind) as group:
        relay = Relay(steady(9, 1.0).manager, on_leave=Detach(group), on_end=bug)
        await relay(SCOPE, server.receive, server.send)
        await anyio.sleep(10)
    assert "A relay failed after its request" in caplog.text
    assert "LookupError: late" in caplog.text


async def test_what_goes_wrong_as_its_request_is_cancelled_is_logged(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The cancellation goes before it, and nothing is lost."""
    server = Server()
    async with group_of(kind) as group:
        with anyio.CancelScope() as cancelled:

            def bug(event: ServerSentEvent) -> Any:
                cancelled.cancel()
                raise LookupError("at once")

            relay = Relay(steady(1, 1.0).manager, encode=bug, on_leave=Detach(group))
            await relay(SCOPE, server.receive, server.send)
    assert cancelled.cancelled_caught
    assert [record.message for record in caplog.records] == ["A relay failed after its request"]
    assert "LookupError: at once" in caplog.text


async def test_a_report_that_fails_where_nothing_was_run_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The refusal of the group comes out, and goes before it."""

    def bug(report: object) -> None:
        raise LookupError("no such row")

    async with anyio.create_task_group() as group:
        pass
    server = Server()
    relay = Relay(steady(1, 1.0).manager, on_leave=Detach(group), on_end=bug)
    with pytest.raises(RuntimeError):
        await relay(SCOPE, server.receive, server.send)
    assert caplog.text.count("LookupError: no such row") == 1


async def test_a_request_that_is_cancelled_leaves_its_detached_relay(kind: str) -> None:
    """The server takes the client away; the reading goes on, within its bounds."""
    upstream, server = steady(9, 1.0), Server()
    played = Played(server)
    async with group_of(kind) as group:
        relay = Relay(upstream.manager, on_leave=Detach(group), on_end=played.note)
        with anyio.move_on_after(2.5) as cancelled:
            await relay(SCOPE, server.receive, server.send)
        assert (cancelled.cancelled_caught, server.now) == (True, 2.5)
    assert (played.reported_at, played.report.client_left) == (9.0, True)
    assert isinstance(played.outcome, Completed)


async def test_a_request_that_is_cancelled_is_over_when_nothing_is_sent_any_more(
    kind: str,
) -> None:
    """What the server has behind `send` is its own to the last."""
    server = Server()

    async def send(message: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.5)

    async with group_of(kind) as group:
        relay = Relay(steady(9, 1.0).manager, on_leave=Detach(group, seconds=3))
        with anyio.move_on_after(2.5):
            await relay(SCOPE, server.receive, send)
        assert server.now == 3.0


async def test_the_end_of_the_group_ends_what_is_detached() -> None:
    """At the shutdown of an application its report is still made."""
    upstream, server = steady(99, 1.0), Server(leave_at=2.5)
    played = Played(server)
    async with anyio.create_task_group() as group:
        relay = Relay(upstream.manager, on_leave=Detach(group), on_end=played.note)
        await relay(SCOPE, server.receive, server.send)
        await anyio.sleep(2)
        group.cancel_scope.cancel()
    assert (upstream.closed_at, played.reported_at) == (4.5, 4.5)
    assert cause_of(played) is Cause.ABANDONED


async def test_a_group_that_is_over_is_reported() -> None:
    """The request fails, the upstream is not touched, and the report is made."""
    async with anyio.create_task_group() as group:
        pass
    upstream, server = steady(1, 1.0), Server()
    played = Played(server)
    relay = Relay(upstream.manager, on_leave=Detach(group), on_end=played.note)
    with pytest.raises(RuntimeError):
        await relay(SCOPE, server.receive, server.send)
    assert not upstream.entered
    assert (played.report.sent, played.report.client_left) == (0, False)
    assert cause_of(played) is Cause.CANCELLED


@in_asyncio
async def test_a_task_that_is_cancelled_before_it_begins_is_reported() -> None:
    """Of such a task asyncio says nothing to those who wait for it."""
    upstream, server = steady(1, 1.0), Server()
    played = Played(server)

    class Cancelling(asyncio.TaskGroup):
        def create_task(self, *args: Any, **named: Any) -> Any:
            task = super().create_task(*args, **named)
            task.cancel()
            return task

    async with Cancelling() as group:
        relay = Relay(upstream.manager, on_leave=Detach(group), on_end=played.note)
        await relay(SCOPE, server.receive, server.send)
    assert (cause_of(played), upstream.entered) == (Cause.CANCELLED, False)
    assert not played.report.client_left


@in_asyncio
async def test_a_group_of_asyncio_that_is_over_leaves_nothing_unawaited() -> None:
    """Its refusal comes out, and no coroutine is lost."""
    async with asyncio.TaskGroup() as group:
        pass
    server = Server()
    relay = Relay(steady(1, 1.0).manager, on_leave=Detach(group))
    with pytest.raises(RuntimeError):
        await relay(SCOPE, server.receive, server.send)


async def test_no_task_is_left_behind() -> None:
    """Whatever the policy, and however it ended."""
    before = living()
    for policy in (Cancel(), Drain(seconds=1)):
        await left(Upstream(Send(sse("a")), Hang()), policy)
        await left(Upstream(Send(sse("a")), Eof()), policy, math.inf)
    await detached(steady(9, 1.0), "anyio")
    await anyio.wait_all_tasks_blocked()
    assert living() == before
