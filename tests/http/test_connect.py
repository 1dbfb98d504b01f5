"""`connect` does what the EventSource of the HTML Standard does, and says so."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import httpx2
import pytest
from feeds import URL, Service, answer, read, short
from flow.backends import in_virtual_time

from untorn import (
    Cause,
    Clocks,
    Completed,
    Failed,
    Interrupted,
    InvalidJson,
    StreamFailed,
    StreamInterrupted,
    UnexpectedResponse,
)
from untorn.dialects import JsonLines, JsonSse, Sse, SseState
from untorn.http import (
    Backoff,
    Connected,
    HttpAttribute,
    NotResumable,
    Reconnecting,
    RequestSource,
    connect,
)

pytestmark = [pytest.mark.anyio, in_virtual_time]

END = b"data: END\n\n"


async def test_a_feed_is_resumed_behind_its_last_event() -> None:
    """After the reconnection time of the standard; all that happened is there to be seen."""
    service = Service(answer(b"id: 7\ndata: a\n\nid: 8\nda"), answer(b"id: 8\ndata: b\n\n" + END))
    seen, feed = await read(service)
    assert seen == ["<1>", "a", "<1 in 3>", "<1 from 7>", "b", "END"]
    assert service.asked_for == [None, "7"]
    assert service.waits() == [3.0]
    assert isinstance(feed.outcome, Completed)
    assert (feed.outcome.marker, feed.outcome.value) == ("END", SseState("8"))
    assert feed.outcome.position.events == 3


async def test_the_request_is_one_for_a_stream() -> None:
    """It asks for the media type, past all caches; what the caller sends is sent each time."""
    service = Service(answer(b"id: 1\ndata: a\n\n"), answer(END))
    headers = [("X-Key", "k"), ("last-event-id", "0")]
    await read(service, headers=headers, params={"a": "b"})
    for request, id in zip(service.requests, [None, "1"], strict=True):
        assert request.method == "GET" and request.url.params["a"] == "b"
        assert request.headers["accept"] == "text/event-stream"
        assert request.headers["cache-control"] == "no-store"
        assert request.headers["x-key"] == "k"
        assert request.headers.get("last-event-id") == id


@pytest.mark.parametrize(
    ("id", "sent"),
    [("é🦊", "é🦊"), ("a b", "a b"), (" x\t ", "x"), ("0", "0"), ("\ufffd", "\ufffd")],
)
async def test_ids_are_sent_as_utf8(id: str, sent: str) -> None:
    """Blanks around an id are no part of a field's value."""
    service = Service(answer(f"id: {id}\ndata: a\n\n".encode()), answer(END))
    _, feed = await read(service)
    assert service.asked_for == [None, sent]
    assert feed.last_event_id == id


@pytest.mark.parametrize("block", [b"id: 2\ndata: b\n\n", b"id: 2\n\n"])
async def test_only_whole_blocks_move_the_cursor(block: bytes) -> None:
    """However much of the second block came, it counts with its blank line, data or not."""
    for size in range(len(block) + 1):
        service = Service(answer(b"id: 1\ndata: a\n\n" + block[:size]), answer(END))
        await read(service)
        assert service.asked_for == [None, "2" if size == len(block) else "1"]


async def test_an_id_lasts_over_connections() -> None:
    """An event without one has the id from before the cut, and so the next request."""
    bodies = [b"id: 7\ndata: a\n\n", b"data: b\n\n", b"", b"data: c\n\n" + END]
    service = Service(*map(answer, bodies))
    async with service.connect() as feed:
        ids = [event.id async for event in feed if not isinstance(event, (Connected, Reconnecting))]
    assert ids == ["7", "7", "7", "7"]
    assert service.asked_for == [None, "7", "7", "7"]


@pytest.mark.parametrize("retry", [b"retry: 250\n\n", b"retry: 250\nid: 8\nda"])
async def test_retry_sets_the_reconnection_time(retry: bytes) -> None:
    """As soon as its line has ended, and for all connections to come."""
    service = Service(
        answer(b"id: 7\ndata: a\n\n" + retry), answer(b"id: 8\ndata: b\n\n"), answer(END)
    )
    await read(service)
    assert service.waits() == [0.25, 0.25]


