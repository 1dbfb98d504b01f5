"""What a client of a relay is sent, and when; on both backends, in virtual time."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from flow.sources import DIALECT, sse

from untorn import (
    Cause,
    Clocks,
    Completed,
    Failed,
    Interrupted,
    ServerSentEvent,
    StreamFailed,
    open_stream,
    parse,
)
from untorn.dialects import JsonSse, Sse
from untorn.relay import Relay, last_event_id, says_completed
from untorn.testing import Eof, FaultySource, Hang, Reset, Send, Stall

from .asgi import SCOPE, Played, Server, play
from .upstreams import Upstream, steady

pytestmark = pytest.mark.anyio


async def relayed(
    upstream: Upstream, server: Server | None = None, scope: Any = SCOPE, **terms: Any
) -> Played:
    """Relay an upstream as told, and return what came of it."""
    return await play(
        lambda on_end: Relay(upstream.manager, on_end=on_end, **terms), server, scope=scope
    )


# --- a whole stream


async def test_a_stream_is_handed_on_event_by_event() -> None:
    """The head goes out with the first event, each event as it comes, and the end with the last."""
    played = await relayed(steady(2, 1.0))
    end = b'event: end\ndata: {"outcome":"completed","marker":"END"}\n\n'
    assert played.status == 200
    assert played.server.messages[0][0] == 1.0
    assert played.bodies == [(1.0, sse("0")), (2.0, sse("1", "END") + end)] or played.bodies == [
        (1.0, sse("0")),
        (2.0, sse("1")),
        (2.0, sse("END") + end),
    ]
    assert played.finished
    assert played.report.whole
    assert (played.report.sent, played.report.client_left) == (3, False)


async def test_events_that_are_ready_together_go_out_together() -> None:
    """One message holds them, if it stays small; none waits for another."""
    many = [str(n) * 1000 for n in range(60)]
    upstream = Upstream(Send(sse("a")), Stall(1), Send(sse(*many)), Stall(1), Send(sse("END")))
    played = await relayed(upstream, last=None)
    assert played.data == ["a", *many, "END"]
    assert [at for at, _ in played.bodies if at < 1] == [0.0]
    at_one = [part for at, part in played.bodies if at == 1]
    assert len(at_one) < 15
    assert max(map(len, at_one)) < 16 * 1024 + 3000


async def test_the_headers_are_those_of_a_stream() -> None:
    """Nobody on the way is to keep, change or collect it; the caller's go before ours."""
    played = await relayed(steady(1, 0), headers={"Cache-Control": "private", "X-Mine": "1"})
    assert played.headers == {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "private",
        "x-accel-buffering": "no",
        "x-mine": "1",
    }
    assert (await relayed(steady(1, 0))).headers["cache-control"] == "no-store, no-transform"


async def test_an_event_may_be_shown_in_another_way_or_not_at_all() -> None:
    """`encode` says how each is written; what it returns `None` for is not handed on."""

    def encode(event: ServerSentEvent) -> ServerSentEvent | None:
        shown = ServerSentEvent("n", event.data * 2, event.id)
        return shown if event.data in ("1", "END") else None

    played = await relayed(steady(3, 1.0), encode=encode, last=None)
    assert played.data == ["11", "ENDEND"]
    assert played.server.messages[0][0] == 2.0
    assert (played.report.sent, played.outcome.position.events) == (2, 4)


@pytest.mark.parametrize("last", [None, lambda outcome: None])
async def test_the_last_event_can_be_left_out(last: Any) -> None:
    """Then the upstream's own last event is the last."""
    assert (await relayed(steady(1, 0), last=last)).data == ["0", "END"]


async def test_the_last_event_keeps_the_id_in_force() -> None:
    """A browser that reconnects after it goes on from the last event that had one."""
    upstream = Upstream(Send(b"id: 7\ndata: a\n\n"), Eof())
    played = await relayed(upstream)
    assert [event.id for event in parse([played.body], Sse()).events()] == ["7", "7"]
    own = await relayed(
        Upstream(Send(b"id: 7\ndata: a\n\n"), Eof()),
        last=lambda outcome: ServerSentEvent("bye", type(outcome).__name__, "8"),
    )
    assert own.body.endswith(b"event: bye\nid: 8\ndata: Interrupted\n\n")


