"""LangGraph: snapshots, pieces, and a switch for the servers that just close."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given

from untorn import (
    Completed,
    Failed,
    Finish,
    Interrupted,
    InvalidJson,
    Limits,
    Other,
    ServiceError,
    Snapshot,
    TextDelta,
    parse,
)
from untorn.dialects.langgraph import LangGraph

from .captures import (
    Capture,
    assert_as_recorded,
    assert_cuts_do_not_matter,
    captures,
    message_of,
    prefixes,
    read,
)
from .fuzz import assert_no_internal_error, assert_prefixes_are_torn, mangled

CAPTURES = captures("langgraph")
DIALECT = LangGraph()


def event(type: str, payload: Any, id: str | None = None) -> bytes:
    data = payload if isinstance(payload, str) else json.dumps(payload)
    fields = [f"event: {type}", *([f"id: {id}"] if id else []), f"data: {data}", "", ""]
    return "\n".join(fields).encode(errors="surrogatepass")


def message(said: Any, id: str = "m", type: str = "ai", **fields: Any) -> dict[str, Any]:
    return {"content": said, "id": id, "type": type, **fields}


BLOCKS = [{"type": "text", "text": "A"}, {"type": "image"}, {"type": "text", "text": "B"}]
EVERYTHING: list[tuple[str, Any]] = [
    ("metadata", {"run_id": "r"}),
    ("messages/metadata", {"m": {}}),
    ("messages/partial", [message("")]),
    ("messages/partial", [message("Hal")]),
    ("messages/complete", [message("Hallo"), message("no text of ours", "h", "human")]),
    ("messages", [message(" du", "n", "AIMessageChunk"), {"node": "x"}]),
    ("messages|sub:1", [message(BLOCKS, "n", "AIMessageChunk"), {}]),
    ("messages", [message("", "n", "AIMessageChunk", tool_call_chunks=[{"args": "{"}]), {}]),
    ("messages", [message("!", "n", "AIMessageChunk", tool_call_chunks=[{"args": "}"}]), {}]),
    ("updates|sub:1", {"node": 1}),
    ("values", {"messages": [1]}),
    ("custom", [1]),
]


def wire_of(events: list[tuple[str, Any]]) -> bytes:
    return b"".join(event(type, payload, str(n)) for n, (type, payload) in enumerate(events))


WIRE = wire_of(EVERYTHING)
END = event("end", "null")


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, text and number of snapshots are those of the index."""
    events, outcome = read([capture.wire], DIALECT)
    assert_as_recorded(outcome, capture)
    assert sum(isinstance(e, Snapshot) for e in events) == capture.expected["snapshots"]
    assert len(message_of(outcome).extra["messages"]) == 3


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)
    assert_cuts_do_not_matter(WIRE + END, DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed before the event that ends the run."""
    assert_prefixes_are_torn(capture.wire, DIALECT, iter(prefixes(capture.wire)))
    assert_prefixes_are_torn(WIRE + END, DIALECT, iter(range(len(WIRE + END))))


def test_every_event_in_order() -> None:
    """What is whole replaces, pieces are appended, all else passes through."""
    events, outcome = read([WIRE + END], DIALECT)
    payloads = [payload for _, payload in EVERYTHING]
    assert events == [
        Other("metadata", payloads[0]), Other("messages/metadata", payloads[1]),
        Snapshot(payloads[2]), Snapshot(payloads[3]), Snapshot(payloads[4]),
        TextDelta(" du"), TextDelta("AB"),
        Other("messages", payloads[7]), TextDelta("!"), Other("messages", payloads[8]),
        Other("updates|sub:1", payloads[9]),
        Snapshot(payloads[10]), Other("custom", [1]), Finish(None, "complete"),
    ]  # fmt: skip
    assert message_of(outcome).text == "Hallo duAB!"
    extra = message_of(outcome).extra
    assert [each["content"] for each in extra["messages"]] == ["Hallo", "no text of ours"]
    assert extra["values"] == {"messages": [1]} and extra["metadata"] == {"run_id": "r"}
    assert extra["last_event_id"] == "11"


def test_the_end_completes() -> None:
    """Whoever stops at `Finish` has a completed stream; nothing behind it is read."""
    stream = parse([WIRE + END + event("error", "late")], DIALECT)
    for each in stream:
        if isinstance(each, Finish):
            break
        assert stream.outcome is None
    assert isinstance(stream.outcome, Completed) and stream.outcome.marker == "end"


def test_the_switch_for_servers_that_just_close() -> None:
    """A clean end of the transport completes if the caller says so; a torn one never does."""
    events, outcome = read([WIRE], LangGraph(eof="completes"))
    assert isinstance(outcome, Completed) and outcome.marker == "eof"
    assert events[-1] == Finish(None, "complete")
    _, outcome = read([WIRE + b"event"], LangGraph(eof="completes"))
    assert isinstance(outcome, Interrupted)
    _, outcome = read([WIRE], DIALECT)
    assert isinstance(outcome, Interrupted)
    with pytest.raises(ValueError, match="eof"):
        LangGraph(eof="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("type", "payload", "said"),
    [
        ("error", {"error": "E", "message": "no"}, ("E", "no")),
        ("error|sub:1", {"message": "no"}, ("error|sub:1", "no")),
        ("error", "no", ("error", "no")),
        ("error", "[1", ("error", "[1")),
    ],
)
def test_an_error_fails(type: str, payload: Any, said: tuple[str, str]) -> None:
    """In any namespace, whether JSON or not."""
    _, outcome = read([WIRE + event(type, payload)], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.type, outcome.error.message) == said


def test_the_cursor() -> None:
    """Ids of blocks that arrived whole, and the time to wait."""
    _, outcome = read([b"retry: 9\n", event("custom", 1, "a"), b"id: b\n\n", b"id: c\n"], DIALECT)
    extra = message_of(outcome).extra
    assert (extra["last_event_id"], extra["retry"]) == ("b", 9)


def test_bad_json_fails() -> None:
    """It does not move the cursor either; an event without data is none of that."""
    _, outcome = read([event("custom", "{", "a")], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, InvalidJson)
    assert outcome.partial.extra["last_event_id"] == ""
    assert read([event("heartbeat", "")], DIALECT)[0] == [Other("heartbeat", None)]


@pytest.mark.parametrize("payload", [[message("Hi", "h", "human"), {}], ["Hi", {}], [], "Hi", None])
def test_only_a_model_s_pieces_are_text(payload: Any) -> None:
    """What others said, and what is no message, passes through."""
    events, outcome = read([event("messages", json.dumps(payload)) + END], DIALECT)
    assert events == [Other("messages", payload), Finish(None, "complete")]
    assert message_of(outcome).text == ""


def test_what_is_no_message_is_in_the_snapshot_alone() -> None:
    """It has no id and no text: the messages beside it are folded, and it is not."""
    payload = [5, message("Hi")]
    events, outcome = read([event("messages/partial", payload) + END], DIALECT)
    assert events == [Snapshot(payload), Finish(None, "complete")]
    assert message_of(outcome).text == "Hi"
    assert message_of(outcome).extra["messages"] == [message("Hi")]


def test_the_value_is_bounded_by_what_it_holds() -> None:
    """Snapshots take the place of another, so their sum does not count; their size does."""
    growing = [("messages/partial", [message("a" * size)]) for size in range(200)]
    _, outcome = read([wire_of(growing)], DIALECT, Limits(value_bytes=600))
    assert isinstance(outcome, Interrupted)
    _, outcome = read([wire_of(growing)], DIALECT, Limits(value_bytes=300))
    assert isinstance(outcome, Failed) and outcome.error.code == "value-limit"


FIELDS = {"type", "payload"}


@given(mangled([{"type": type, "payload": payload} for type, payload in EVERYTHING]))
def test_no_payload_makes_an_internal_error(events: list[Any]) -> None:
    """Whatever stands in a field, the stream ends in one of our ways."""
    whole = [each for each in events if isinstance(each, dict) and each.keys() == FIELDS]
    types = [re.sub(r"[^\w./|]", "", str(each["type"])) for each in whole]
    wire = b"".join(map(event, types, [each["payload"] for each in whole]))
    assert_no_internal_error(wire + END, DIALECT)