async def test_retry_is_capped() -> None:
    """A service cannot make a client wait for ever."""
    service = Service(answer(b"id: 7\ndata: a\n\nretry: 999999999999999999999\n\n"), answer(END))
    seen, _ = await read(service, backoff=Backoff(base=0, longest=77))
    assert service.waits() == [77.0]
    assert "<1 in 77>" in seen


async def test_204_ends_a_feed() -> None:
    """It is complete."""
    service = Service(answer(b"id: 7\ndata: a\n\n"), answer(status=204))
    seen, feed = await read(service)
    assert seen == ["<1>", "a", "<1 in 3>"]
    assert isinstance(feed.outcome, Completed)
    assert (feed.outcome.marker, feed.outcome.value) == ("204", SseState("7"))


@pytest.mark.parametrize(
    ("dialect", "end"), [(JsonSse(sentinel="END"), END), (Sse(eof="completes"), b"\n")]
)
async def test_a_completion_without_an_event_is_one(dialect: Any, end: bytes) -> None:
    """It is seen by asking on; an id that comes with it counts."""
    service = Service(answer(b"id: 1\ndata: 1\n\n", b"id: 2\n" + end))
    seen, feed = await read(service, dialect=dialect)
    assert seen == ["<1>", "1"]
    assert isinstance(feed.outcome, Completed)
    assert feed.last_event_id == "2"


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (lambda: answer(END, status=404), "http-status"),
        (lambda: answer(END, status=301), "http-status"),
        (lambda: answer(END, status=205), "http-status"),
        (lambda: answer(END, content_type="text/html"), "content-type"),
    ],
)
async def test_a_response_that_is_no_stream_ends_a_feed(last: Any, code: str) -> None:
    service = Service(answer(b"id: 7\ndata: a\n\n"), last)
    async with service.connect() as feed:
        with pytest.raises(StreamFailed, match=code):
            [event async for event in feed]
    assert isinstance(feed.outcome, Failed) and not feed.outcome.retry_safe
    assert isinstance(feed.outcome.error, UnexpectedResponse) and feed.outcome.error.code == code
    assert len(service.requests) == 2


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_a_status_that_says_later_is_tried_again(status: int) -> None:
    """Unless the standard is asked for to the letter; `Reconnecting` says what it was."""
    service = Service(answer(status=status), answer(END))
    async with service.connect() as feed:
        notice, *seen = [event async for event in feed]
    assert isinstance(notice, Reconnecting) and f"answered {status}" in notice.reason
    assert [short(event) for event in seen] == ["<2>", "END"]
    service = Service(answer(status=status))
    seen, feed = await read(service, backoff=Backoff(statuses=()))
    assert seen == [] and isinstance(feed.outcome, Failed)