async def test_an_id_of_the_request_that_is_over_is_taken_back() -> None:
    """The reader's last event ID is known, and written anew where it is another."""
    scope = {**SCOPE, "headers": [(b"Last-Event-ID", "7é".encode())]}
    assert last_event_id(scope) == "7é"
    assert last_event_id(SCOPE) == ""
    played = await relayed(steady(1, 0), scope=scope, last=None)
    assert played.body == b"id\ndata: 0\n\ndata: END\n\n"


# --- a bad end


@pytest.mark.parametrize("end", [[Eof()], [Reset()], [Send(sse("x")[:-1]), Eof()]], ids=repr)
async def test_a_cut_stream_never_looks_whole(end: list[Any]) -> None:
    """It ends with an event that says so, and for a reader with untorn it is cut."""
    played = await relayed(steady(2, 1.0, *end))
    assert played.status == 200
    assert isinstance(played.outcome, Interrupted)
    assert json.loads(played.data[-1])["outcome"] == "interrupted"
    assert (played.report.delivered, played.report.whole) == (True, False)
    stream = parse([played.body], Sse(complete_when=says_completed))
    assert len(list(stream.events())) == 3
    assert isinstance(stream.outcome, Interrupted)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ([Eof()], "eof"),
        ([Send(b"data: a"), Reset()], "transport"),
        ([Send(b": a\n\nevent: b"), Stall(1), Eof()], "eof"),
    ],
    ids=["eof", "reset", "torn"],
)
async def test_a_bad_end_before_the_first_event_is_a_status(script: list[Any], code: str) -> None:
    """The client gets no stream, but JSON that says what it was."""
    played = await relayed(Upstream(*script))
    assert played.status == 502
    assert played.headers["content-type"] == "application/json"
    assert played.headers["content-length"] == str(len(played.body))
    assert "x-accel-buffering" not in played.headers
    assert json.loads(played.body)["error"]["code"] == code
    assert (played.report.sent, played.report.delivered, played.report.whole) == (0, True, False)


async def test_a_clock_that_runs_out_before_the_first_event_is_504() -> None:
    """Whoever asked can tell a slow upstream from a broken one."""
    upstream = open_stream(FaultySource(b"", faults=[Hang()]), DIALECT, clocks=Clocks(idle=5))
    played = await play(lambda on_end: Relay(upstream, on_end=on_end))
    assert (played.status, played.over_at) == (504, 5.0)


async def test_a_failed_stream_says_its_code() -> None:
    """Before the first event in a refusal, behind it in the last event."""
    bad = b"data: {\n\n"
    early = open_stream(FaultySource(bad), JsonSse())
    late = open_stream(FaultySource(b"data: 1\n\n" + bad), JsonSse())
    first = await play(lambda on_end: Relay(early, on_end=on_end))
    assert (first.status, json.loads(first.body)["error"]["code"]) == (502, "invalid-json")
    second = await play(lambda on_end: Relay(late, on_end=on_end))
    assert second.data == ["1", '{"outcome":"failed","code":"invalid-json"}']
    assert isinstance(second.outcome, Failed)


async def test_an_upstream_that_cannot_be_opened_is_a_status_and_is_raised() -> None:
    """The client gets a 502; what it was comes out bare, for the server's log."""
    server, bug = Server(), LookupError("sk-secret")
    upstream, played = Upstream(fails=bug, opening=1), Played(server)
    with pytest.raises(LookupError) as raised:
        await Relay(upstream.manager, on_end=played.note)(SCOPE, server.receive, server.send)
    assert raised.value is bug
    assert played.status == 502
    assert b"sk-secret" not in played.body
    assert played.outcome.cause is Cause.TRANSPORT and played.outcome.error is bug


async def test_an_upstream_that_is_refused_where_it_is_opened_is_no_error_of_ours() -> None:
    """What `open` raises of untorn's own is the outcome, and nothing is raised."""
    failed = Failed(ValueError("no"), None, (await relayed(steady(1, 0))).outcome.position)
    failed.error.code = "http-status"  # type: ignore[attr-defined]
    played = await relayed(Upstream(fails=StreamFailed(failed)))
    assert (played.status, played.outcome) == (502, failed)
    assert json.loads(played.body)["error"]["code"] == "http-status"


async def test_what_encode_raises_ends_the_response_without_an_end() -> None:
    """The server cuts the connection, so that the client does not take it for whole."""
    server = Server()
    upstream, played = steady(3, 1.0), Played(server)

    def encode(event: ServerSentEvent) -> ServerSentEvent:
        return ServerSentEvent("message", str({"0": "a"}[event.data]), "")

    relay = Relay(upstream.manager, on_end=played.note, encode=encode)
    with pytest.raises(KeyError):
        await relay(SCOPE, server.receive, server.send)
    assert played.data == ["a"]
    assert not played.finished
    assert (played.report.sent, played.report.delivered) == (1, False)
    assert upstream.closed_at == 2.0


