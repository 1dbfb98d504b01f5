"""MCP: the response to one request, what comes before it, and where to go on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from untorn import (
    Completed,
    Failed,
    Interrupted,
    InvalidJson,
    JsonEvent,
    Other,
    ProtocolViolation,
    ServiceError,
    StageError,
    parse,
)
from untorn.dialects.mcp import Mcp, McpState

from .captures import (
    Capture,
    assert_cuts_do_not_matter,
    captures,
    prefixes,
    read,
    text_digest,
)
from .cases import Case, cases
from .fuzz import assert_prefixes_are_torn, mangled

CAPTURES = captures("mcp-streamable-http")
DIALECT = Mcp()


def event(payload: Any = None, id: str | None = None, type: str | None = None) -> bytes:
    """Return one event; without a payload it is a priming event."""
    fields = [f"event: {type}"] if type else []
    fields += [f"id: {id}"] if id is not None else []
    data = "" if payload is None else payload if isinstance(payload, str) else json.dumps(payload)
    return "\n".join([*fields, f"data: {data}", "", ""]).encode()


def response(id: Any = 2, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, **(fields or {"result": {"ok": True}})}


NOTE = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
EVERYTHING: list[dict[str, Any]] = [NOTE, PING, response(1), response()]


def state_of(outcome: Any) -> McpState:
    value = outcome.value if isinstance(outcome, Completed) else outcome.partial
    assert isinstance(value, McpState)
    return value


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, text, notifications and cursor are those of the index."""
    expected = capture.expected
    events, outcome = read([capture.wire], Mcp(request_id=expected.get("rpc_id", 0)))
    state = state_of(outcome)
    if capture.failed:
        assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
        assert outcome.error.raw["error"] == expected["error"]
    else:
        assert isinstance(outcome, Completed) and outcome.marker == "result"
        assert isinstance(events[-1], JsonEvent) and events[-1].data["result"] == state.result
    assert text_digest(state.text) == expected["text_sha256"]
    assert state.retry == expected.get("retry")
    assert state.last_event_id == expected.get("event_ids", [""])[-1]
    assert sum("method" in e.data for e in events) == expected.get("notifications", 0)


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed before the response is whole."""
    assert_prefixes_are_torn(capture.wire, DIALECT, iter(prefixes(capture.wire)))


# `{}` is JSON and no response: the case is about the parser, which must pass over a field it
# does not know. A stream that ends without the response to its request is not complete.
OTHERWISE = {"retry-03": "Interrupted"}


@pytest.mark.parametrize("case", cases("mcp"))
def test_a_reported_stream(case: Case) -> None:
    """It is read as it should have been, however it is cut."""
    events, outcome = read(case.chunks(), DIALECT)
    assert type(outcome).__name__ == OTHERWISE.get(case.id, case.outcome)
    if case.outcome == "Completed":
        assert len(events) == len(case.expected["events"])
    assert state_of(outcome).retry == case.reduced.get("retry")
    assert_cuts_do_not_matter(case.wire, DIALECT)


def test_what_comes_before_the_response() -> None:
    """Notifications, requests of the server and responses to others are events, no more."""
    wire = b"".join(event(payload, str(number)) for number, payload in enumerate(EVERYTHING))
    stream = parse([wire + b"data: {\n\n"], Mcp(request_id=2))
    seen = []
    for each in stream:
        seen.append(each)
        if each.data == EVERYTHING[-1]:
            break
        assert stream.outcome is None
    assert seen == [JsonEvent(str(n), payload) for n, payload in enumerate(EVERYTHING)]
    assert isinstance(stream.outcome, Completed)
    assert stream.outcome.value == McpState("3", None, {"ok": True})


def test_an_id_is_compared_as_it_is() -> None:
    """A string is no number, and `true` is not 1; a number may be written either way."""
    for request, id, ours in [
        (1, 1, True), (1, 1.0, True), ("1", "1", True), (1, "1", False), ("1", 1, False),
        (1, True, False), (None, "any", True), (None, None, False),
    ]:  # fmt: skip
        _, outcome = read([event(response(id))], Mcp(request_id=request))
        assert isinstance(outcome, Completed) is ours, (request, id)


@pytest.mark.parametrize("id", [2, None])
def test_an_error_fails(id: Any) -> None:
    """Ours, and one without an id: the service could not read whose it is."""
    error = {"code": -32601, "message": "no", "data": 1}
    _, outcome = read([event(response(id, error=error))], Mcp(request_id=2))
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.message, outcome.error.service_code) == ("no", -32601)
    _, outcome = read([event(response(3, error=error))], Mcp(request_id=2))
    assert isinstance(outcome, Interrupted)


def test_a_tool_that_failed_is_a_result() -> None:
    """`isError` is for the model to read; the stream is complete."""
    result = {"isError": True, "content": [{"type": "text", "text": "no "}, {"text": "luck"}]}
    _, outcome = read([event(response(result=result))], DIALECT)
    assert isinstance(outcome, Completed)
    assert outcome.value.result == result and outcome.value.text == "no luck"


def test_priming_events_move_the_cursor_alone() -> None:
    """They are no message, with a data line or without; a retry counts at once."""
    events, outcome = read([event(id="1"), b"id: 2\n\n", b"data:\n\n", b"retry: 250\n"], DIALECT)
    assert events == []
    assert state_of(outcome) == McpState("2", 250) and state_of(outcome).resumable


@pytest.mark.parametrize("tail", [b"id: 9\n", b"id: 9\ndata: {}\n", b"id: 9\ndata: {\n\n"])
def test_a_torn_or_bad_event_does_not_move_the_cursor(tail: bytes) -> None:
    """Asking for what follows it would lose it."""
    _, outcome = read([event(NOTE, "8") + tail], DIALECT)
    assert state_of(outcome).last_event_id == "8"


def test_other_types_of_events_pass_through() -> None:
    """They need not be JSON; a ping proves nothing but the transport."""
    events, outcome = read(
        [event("ping", type="ping"), event("/messages", type="endpoint")], DIALECT
    )
    assert events == [Other("ping", "ping"), Other("endpoint", "/messages")]
    reducer = DIALECT.reducer(DIALECT.limits)
    assert [reducer.is_keepalive(each) for each in events] == [True, False]
    assert isinstance(outcome, Interrupted) and not state_of(outcome).resumable


def test_a_batch() -> None:
    """The revision of 2025-03-26: several messages in one event, ours the last that counts."""
    events, outcome = read([event([NOTE, response(), NOTE])], DIALECT)
    assert events == [JsonEvent("", NOTE), JsonEvent("", response())]
    assert isinstance(outcome, Completed)


@pytest.mark.parametrize(("data", "fault"), [("{", InvalidJson), ("1", ProtocolViolation)])
def test_what_is_no_message_fails(data: str, fault: type[Exception]) -> None:
    """Bad JSON, and JSON that is no object."""
    _, outcome = read([event(data)], DIALECT)
    assert isinstance(outcome, Failed) and type(outcome.error) is fault


@given(mangled(EVERYTHING))
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends in one of our ways."""
    _, outcome = read([b"".join(map(event, payloads))], Mcp(request_id=2))
    assert not (isinstance(outcome, Failed) and isinstance(outcome.error, StageError))
    state_of(outcome).text.encode("utf-8", "surrogatepass")