async def test_retry_after_is_kept() -> None:
    """In seconds or as a date, where it is longer than the reconnection time, and capped."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    after = ["20", "1", date, "100000"]
    answers = [answer(status=503, retry_after=given) for given in after]
    service = Service(*answers, answer(END))
    await read(service)
    first, second, third, fourth = service.waits()
    assert (first, second, fourth) == (20.0, 3.0, 600.0)
    assert 90 < third <= 100


async def test_a_service_that_cannot_be_reached_is_tried_again() -> None:
    """From the first request on; `Reconnecting` says why."""
    refused = httpx2.ConnectError("All connection attempts failed")
    service = Service(refused, refused, answer(END))
    async with service.connect() as feed:
        notice = await feed.receive()
        assert isinstance(notice, Reconnecting)
        assert "All connection attempts failed" in notice.reason
        assert isinstance(notice.outcome, Interrupted)
        assert notice.outcome.cause is Cause.TRANSPORT
        assert [event async for event in feed][-1].data == "END"
    assert service.waits() == [3.0, 3.0]


async def test_the_budget_is_of_attempts_in_a_row() -> None:
    """An event renews it; behind the last attempt stands the outcome of that."""
    nothing = [answer, answer, lambda: answer(status=503)]
    service = Service(*nothing[:2], answer(b"id: 1\ndata: a\n\n"), *nothing, answer(END))
    seen, feed = await read(service, backoff=Backoff(base=0, attempts=3))
    assert seen == [
        "<1>", "<2 in 3>", "<2>", "<3 in 3>", "<3>", "a",
        "<1 in 3>", "<1 from 1>", "<2 in 3>", "<2 from 1>", "<3 in 3>",
    ]  # fmt: skip
    assert isinstance(feed.outcome, Failed)
    assert isinstance(feed.outcome.error, UnexpectedResponse) and feed.outcome.error.status == 503


async def test_an_id_alone_renews_the_budget() -> None:
    """A service may be polled: each connection brings an id, and no event yet."""
    polls = [answer(f"id: {number}\n\n".encode()) for number in range(9)]
    service = Service(*polls, answer(END))
    seen, _ = await read(service, backoff=Backoff(base=0, attempts=2))
    assert seen[-1] == "END"


async def test_a_connection_that_held_renews_the_budget() -> None:
    """A quiet feed is not given up for a proxy that cuts it each minute."""
    service = Service(*(answer(b": ping\n\n", 60.0) for _ in range(9)), answer(END))
    seen, _ = await read(service, backoff=Backoff(base=0, attempts=2))
    assert seen[-1] == "END"
    service = Service(*(answer(29.0) for _ in range(9)))
    _, feed = await read(service, backoff=Backoff(base=0, attempts=2))
    assert isinstance(feed.outcome, Interrupted) and len(service.requests) == 2


async def test_delays_grow_at_random() -> None:
    """On top of the reconnection time: up to `base`, doubled each time, up to `cap`."""
    service = Service(*(answer() for _ in range(6)), answer(END))
    halves = iter([0.5] * 9)
    await read(service, backoff=Backoff(base=2, cap=10), random=lambda: next(halves))
    assert service.waits() == [3 + 0.5 * bound for bound in (4, 8, 10, 10, 10, 10)]


async def test_a_silent_connection_is_left() -> None:
    """The clocks hold for each connection; waiting between them is not counted."""
    clocks = Clocks(first_byte=5, idle=45)
    service = Service(answer(100.0, END), answer(b"id: 1\ndata: a\n\n", 100.0), answer(END))
    async with service.connect(clocks=clocks) as feed:
        causes = [
            event.outcome.cause async for event in feed.events() if isinstance(event, Reconnecting)
        ]
    assert causes == [Cause.FIRST_BYTE_TIMEOUT, Cause.IDLE_TIMEOUT]
    assert service.waits() == [8.0, 48.0]


async def test_the_last_connection_is_closed_before_the_next_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though its end was seen before: a pool of one connection is enough."""
    close = RequestSource.aclose

    async def slowly(self: RequestSource) -> None:
        await anyio.sleep(0.5)
        await close(self)

    monkeypatch.setattr(RequestSource, "aclose", slowly)
    service = Service(answer(b"id: 1\ndata: a\n\n"), answer(END))
    seen, _ = await read(service, backoff=Backoff(base=0, reconnection=0))
    assert seen[-1] == "END"
    assert service.waits() == [0.5]


async def test_what_is_wrong_with_the_stream_ends_a_feed() -> None:
    """It would be wrong again."""
    service = Service(answer(b'id: 1\ndata: {"a": 1}\n\nid: 2\ndata: {\n\n'))
    async with service.connect(dialect=JsonSse()) as feed:
        assert len([event async for event in feed.events()]) == 2
    assert isinstance(feed.outcome, Failed) and isinstance(feed.outcome.error, InvalidJson)
    assert feed.last_event_id == "1"