@pytest.mark.parametrize("together", [True, False])
async def test_what_came_before_it_is_sent_however_it_was_cut(together: bool) -> None:
    """An event that cannot be shown takes nothing from those before it."""
    pieces = [sse("1", "2", "0", "3")] if together else [sse(n) for n in "1203"]
    server = Server()
    upstream, played = Upstream(*map(Send, pieces), Hang()), Played(server)

    def encode(event: ServerSentEvent) -> ServerSentEvent:
        return ServerSentEvent("message", str(6 // int(event.data)), "")

    with pytest.raises(ZeroDivisionError):
        relay = Relay(upstream.manager, on_end=played.note, encode=encode)
        await relay(SCOPE, server.receive, server.send)
    assert (played.data, played.report.sent, played.finished) == (["6", "3"], 2, False)


async def test_what_last_raises_takes_nothing_from_the_events_before_it() -> None:
    """Those that were to go out with it go out without it, and there is no end."""
    played = Played(Server())
    upstream = Upstream(Send(sse("a", "END")), Hang())
    relay = Relay(upstream.manager, on_end=played.note, last=lambda outcome: {}["none"])
    with pytest.raises(KeyError):
        await relay(SCOPE, played.server.receive, played.server.send)
    assert (played.data, played.report.sent, played.finished) == (["a", "END"], 2, False)


async def test_what_encode_raises_is_never_taken_for_a_closed_stream() -> None:
    """Also of the event that completes the stream: an answer without it is not whole."""
    played = Played(Server())

    def encode(event: ServerSentEvent) -> ServerSentEvent:
        if event.data == "END":
            raise anyio.ClosedResourceError  # of something that encode writes to
        return event

    with pytest.raises(anyio.ClosedResourceError):
        relay = Relay(steady(1, 1.0).manager, on_end=played.note, encode=encode)
        await relay(SCOPE, played.server.receive, played.server.send)
    assert (played.data, played.finished, played.report.whole) == (["0"], False, False)


async def _late(given: object) -> None:
    """What looks like an `encode`, or a `last`, and is none."""


@pytest.mark.parametrize("name", ["encode", "last"])
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (_late, " is a coroutine function; give a plain one, nobody awaits it$"),
        (lambda given: b"data: a", " returned a bytes; return a ServerSentEvent, or None for no"),
        (lambda given: "", " returned a str; return a ServerSentEvent, or None for no event$"),
    ],
)
async def test_what_is_no_event_is_refused(name: str, given: Any, sentence: str) -> None:
    """With a sentence, and no warning of a coroutine that nobody has awaited."""
    played = Played(Server())
    relay = Relay(steady(1, 1.0).manager, on_end=played.note, **{name: given})
    with pytest.raises(TypeError, match=f"^{name}{sentence}"):
        await relay(SCOPE, played.server.receive, played.server.send)
    assert (played.finished, played.report.delivered) == (False, False)


@pytest.mark.parametrize("name", ["encode", "last"])
async def test_an_upstream_that_swallows_an_exception_makes_no_end_of_it(name: str) -> None:
    """What `encode` or `last` raises breaks the response off all the same."""

    @asynccontextmanager
    async def swallowing(upstream: Upstream) -> AsyncIterator[Any]:
        with suppress(ZeroDivisionError):
            async with upstream.manager as stream:
                yield stream

    played, upstream = Played(Server()), steady(1, 1.0)
    terms: Any = {name: lambda given: 1 / 0}
    with pytest.raises(ZeroDivisionError):
        relay = Relay(swallowing(upstream), on_end=played.note, **terms)
        await relay(SCOPE, played.server.receive, played.server.send)
    assert (played.finished, played.report.delivered) == (False, False)
    assert upstream.closed_at == 1.0


async def test_an_upstream_that_cancels_its_block_breaks_the_response_off() -> None:
    """A send may have been under way: nothing can follow it, and silence is no end."""

    @asynccontextmanager
    async def hasty(upstream: Upstream) -> AsyncIterator[Any]:
        with anyio.move_on_after(2.5):
            async with upstream.manager as stream:
                yield stream

    played = Played(Server())
    relay = Relay(hasty(steady(9, 1.0)), on_end=played.note)
    with pytest.raises(RuntimeError, match=r"^The upstream cancelled the relay of its events"):
        await relay(SCOPE, played.server.receive, played.server.send)
    assert (played.data, played.finished, played.server.now) == (["0", "1"], False, 2.5)
    assert not played.report.delivered


