"""Cohere chat, version 2."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from untorn import (
    Cause,
    Completed,
    Failed,
    Finish,
    Interrupted,
    Other,
    ProtocolViolation,
    ReasoningDelta,
    ServiceError,
    TextDelta,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
    parse,
)
from untorn.dialects.cohere import CohereChat

from .captures import (
    Capture,
    assert_as_recorded,
    assert_cuts_do_not_matter,
    captures,
    message_of,
    prefixes,
    read,
)
from .fuzz import (
    assert_no_internal_error,
    assert_prefixes_are_torn,
    assert_values_stand_still,
    mangled,
    sse,
)

CAPTURES = captures("cohere-v2")
DIALECT = CohereChat()


def event(kind: str, index: int = 0, **message: Any) -> dict[str, Any]:
    return {"type": kind, "index": index, "delta": {"message": message}}


def end(reason: str = "COMPLETE", **delta: Any) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": reason, **delta}}


def arguments(fragment: str) -> dict[str, Any]:
    return event("tool-call-delta", tool_calls={"function": {"arguments": fragment}})


CALL = event("tool-call-start", tool_calls={"id": "c", "function": {"name": "f", "arguments": ""}})
EVERYTHING: list[dict[str, Any]] = [
    {"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}},
    event("content-start", content={"type": "thinking", "thinking": ""}),
    event("content-delta", content={"thinking": "hm"}),
    {"type": "content-end", "index": 0},
    event("content-start", 1, content={"type": "text", "text": ""}),
    {**event("content-delta", 1, content={"text": "Hi"}), "logprobs": {"token_ids": [1]}},
    event("citation-start", citations={"start": 0, "end": 2}),
    {"type": "content-end", "index": 1},
    event("tool-plan-delta", tool_plan="I will "),
    event("tool-plan-delta", tool_plan="look."),
    CALL,
    arguments('{"a":'),
    arguments("1}"),
    {"type": "tool-call-end", "index": 0},
    end("TOOL_CALL", usage={"tokens": {"output_tokens": 5}}),
]


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, marker, texts, calls and usage are those of the index."""
    _, outcome = read([capture.wire], DIALECT)
    assert_as_recorded(outcome, capture)
    plan = message_of(outcome).extra.get("tool_plan")
    assert plan == capture.expected.get("tool_plan")


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed before `message-end`; its events begin those of the whole."""
    assert_prefixes_are_torn(capture.wire, DIALECT, prefixes(capture.wire))


def test_every_event_in_order() -> None:
    """Each piece is handed out as what it is; what has no name of ours passes through."""
    events, outcome = read([sse(*EVERYTHING)], DIALECT)
    (call,) = outcome.unwrap().tool_calls
    assert [each for each in events if not isinstance(each, Other)] == [
        ReasoningDelta("hm"),
        TextDelta("Hi"),
        ToolCallDelta(0, "c", "f", ""),
        ToolCallDelta(0, "c", "f", '{"a":'),
        ToolCallDelta(0, "c", "f", "1}"),
        ToolCallDone(0, call),
        UsageUpdate({"tokens": {"output_tokens": 5}}),
        Finish("TOOL_CALL", "tool"),
    ]
    assert [each.name for each in events if isinstance(each, Other)] == [
        "logprobs",
        "citation-start",
        "tool-plan-delta",
        "tool-plan-delta",
    ]


def test_what_is_kept_beside_the_answer() -> None:
    """The plan is neither answer nor reasoning; citations stand by their index."""
    _, outcome = read([sse(*EVERYTHING)], DIALECT)
    assert outcome.unwrap().extra == {
        "id": "m",
        "tool_plan": "I will look.",
        "citations": [{"start": 0, "end": 2}],
        "logprobs": [{"token_ids": [1]}],
    }


def test_the_last_event_completes() -> None:
    """A consumer that leaves on `Finish` leaves a Completed stream."""
    stream = parse([sse(*EVERYTHING, "[DONE]")], DIALECT)
    for each in stream:
        if isinstance(each, Finish):
            break
    assert isinstance(stream.outcome, Completed) and stream.outcome.marker == "message-end"


def test_a_call_without_arguments_is_valid() -> None:
    """None at all mean `{}`."""
    wire = sse(CALL, {"type": "tool-call-end", "index": 0}, end("TOOL_CALL"))
    _, outcome = read([wire], DIALECT)
    (call,) = outcome.unwrap().tool_calls
    assert (call.arguments, call.valid) == ("", True)


def test_an_event_of_a_new_kind_passes_through() -> None:
    """As it came."""
    events, _ = read([sse({"type": "new", "x": 1}, end())], DIALECT)
    assert events == [Other("new", {"type": "new", "x": 1}), Finish("COMPLETE", "complete")]


CALL_END = {"type": "tool-call-end", "index": 0}


@pytest.mark.parametrize(
    "payloads", [[CALL_END], [arguments("{}")], [CALL, CALL_END, arguments("{}")]]
)
def test_a_piece_of_a_call_that_is_not_open_fails(payloads: list[Any]) -> None:
    """Its id and name are lost, or it was handed out as finished: the answer is not whole."""
    _, outcome = read([sse(*payloads, end("TOOL_CALL"))], DIALECT)
    assert isinstance(outcome, Failed) and outcome.error.code == "protocol"
    assert outcome.error.offset == len(sse(*payloads[:-1]))


def test_the_end_of_a_call_may_come_twice() -> None:
    """It is handed out once."""
    events, _ = read([sse(CALL, CALL_END, CALL_END, end("TOOL_CALL"))], DIALECT)
    assert len([each for each in events if isinstance(each, ToolCallDone)]) == 1


def test_a_call_cut_by_a_limit_is_never_finished() -> None:
    """Only its own end, or `TOOL_CALL`, finishes a call."""
    events, outcome = read([sse(CALL, arguments("{}"), end("MAX_TOKENS"))], DIALECT)
    assert not outcome.unwrap().tool_calls[0].finished
    assert events[-1] == Finish("MAX_TOKENS", "truncated")


@pytest.mark.parametrize(
    ("last", "type", "said"),
    [
        (end("ERROR", error="boom"), "ERROR", "boom"),
        (end("TIMEOUT"), "TIMEOUT", None),
        (end(error="boom"), "COMPLETE", "boom"),
        ({"type": "error", "message": "boom"}, "error", "boom"),
    ],
)
def test_a_failure_is_no_completion(last: dict[str, Any], type: str, said: str | None) -> None:
    """`ERROR`, `TIMEOUT` and an `error` fail the stream, though the marker was sent."""
    _, outcome = read([sse(*EVERYTHING[:6], last)], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.type, outcome.error.message) == (type, said)
    assert outcome.partial.text == "Hi"


def test_done_without_the_end_is_an_interruption() -> None:
    """`[DONE]` follows the marker; alone it proves nothing."""
    _, outcome = read([sse(*EVERYTHING[:-1], "[DONE]")], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.EOF


def test_halves_that_stay_alone_are_replaced() -> None:
    """In the text when its content ends, in the plan when the stream does."""
    halves = (
        event("content-delta", content={"text": "\ud83d"}),
        {"type": "content-end", "index": 0},
        event("tool-plan-delta", tool_plan="\ud83d"),
    )
    events, outcome = read([sse(*halves)], DIALECT)
    assert events[0] == TextDelta("\ufffd")
    assert message_of(outcome).extra["tool_plan"] == "\ufffd"


@pytest.mark.parametrize("last", [end(), "[DONE]", None])
def test_halves_of_the_plan_find_each_other(last: Any) -> None:
    """No piece that is handed out holds a half; the pieces are the plan that is kept."""
    pieces = ("a\ud83d", "\ude42b", "\ud83d", "\ude42", "", "c\ud83d")
    plan = [event("tool-plan-delta", tool_plan=piece) for piece in pieces]
    events, outcome = read([sse(*plan, *([last] if last else []))], DIALECT)
    told = [each.data for each in events if isinstance(each, Other)]
    said = [each["delta"]["message"]["tool_plan"] for each in told]
    assert said == ["a", "🙂b", "🙂", "", "c", "\ufffd"]
    assert message_of(outcome).extra["tool_plan"] == "".join(said)
    assert {each["type"] for each in told} == {"tool-plan-delta"}


@pytest.mark.parametrize("payload", [[], "5", None, event("content-delta", "0")])  # type: ignore[arg-type]
def test_a_payload_out_of_place_fails(payload: Any) -> None:
    """What is no object, or has no position, is a fault with a plain sentence."""
    _, outcome = read([sse(payload, end())], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)


def test_a_value_does_not_change_behind_ones_back() -> None:
    """A value taken early stays as it was, lists included."""
    assert_values_stand_still(EVERYTHING[:6] + EVERYTHING[5:], DIALECT)


@given(mangled(EVERYTHING))
@settings(max_examples=200, deadline=None)
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends with a verdict of ours."""
    assert_no_internal_error(sse(*payloads), DIALECT)
