"""OpenAI Assistants: a run of steps and messages, up to `done`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from untorn import (
    Completed,
    Failed,
    Finish,
    InvalidJson,
    Other,
    ProtocolViolation,
    ServiceError,
    Snapshot,
    TextDelta,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
    parse,
)
from untorn.dialects.openai_assistants import OpenAIAssistants

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

CAPTURES = captures("openai-assistants")
DIALECT = OpenAIAssistants()
DONE = b"event: done\ndata: [DONE]\n\n"


def event(type: str, payload: Any) -> bytes:
    return f"event: {type}\ndata: {json.dumps(payload)}\n\n".encode()


def said(text: str, index: int = 0) -> dict[str, Any]:
    content = {"index": index, "type": "text", "text": {"value": text}}
    return {"id": "m", "delta": {"content": [content]}}


def step(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"id": "s", "delta": {"step_details": {"type": "tool_calls", "tool_calls": list(calls)}}}


def function(arguments: str, **fields: Any) -> dict[str, Any]:
    return {"index": 0, "type": "function", "function": {"arguments": arguments, **fields}}


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
ACTION = {"required_action": {"submit_tool_outputs": {"tool_calls": [CALL]}}, "usage": None}
CODE = step({"index": 1, "type": "code_interpreter", "code_interpreter": {"input": "1"}})
WHOLE = {"id": "m", "content": [{"type": "text", "text": {"value": "Hi you"}}]}
EVERYTHING: list[tuple[str, Any]] = [
    ("thread.run.created", {"id": "r"}),
    ("thread.message.delta", said("Hi ")),
    ("thread.message.delta", said("you")),
    ("thread.message.completed", WHOLE),
    ("thread.run.step.delta", CODE),
    ("thread.run.step.delta", step({**function('{"a"', name="f"), "id": "c"})),
    ("thread.run.step.delta", step(function(": 1}"))),
    ("thread.run.step.completed", {"usage": {"total_tokens": 1}}),
    ("thread.run.requires_action", {**ACTION, "usage": {"total_tokens": 9}}),
]
WIRE = b"".join(event(*each) for each in EVERYTHING)


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, text, usage and status are those of the index."""
    _, outcome = read([capture.wire], DIALECT)
    expected = {**capture.expected, "terminal_marker": "[DONE]"}
    assert_as_recorded(outcome, replace(capture, expected=expected))


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)
    assert_cuts_do_not_matter(WIRE + DONE, DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed before `done`, not even behind a completed run."""
    assert_prefixes_are_torn(capture.wire, DIALECT, iter(prefixes(capture.wire)))
    assert_prefixes_are_torn(WIRE + DONE, DIALECT, iter(range(len(WIRE + DONE))))


def test_every_event_in_order() -> None:
    """Text and function calls as they grow, the rest as it is."""
    events, outcome = read([WIRE + DONE], DIALECT)
    message = message_of(outcome)
    payloads = [payload for _, payload in EVERYTHING]
    assert events == [
        Other("thread.run.created", payloads[0]),
        TextDelta("Hi "), TextDelta("you"), Snapshot(WHOLE),
        Other("thread.run.step.delta", CODE),
        ToolCallDelta(0, "c", "f", '{"a"'), ToolCallDelta(0, "c", "f", ": 1}"),
        Other("thread.run.step.completed", payloads[7]),
        ToolCallDone(0, message.tool_calls[0]),
        UsageUpdate({"total_tokens": 9}), Finish("requires_action", "tool"),
    ]  # fmt: skip
    assert message.text == "Hi you" and message.tool_calls[0].valid
    assert message.extra == {"run": payloads[8], "messages": {"m": WHOLE}}


def test_the_last_event_completes() -> None:
    """Whoever stops at `Finish` has a completed stream; nothing behind it is read."""
    stream = parse([WIRE + DONE + event("error", {})], DIALECT)
    for each in stream:
        if isinstance(each, Finish):
            break
        assert stream.outcome is None
    assert isinstance(stream.outcome, Completed) and stream.outcome.marker == "[DONE]"


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ({"type": "image_file", "image_file": {"file_id": "f"}}, []),
        ({"type": "text", "text": {"value": "a", "annotations": [{"url": "u"}]}}, ["a"]),
    ],
    ids=["image", "annotated"],
)
def test_what_is_more_than_text_is_handed_out_whole(content: Any, texts: list[str]) -> None:
    """Behind the text of it that there is."""
    payload = {"id": "m", "delta": {"content": [content]}}
    events, _ = read([event("thread.message.delta", payload)], DIALECT)
    assert events == [*map(TextDelta, texts), Other("thread.message.delta", payload)]


def test_a_snapshot_replaces() -> None:
    """A message that comes whole, or differs from its pieces, stands as it came."""
    wire = event("thread.message.delta", said("Hello")) + event("thread.message.completed", WHOLE)
    _, outcome = read([wire + DONE], DIALECT)
    assert message_of(outcome).text == "Hi you"


def test_a_snapshot_without_a_text_takes_none_away() -> None:
    """An image in it stands where it stands, and the text of the pieces stays."""
    image = {"id": "m", "content": [{"type": "image_file"}]}
    wire = event("thread.message.delta", said("Hi")) + event("thread.message.completed", image)
    events, outcome = read([wire + DONE], DIALECT)
    assert events[1] == Snapshot(image)
    assert message_of(outcome).text == "Hi"


def test_a_call_without_pieces_and_one_without_an_end() -> None:
    """A call may come whole; one that the run does not hand over is not finished."""
    events, outcome = read([event("thread.run.requires_action", ACTION) + DONE], DIALECT)
    (found,) = message_of(outcome).tool_calls
    assert events[:2] == [ToolCallDelta(0, "c", "f", '{"a": 1}'), ToolCallDone(0, found)]
    _, outcome = read(
        [event("thread.run.step.delta", step(function("{}", name="f"))) + DONE], DIALECT
    )
    assert [call.finished for call in message_of(outcome).tool_calls] == [False]


def test_a_piece_behind_the_end_of_a_call_fails() -> None:
    """A call that was handed out as finished can no longer grow."""
    wire = WIRE + event("thread.run.step.delta", step(function("x")))
    _, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)


@pytest.mark.parametrize(
    ("type", "payload", "said"),
    [
        ("thread.run.failed", {"last_error": {"code": "c", "message": "no"}}, ("c", "no")),
        ("thread.run.expired", {}, ("expired", None)),
        ("thread.run.cancelled", {}, ("cancelled", None)),
        ("thread.run.incomplete", {"incomplete_details": {"reason": "max"}}, ("incomplete", "max")),
        ("error", {"error": {"type": "t", "message": "no"}}, ("t", "no")),
        ("error", {"type": "t", "message": "no"}, ("t", "no")),
    ],
)
def test_what_fails(type: str, payload: Any, said: tuple[str | None, str | None]) -> None:
    """The run, or the stream; `done` follows and does not heal it."""
    _, outcome = read([event(type, payload) + DONE], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.type, outcome.error.message) == said


@pytest.mark.parametrize("data", ["overloaded", "[1"])
def test_an_error_that_is_no_json_keeps_its_words(data: str) -> None:
    """The type of the event says that it is one, whatever a proxy wrote into it."""
    _, outcome = read([f"event: error\ndata: {data}\n\n".encode() + DONE], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert outcome.error.message == data


@pytest.mark.parametrize(("data", "fault"), [("{", InvalidJson), ("[]", ProtocolViolation)])
def test_what_is_no_object_fails(data: str, fault: type[Exception]) -> None:
    """Bad JSON, and JSON that is no object."""
    _, outcome = read([f"event: thread.run.queued\ndata: {data}\n\n".encode()], DIALECT)
    assert isinstance(outcome, Failed) and type(outcome.error) is fault


FIELDS = {"type", "payload"}


@given(mangled([{"type": type, "payload": payload} for type, payload in EVERYTHING]))
def test_no_payload_makes_an_internal_error(events: list[Any]) -> None:
    """Whatever stands in a field, the stream ends in one of our ways."""
    whole = [each for each in events if isinstance(each, dict) and each.keys() == FIELDS]
    types = [re.sub(r"[^\w./|]", "", str(each["type"])) for each in whole]
    wire = b"".join(map(event, types, [each["payload"] for each in whole]))
    assert_no_internal_error(wire + DONE, DIALECT)