# --- the time


async def test_silence_is_filled_with_comments() -> None:
    """A comment every so many seconds, counted from the last thing sent, between events only."""
    upstream = Upstream(
        Send(sse("a")), Stall(25), Send(b"data: b"), Stall(20), Send(b"\n\n"), Hang()
    )
    server = Server(leave_at=60)
    played = await relayed(upstream, server, keepalive=10)
    assert [at for at, part in played.bodies if part == b": keepalive\n\n"] == [10, 20, 30, 40, 55]
    assert [at for at, part in played.bodies if part == sse("b")] == [45]


async def test_events_that_are_not_shown_fill_no_silence() -> None:
    """The client hears of the connection, whatever goes on behind it."""
    server = Server(leave_at=35)
    played = await relayed(
        steady(100, 1.0),
        server,
        keepalive=10,
        encode=lambda event: event if event.data == "0" else None,
    )
    assert [at for at, _ in played.bodies] == [1, 11, 21, 31]


async def test_without_keepalive_there_is_silence() -> None:
    """`None` is never."""
    upstream = Upstream(Send(sse("a")), Stall(1000), Send(sse("END")))
    assert len((await relayed(upstream, keepalive=None)).bodies) == 2


@pytest.mark.parametrize("opening", [0.0, 40.0])
async def test_the_head_waits_for_the_first_event_and_not_for_ever(opening: float) -> None:
    """After so many seconds it is a 200 with comments, the upstream being open or not."""
    upstream = Upstream(Stall(40 - opening), Send(sse("END")), opening=opening)
    played = await relayed(upstream, head_wait=5, keepalive=10)
    assert played.server.messages[0][0] == 5
    assert [at for at, _ in played.bodies] == [5, 15, 25, 35, 40]
    assert played.report.whole


@pytest.mark.parametrize("opening", [0.0, 40.0])
async def test_a_bad_end_after_the_head_is_the_last_event(opening: float) -> None:
    """A status that was sent cannot be taken back."""
    fails = OSError() if opening else None
    upstream = Upstream(Stall(40), Reset(), opening=opening, fails=fails)
    server = Server()
    relay, played = Relay(upstream.manager, head_wait=5), Played(server)
    try:
        await relay(SCOPE, server.receive, server.send)
    except OSError:
        assert fails is not None
    assert (played.status, played.finished) == (200, True)
    assert json.loads(played.data[0])["cause"] == "transport"


async def test_a_head_can_be_sent_at_once() -> None:
    """Without a wait, the client knows within no time that it is heard."""
    played = await relayed(steady(1, 9.0), head_wait=0)
    assert [at for at, _ in played.bodies][:2] == [0, 9]


async def test_a_slow_client_is_not_hurried() -> None:
    """An event is taken when all before it were sent; no comment goes between two sends."""
    upstream = Upstream(*(Send(sse(str(n))) for n in range(40)), Send(sse("END")))
    server = Server(send_seconds=60)
    played = await relayed(upstream, server, keepalive=10)
    assert played.data[:-1] == [*map(str, range(40)), "END"]
    assert b"keepalive" not in played.body


async def test_a_comment_that_is_being_sent_is_waited_for() -> None:
    """Also by the first event, where the upstream opens meanwhile."""
    upstream = Upstream(Send(sse("END")), opening=1.0)
    played = await relayed(upstream, Server(send_seconds=0.2), head_wait=0.9, last=None)
    assert [part for _, part in played.bodies] == [b": keepalive\n\n", sse("END")]
    assert [at for at, _ in played.bodies] == pytest.approx([1.3, 1.5])


async def test_a_client_that_takes_nothing_stops_the_upstream() -> None:
    """What is read ahead is a read, the window and what goes out together; never more."""
    chunk = sse(*["x" * 1000] * 64)
    upstream = Upstream(*(Send(chunk) for _ in range(100)), Hang())
    await relayed(upstream, Server(send_seconds=3600, leave_at=1800))
    assert 0 < upstream.source.offset <= 64 * 1024 + 64 * 1024 + 16 * 1024 + 1008


# --- the protocol