async def test_a_bug_is_not_tried_again() -> None:
    """Nor is a client that was closed."""
    service = Service(TypeError("a bug"), answer(END))
    _, feed = await read(service)
    assert isinstance(feed.outcome, Interrupted) and isinstance(feed.outcome.error, TypeError)
    service = Service(answer(END))
    async with service.connect() as feed:
        await service.client.aclose()
        with pytest.raises(StreamInterrupted, match="closed"):
            await feed.receive()


async def test_what_would_come_again_is_not_tried_again() -> None:
    """A scheme that the client does not know, where a redirect leads to; a bad certificate."""
    untrusted = httpx2.ConnectError("certificate verify failed")
    untrusted.__cause__ = ssl.SSLCertVerificationError("certificate verify failed")
    for error in (httpx2.UnsupportedProtocol("ftp"), untrusted):
        service = Service(error, answer(END))
        seen, feed = await read(service)
        assert seen == [] and len(service.requests) == 1
        assert isinstance(feed.outcome, Interrupted) and feed.outcome.error is error


# --- what cannot be resumed ------------------------------------------------------------


async def test_a_feed_without_ids_says_so() -> None:
    """It is not read again from the beginning; the transport's word is kept behind ours."""
    broken = httpx2.ReadError("broken")
    service = Service(answer(b"data: a\n\nda", broken))
    seen, feed = await read(service)
    assert seen == ["<1>", "a"]
    assert isinstance(feed.outcome, Interrupted) and feed.outcome.cause is Cause.TRANSPORT
    assert isinstance(feed.outcome.error, NotResumable)
    assert feed.outcome.error.__cause__ is broken
    assert "no ids" in str(feed.outcome.error) and "accept_gaps=True" in str(feed.outcome.error)


async def test_an_id_that_was_taken_back_is_none() -> None:
    """A block with an empty id resets it: the standard."""
    service = Service(answer(b"id: 1\ndata: a\n\nid\ndata: b\n\n"))
    _, feed = await read(service)
    assert feed.last_event_id == "" and isinstance(feed.outcome.error, NotResumable)


async def test_a_gap_may_be_accepted() -> None:
    """And is there to be seen: `Connected` names no id."""
    service = Service(answer(b"data: a\n\n"), answer(b"data: c\n\n" + END))
    seen, _ = await read(service, accept_gaps=True)
    assert seen == ["<1>", "a", "<1 in 3>", "<1>", "c", "END"]
    assert service.asked_for == [None, None]


async def test_a_feed_that_has_given_nothing_is_asked_for_again() -> None:
    """Nothing can come twice."""
    service = Service(answer(b"data: a\n"), answer(b": hello\n\n"), answer(END))
    seen, _ = await read(service)
    assert seen == ["<1>", "<2 in 3>", "<2>", "<3 in 3>", "<3>", "END"]


async def test_a_dialect_without_ids_is_not_resumed() -> None:
    """Not even where its events have something that is called id."""
    service = Service(answer(b'{"id": 1}\n', content_type="application/x-ndjson"))
    _, feed = await read(service, dialect=JsonLines())
    assert isinstance(feed.outcome.error, NotResumable)
    with pytest.raises(TypeError, match="no event ids"):
        service.connect(dialect=JsonLines(), last_event_id="1")


@pytest.mark.parametrize("status", [408, 425, 429, 503, None])
async def test_a_post_is_repeated_only_if_nothing_was_done(status: int | None) -> None:
    """The service says so, or was never reached."""
    first: Any = httpx2.ConnectTimeout("") if status is None else answer(status=status)
    service = Service(first, answer(END))
    seen, _ = await read(service, method="post", json={"a": 1})
    assert seen[-1] == "END"
    assert {request.method for request in service.requests} == {"POST"}


@pytest.mark.parametrize("steps", [[httpx2.ReadError("")], [], [b"da"], [b"id: 1\nda"]])
async def test_a_post_is_not_sent_twice(steps: list[Any]) -> None:
    """What became of the first is not known; whoever does not mind can say so."""
    service = Service(answer(*steps), answer(END))
    _, feed = await read(service, method="POST")
    assert len(service.requests) == 1
    assert "POST must not be sent twice" in str(feed.outcome.error)
    service = Service(httpx2.ReadError(""), answer(END))
    seen, _ = await read(service, method="POST", accept_gaps=True)
    assert seen[-1] == "END" and len(service.requests) == 2


