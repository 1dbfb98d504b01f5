"""MCP: the answer to a POST, which breaks off and is resumed by GET."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dialects.captures import FOLDER
from feeds import EVEN, Service, answer, read
from flow.backends import in_virtual_time

from untorn import Completed, Failed, JsonEvent, ServiceError, UnexpectedResponse
from untorn.dialects import Mcp
from untorn.http import NotResumable, messages

pytestmark = [pytest.mark.anyio, in_virtual_time]

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow"}}
NOTE = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"step 1"}}\n\n'
RESULT = b'data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n'
BOTH = "application/json, text/event-stream"


def call(service: Service, **options: Any) -> Any:
    """Return the feed of a tool call, which is not entered yet."""
    first = {"json": CALL, "headers": {"Accept": BOTH, "Mcp-Session-Id": "s"}}
    headers = {"Mcp-Session-Id": "s"}
    options = {"dialect": Mcp(request_id=1), "first": first, "headers": headers, **options}
    return service.connect(**options)


async def test_a_call_is_resumed_by_get() -> None:
    """With the last id, after `retry`; the result completes it, on whichever connection."""
    polled = answer(b"id: 1\nretry: 250\ndata:\n\nid: 2\n" + NOTE)
    service = Service(polled, answer(b"id: 3\ndata:\n\n"), answer(b"id: 4\n" + RESULT, 99.0))
    async with call(service) as feed:
        events = [event async for event in messages(feed)]
    assert isinstance(feed.outcome, Completed) and feed.outcome.marker == "result"
    assert [event.id for event in events] == ["2", "4"]
    assert [request.method for request in service.requests] == ["POST", "GET", "GET"]
    assert json.loads(service.requests[0].content) == CALL and service.requests[1].content == b""
    assert [request.headers["accept"] for request in service.requests] == [
        BOTH, "text/event-stream", "text/event-stream",
    ]  # fmt: skip
    assert {request.headers["mcp-session-id"] for request in service.requests} == {"s"}
    assert service.asked_for == [None, "2", "3"]
    assert service.waits() == [0.25, 0.25]


@pytest.mark.skipif(not FOLDER.exists(), reason="the captures are not here")
async def test_the_recorded_rest_of_a_call_completes_it() -> None:
    """As the official server sent it: a priming event, a notification, the result."""
    rest = (FOLDER / "mcp__polled_part2_resumed.sse").read_bytes()
    service = Service(answer(b"id: 4\r\nretry: 250\r\n\r\n"), answer(rest))
    async with call(service) as feed:
        events = [event async for event in messages(feed)]
    assert [event.id for event in events] == ["6", "7"]
    assert feed.outcome.unwrap().text == "fertig ✅"
    assert service.asked_for == [None, "4"] and service.waits() == [0.25]


async def test_the_reconnection_time_is_a_second() -> None:
    """Where the service has set none."""
    service = Service(answer(b"id: 1\ndata:\n\n"), answer(RESULT))
    async with call(service) as feed:
        events = [event async for event in messages(feed)]
    assert events == [JsonEvent("1", json.loads(RESULT[6:]))]  # the id before the cut is in force
    assert service.waits() == [1.0]


async def test_a_call_without_ids_is_not_made_twice() -> None:
    """Neither before its first message nor behind it."""
    for body in (b": hello\n\n", NOTE):
        service = Service(answer(body), answer(RESULT))
        async with call(service) as feed:
            async for _ in feed.events():
                pass
        assert isinstance(feed.outcome.error, NotResumable)
        assert len(service.requests) == 1


async def test_an_error_ends_it() -> None:
    """The service's own, on any connection."""
    error = b'data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"No."}}\n\n'
    service = Service(answer(b"id: 1\ndata:\n\n"), answer(error))
    async with call(service) as feed:
        async for _ in feed.events():
            pass
    assert isinstance(feed.outcome, Failed) and isinstance(feed.outcome.error, ServiceError)


async def test_a_single_json_answer_is_no_stream() -> None:
    """MCP allows it; the outcome says so, and has the answer in its body."""
    body = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    service = Service(answer(body, content_type="application/json"))
    async with call(service) as feed:
        assert [event async for event in feed.events()] == []
    assert isinstance(feed.outcome, Failed)
    assert isinstance(feed.outcome.error, UnexpectedResponse)
    assert (feed.outcome.error.code, feed.outcome.error.body) == ("content-type", body)


async def test_a_service_without_the_get_stream_ends_it() -> None:
    """405: from the revision of 2026-07-28 on nothing is resumed."""
    service = Service(answer(b"id: 1\ndata:\n\n"), answer(status=405))
    seen, feed = await read(service, dialect=Mcp(), first={"json": CALL}, backoff=EVEN)
    assert isinstance(feed.outcome, Failed) and feed.outcome.error.status == 405
    assert seen == ["<1>", "<1 in 1>"]