async def test_a_head_request_asks_the_upstream_nothing() -> None:
    """It gets the head of a stream, and is told so."""
    upstream = steady(1, 0)
    played = await relayed(upstream, scope={**SCOPE, "method": "HEAD"})
    assert (played.status, played.body, played.finished) == (200, b"", True)
    assert not upstream.entered
    assert (played.report.sent, played.report.whole) == (0, False)


async def test_what_is_left_of_the_request_is_received_and_dropped() -> None:
    """A client is not taken for gone because its body was not read."""
    played = await relayed(steady(2, 1.0), Server(body=3))
    assert played.report.whole


async def test_a_request_that_is_received_without_a_wait_holds_up_nothing() -> None:
    """A server that has all of a long body lets the response go on meanwhile."""
    left = 1000

    async def receive() -> dict[str, Any]:
        nonlocal left
        if not left:
            await anyio.sleep_forever()
        left -= 1
        return {"type": "http.request", "body": b"x", "more_body": True}

    server = Server()
    await Relay(Upstream(Send(sse("END"))).manager)(SCOPE, receive, server.send)
    assert left > 900


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
async def test_what_is_no_http_is_refused(kind: str) -> None:
    """With a sentence, and before anything is touched."""
    upstream = steady(1, 0)
    with pytest.raises(RuntimeError, match=f"and this is '{kind}'"):
        await relayed(upstream, scope={"type": kind})
    assert not upstream.entered


async def test_a_relay_answers_one_request() -> None:
    """An upstream is entered once; a second call is a mistake that is named."""
    relay, server = Relay(steady(1, 0).manager), Server()
    await relay(SCOPE, server.receive, server.send)
    with pytest.raises(RuntimeError, match="make one for each request"):
        await relay(SCOPE, server.receive, server.send)


async def test_what_a_server_raises_from_receive_comes_out_bare() -> None:
    """And the upstream is closed."""

    async def receive() -> dict[str, Any]:
        raise LookupError("a server's bug")

    upstream, server = steady(9, 1.0), Server()
    with pytest.raises(LookupError, match="a server's bug"):
        await Relay(upstream.manager)(SCOPE, receive, server.send)
    assert upstream.closed_at == 0.0


def test_a_wrong_argument_is_refused_at_once() -> None:
    """With a sentence that says what to give."""
    manager = steady(1, 0).manager
    with pytest.raises(TypeError, match="Not an upstream"):
        Relay(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Not a policy"):
        Relay(manager, on_leave="cancel")  # type: ignore[arg-type]
    for name, value in [("keepalive", 0), ("keepalive", "1"), ("head_wait", -1)]:
        with pytest.raises(ValueError, match=f"{name}={value!r}: give a number of seconds"):
            Relay(manager, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"0\.001 or more, or None for no comments$"):
        Relay(manager, keepalive=0)


@pytest.mark.parametrize("name", ["encode", "on_end", "last"])
def test_what_is_to_be_called_can_be(name: str) -> None:
    """Or it is refused before anything is asked of the upstream."""
    with pytest.raises(TypeError, match=f"^{name}=3: give a function$"):
        Relay(steady(1, 0).manager, **{name: 3})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({"a b": "c"}, "Not a header name: 'a b'; use letters, digits and -"),
        ({"a\n": "c"}, r"Not a header name: 'a\n'; use letters, digits and -"),
        ({"": "c"}, "Not a header name: ''; use letters, digits and -"),
        ({3: "c"}, "Not a header name: 3; give a str"),
        ({"a": "b\r\nc: d"}, r"The header 'a' holds a line end or NUL: 'b\r\nc: d'; leave it out"),
        ({"a": "京"}, "The header 'a' holds what ISO-8859-1 has not: '京'; percent-encode it"),
        ({"a": 3}, "Not the value of a header: 3 for 'a'; give a str"),
        ([("a", "b")], r"Not headers: [('a', 'b')]; give a mapping of names to values"),
    ],
)
def test_what_is_no_header_is_refused_with_its_fault(headers: Any, sentence: str) -> None:
    """The name's or the value's."""
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(sentence)}$"):
        Relay(steady(1, 0).manager, headers=headers)


async def test_completed_is_the_outcome_of_a_client_that_closes_on_the_last_event() -> None:
    """What completes the stream, and the end of the response, are not kept apart by a wait."""
    played = await relayed(steady(1, 1.0), Server(leave_at=1.5), last=None)
    assert isinstance(played.outcome, Completed)
    assert played.report.whole