async def test_a_post_that_a_gateway_lost_is_not_sent_twice() -> None:
    """The outcome says which status it was."""
    service = Service(answer(status=502))
    _, feed = await read(service, method="POST")
    assert isinstance(feed.outcome, Failed) and feed.outcome.error.status == 502


# --- across restarts, and what is wrong from the start ---------------------------------


async def test_a_program_goes_on_where_it_stopped() -> None:
    """`last_event_id` is that of what was handed out, not of what was read ahead."""
    service = Service(answer(b"id: 1\ndata: a\n\nid: 2\ndata: b\n\n"), answer(b"data: c\n\n" + END))
    async with service.connect() as feed:
        assert feed.last_event_id == ""
        await feed.receive()
        await feed.receive()
        await anyio.wait_all_tasks_blocked()
        assert feed.last_event_id == "1"
    seen, feed = await read(service, last_event_id=feed.last_event_id)
    assert seen == ["<1 from 1>", "c", "END"]
    assert service.asked_for == [None, "1"]
    assert feed.value == SseState("1")


async def test_the_first_request_may_be_another() -> None:
    """It is made once; what resumes is the plain request."""
    service = Service(answer(status=503), answer(b"id: 1\ndata: a\n\n"), answer(END))
    seen, _ = await read(service, first={"json": {"q": 1}}, headers={"x-key": "k"})
    assert seen == ["<2 in 3>", "<2>", "a", "<1 in 3>", "<1 from 1>", "END"]
    assert [request.method for request in service.requests] == ["POST", "POST", "GET"]
    assert [request.content for request in service.requests] == [b'{"q":1}', b'{"q":1}', b""]
    assert all(request.headers["x-key"] == "k" for request in service.requests)


async def test_the_first_request_is_taken_for_sent_behind_an_id() -> None:
    service = Service(answer(END))
    await read(service, first={"json": {"q": 1}}, last_event_id="1")
    assert service.requests[0].method == "GET" and service.asked_for == ["1"]


async def test_gaps_are_accepted_behind_the_first_request_too() -> None:
    """Which is still made once, unless nothing was done."""
    service = Service(httpx2.ConnectError(""), answer(b"data: a\n\n"), answer(END))
    await read(service, first={"json": 1}, accept_gaps=True)
    assert [request.method for request in service.requests] == ["POST", "POST", "GET"]


async def test_what_can_be_read_once_is_refused() -> None:
    """A request that is made again would be empty."""

    async def body() -> AsyncIterator[bytes]:
        yield b"asked"

    service = Service()
    for request in ({"content": body()}, {"headers": iter([("x-key", "1")])}):
        for given in (request, {"first": request}):
            with pytest.raises(TypeError, match="read only once"):
                service.connect(**given)
    service.connect(content=b"asked", headers=[("x-key", "1")])


async def test_mistakes_are_raised_at_once() -> None:
    """Not in a task, and not after ten attempts."""
    service = Service()
    with pytest.raises(TypeError, match="unexpected keyword"):
        service.connect(jsn={})
    with pytest.raises(TypeError, match="unexpected keyword"):
        service.connect(first={"jsn": {}})
    with pytest.raises(TypeError, match="parentheses"):
        service.connect(dialect=Sse)
    with pytest.raises(TypeError, match="Not a client"):
        connect(object(), URL, dialect=Sse())  # type: ignore[arg-type]
    for id in ("a\nb", "a\rb", "\0", "a\x0b", "\x7f", "\ud800"):
        with pytest.raises(ValueError, match="no event id"):
            service.connect(last_event_id=id)
    with pytest.raises(TypeError, match="last_event_id=5 is not text"):
        service.connect(last_event_id=5)
    service.connect(last_event_id="a\tb é")
    with pytest.raises(TypeError, match="one string"):
        service.connect(media_types="text/event-stream")
    with pytest.raises(TypeError, match="Not clocks"):
        service.connect(clocks=5)
    with pytest.raises(TypeError, match="Not a task group"):
        service.connect(task_group=5)
    for backoff in (3, None, Backoff):
        with pytest.raises(TypeError, match=r"Not a backoff: .*Backoff\("):
            service.connect(backoff=backoff)
    with pytest.raises(TypeError, match=r"random=0\.5 cannot be called"):
        service.connect(random=0.5)


@pytest.mark.parametrize("first", ["POST", [("method", "POST")], 5])
async def test_a_first_request_that_is_no_mapping_is_refused(first: Any) -> None:
    """It is not quoted: it may be what is secret."""
    with pytest.raises(TypeError, match=r"first is no mapping, but .*'method': 'POST'") as raised:
        Service().connect(first=first)
    assert repr(first) not in str(raised.value).partition(";")[0]


async def test_the_request_that_resumes_is_looked_at_too() -> None:
    """And the one that opens, also where it will not be sent."""
    service = Service()
    with pytest.raises(TypeError, match="unexpected keyword"):
        service.connect(first={"jsn": 1}, last_event_id="1")
    with pytest.raises(TypeError, match="method=5 is not text"):
        service.connect(first={"method": 5})
    with pytest.raises(TypeError, match="Header value must be"):
        service.connect(headers={"x-key": 5})


async def test_media_types_may_be_of_any_kind() -> None:
    """Each connection accepts them, though a generator can be read only once."""
    one, end = (answer(body, content_type="text/x-own") for body in (b"id: 1\ndata: a\n\n", END))
    seen, _ = await read(Service(one, end), media_types=(kind for kind in ["Text/X-Own"]))
    assert seen == ["<1>", "a", "<1 in 3>", "<1 from 1>", "END"]


@pytest.mark.parametrize("id", ["a\x0bb", "\x0c", "\x01", "\x7f"])
async def test_an_id_that_no_header_can_carry_is_told(id: str) -> None:
    """At once, and not by attempts that must fail; whoever accepts gaps goes on without it."""
    steps = f"id: {id}\ndata: a\n\n".encode()
    service = Service(answer(steps))
    seen, feed = await read(service)
    assert seen == ["<1>", "a"] and len(service.requests) == 1
    assert isinstance(feed.outcome.error, NotResumable)
    assert "no header can carry its last id" in str(feed.outcome.error)
    service = Service(answer(steps), answer(END))
    seen, _ = await read(service, accept_gaps=True)
    assert seen == ["<1>", "a", "<1 in 3>", "<1>", "END"] and service.asked_for == [None, None]


async def test_an_id_among_the_headers_of_the_client_is_not_sent() -> None:
    """`Connected.resumed_from` says what the request says."""
    service = Service(answer(b"id: 1\ndata: a\n\n"), answer(END))
    service.client.headers["Last-Event-ID"] = "9"
    seen, _ = await read(service)
    assert seen == ["<1>", "a", "<1 in 3>", "<1 from 1>", "END"]
    assert service.asked_for == [None, "1"]


async def test_nothing_shows_what_is_secret() -> None:
    """Neither events nor errors nor what is printed of them know the key."""
    echo = answer(b"no such key: secret-key-1", status=401, content_type="text/plain")
    service = Service(httpx2.ReadError("secret-key-1"), echo)
    headers = {"Authorization": "Bearer secret-key-1"}
    opening = service.connect(headers=headers)
    async with opening as feed:
        seen = [event async for event in feed.events()]
    shown = [opening, feed, *seen, *(event.reason for event in seen), feed.outcome]
    assert "secret" not in "".join(map(repr, shown))


async def test_the_head_of_the_response_is_there() -> None:
    """That of the connection that is open, from `Connected` on."""
    service = Service(answer(100.0, x_session="1"))
    async with service.connect() as feed:
        assert feed.extra(HttpAttribute.status, None) is None
        assert isinstance(await feed.receive(), Connected)
        assert feed.extra(HttpAttribute.headers)["X-Session"] == "1"
