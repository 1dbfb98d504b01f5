"""Anthropic Messages: a list of blocks, each opened, grown and closed at its index."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from untorn import (
    Boundary,
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
from untorn.dialects.anthropic import AnthropicMessages

from .captures import (
    Capture,
    assert_as_recorded,
    assert_cuts_do_not_matter,
    captures,
    message_of,
    prefixes,
    read,
)
from .cases import Case, cases
from .fuzz import (
    assert_no_internal_error,
    assert_prefixes_are_torn,
    assert_values_stand_still,
    mangled,
    sse,
)

CAPTURES = captures("anthropic-messages")
DIALECT = AnthropicMessages()


def start(id: str = "m", **fields: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": id, "content": [], **fields}}


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "content_block_delta",
        "index": index,
        "delta": {"type": f"{kind}_delta", **fields},
    }


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def stopped(reason: str | None, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


STOP = {"type": "message_stop"}
HELLO = (start(), opened(0, type="text", text=""), delta(0, "text", text="Hi"))
EVERYTHING: list[dict[str, Any]] = [
    start(usage={"input_tokens": 3, "output_tokens": 1}),
    {"type": "ping"},
    opened(0, type="thinking", thinking="", signature=""),
    delta(0, "thinking", thinking="hm"),
    delta(0, "signature", signature="sig"),
    closed(0),
    opened(1, type="text", text=""),
    delta(1, "text", text="Hi"),
    delta(1, "citations", citation={"url": "https://example.org"}),
    closed(1),
    opened(2, type="tool_use", id="t", name="now", input={}),
    delta(2, "input_json", partial_json=""),
    delta(2, "input_json", partial_json='{"zone":'),
    delta(2, "input_json", partial_json=' "UTC"}'),
    closed(2),
    opened(3, type="compaction", content=None),
    delta(3, "compaction", content="so far"),
    closed(3),
    stopped("tool_use", output_tokens=9),
    STOP,
]


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, marker, texts, calls and usage are those of the index."""
    _, outcome = read([capture.wire], DIALECT)
    assert_as_recorded(outcome, capture)
    blocks = message_of(outcome).extra["blocks"]
    assert [block["type"] for block in blocks] == capture.expected["block_types"]


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed before `message_stop`; its events begin those of the whole."""
    assert_prefixes_are_torn(capture.wire, DIALECT, prefixes(capture.wire))


# The reported streams that end after a stop_reason are torn to us: message_stop is the marker.
STRICT = {
    "idle-03": Boundary.MESSAGE,
    "trunc-10": Boundary.MESSAGE,
    "trunc-11": Boundary.FRAME,
}


@pytest.mark.parametrize("case", cases("anthropic", skip=()))
def test_a_reported_stream(case: Case) -> None:
    """It is read as it should have been, but a `stop_reason` alone completes nothing."""
    _, outcome = read(case.chunks(), DIALECT)
    message, reduced = message_of(outcome), case.reduced
    if case.id in STRICT:
        assert isinstance(outcome, Interrupted) and outcome.torn is STRICT[case.id]
    else:
        assert type(outcome).__name__ == case.outcome
    assert message.text == reduced.get("text", "")
    assert message.finish_reason == reduced.get("finish")
    for call, wanted in zip(message.tool_calls, reduced.get("tool_calls", ()), strict=True):
        assert (call.id, call.name) == (wanted["id"], wanted["name"])
        assert (call.arguments or "{}") == wanted["arguments"]
        assert call.valid is wanted.get("complete", True)
    if isinstance(outcome, Failed):
        assert isinstance(outcome.error, ServiceError)
        assert outcome.error.type == reduced.get("error_type", "overloaded_error")
        assert outcome.retry_safe is reduced.get("retry_safe", False)


def test_pings_after_the_stop_reason_are_no_completion() -> None:
    """A stream that only pings after its `stop_reason` is open, and not complete."""
    wire = sse(*HELLO, stopped("end_turn"), {"type": "ping"}, {"type": "ping"})
    events, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Interrupted)
    assert (outcome.partial.text, outcome.partial.finish_reason) == ("Hi", "end_turn")
    assert events[-2:] == [Other("ping", {"type": "ping"})] * 2


def test_every_event_in_order() -> None:
    """Each piece is handed out as what it is; what has no name of ours passes through."""
    events, outcome = read([sse(*EVERYTHING)], DIALECT)
    call = outcome.unwrap().tool_calls[0]
    assert [event for event in events if not isinstance(event, Other)] == [
        UsageUpdate({"input_tokens": 3, "output_tokens": 1}),
        ReasoningDelta("hm"),
        TextDelta("Hi"),
        ToolCallDelta(0, "t", "now", ""),
        ToolCallDelta(0, "t", "now", '{"zone":'),
        ToolCallDelta(0, "t", "now", ' "UTC"}'),
        ToolCallDone(0, call),
        UsageUpdate({"input_tokens": 3, "output_tokens": 9}),
        Finish("tool_use", "tool"),
    ]
    assert [event.name for event in events if isinstance(event, Other)] == [
        "ping",
        "signature_delta",
        "citations_delta",
        "content_block_start",
        "compaction_delta",
    ]


def test_blocks_are_what_the_next_request_sends_back() -> None:
    """`extra["blocks"]` holds every block in the service's own words."""
    _, outcome = read([sse(*EVERYTHING)], DIALECT)
    assert outcome.unwrap().extra["blocks"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "Hi", "citations": [{"url": "https://example.org"}]},
        {"type": "tool_use", "id": "t", "name": "now", "input": {"zone": "UTC"}},
        {"type": "compaction", "content": "so far"},
    ]


def test_the_last_event_completes() -> None:
    """A consumer that leaves on `Finish` leaves a Completed stream."""
    stream = parse([sse(*EVERYTHING)], DIALECT)
    for event in stream:
        if isinstance(event, Finish):
            break
    assert isinstance(stream.outcome, Completed) and stream.outcome.marker == "message_stop"


def test_a_value_does_not_change_behind_ones_back() -> None:
    """A value taken early stays as it was, lists included."""
    again = delta(1, "citations", citation={"url": "https://example.net"})
    assert_values_stand_still([*EVERYTHING[:9], again, *EVERYTHING[9:]], DIALECT)


def test_a_call_left_open_by_a_limit_is_never_finished() -> None:
    """Where `max_tokens` cuts the input the block has no stop, and the call is not to be run."""
    wire = sse(
        start(),
        opened(0, type="tool_use", id="t", name="w", input={}),
        delta(0, "input_json", partial_json='{"a": 1}'),
        stopped("max_tokens"),
        STOP,
    )
    events, outcome = read([wire], DIALECT)
    (call,) = outcome.unwrap().tool_calls
    assert (call.finished, call.valid) == (False, False)
    assert not any(isinstance(event, ToolCallDone) for event in events)
    assert events[-1] == Finish("max_tokens", "truncated")


def test_a_call_left_open_by_a_gateway_is_finished_at_the_marker() -> None:
    """`tool_use` says that the calls are whole, even if a gateway dropped their stops."""
    wire = sse(
        start(),
        opened(0, type="tool_use", id="t", name="w", input={}),
        delta(0, "input_json", partial_json="{}"),
        stopped("tool_use"),
        STOP,
    )
    events, outcome = read([wire], DIALECT)
    assert outcome.unwrap().tool_calls[0].valid
    assert [type(event) for event in events[-2:]] == [ToolCallDone, Finish]


def test_the_input_a_call_is_opened_with() -> None:
    """It is final where no delta follows, and gives way where one does."""
    block = {"type": "tool_use", "id": "t", "name": "w", "input": {"a": 1}}
    _, alone = read([sse(start(), opened(0, **block), closed(0), STOP)], DIALECT)
    assert alone.unwrap().tool_calls[0].arguments == '{"a":1}'
    grown = delta(0, "input_json", partial_json='{"b": 2}')
    _, outcome = read([sse(start(), opened(0, **block), grown, closed(0), STOP)], DIALECT)
    assert outcome.unwrap().tool_calls[0].arguments == '{"b": 2}'


@pytest.mark.parametrize(
    "wire",
    [
        (start(), delta(0, "text", text="x")),
        (*HELLO, closed(0), delta(0, "text", text="x")),
        (*HELLO, closed(1)),
        (*HELLO, start("other")),
        (start(), opened("0", type="text")),  # type: ignore[arg-type]
        (start(), [1]),
    ],
    ids=["unopened", "closed", "stop of none", "second message", "index", "no object"],
)
def test_a_broken_order_fails(wire: tuple[Any, ...]) -> None:
    """A piece without a place is a fault, never a guess."""
    _, outcome = read([sse(*wire, STOP)], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)


def test_the_same_start_twice_is_one_message() -> None:
    """Some hops send `message_start` again with the same id."""
    events, outcome = read([sse(start(), *HELLO, start(), STOP)], DIALECT)
    assert outcome.unwrap().text == "Hi"
    assert events == [TextDelta("Hi"), Finish(None, "unknown")]


def test_a_message_may_begin_with_its_content() -> None:
    """The blocks of a `message_start` are whole as they come; another may open with text."""
    call = {"type": "tool_use", "id": "t", "name": "w", "input": {"a": 1}}
    begun = start(content=[{"type": "text", "text": "Hi"}, call])
    events, outcome = read([sse(begun, opened(2, type="text", text=" you"), STOP)], DIALECT)
    assert outcome.unwrap().text == "Hi you"
    assert events == [
        TextDelta("Hi"),
        ToolCallDelta(0, "t", "w", ""),
        ToolCallDelta(0, "t", "w", '{"a":1}'),
        ToolCallDone(0, outcome.unwrap().tool_calls[0]),
        TextDelta(" you"),
        Finish(None, "unknown"),
    ]


def test_the_error_keeps_the_words_of_the_service() -> None:
    """Type, message and request id are kept, and the text that came before."""
    error = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_1",
    }
    _, outcome = read([sse(*HELLO, error)], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    fault = outcome.error
    assert (fault.type, fault.message, fault.request_id) == (
        "overloaded_error",
        "Overloaded",
        "req_1",
    )
    assert (fault.raw, outcome.partial.text) == (error, "Hi")


def test_the_type_may_stand_in_the_event_alone() -> None:
    """A payload without a type has that of its SSE event; a data-only stream is read too."""
    named = (
        b'event: message_start\ndata: {"message":{"id":"m"}}\n\nevent: message_stop\ndata: {}\n\n'
    )
    _, outcome = read([named], DIALECT)
    assert isinstance(outcome, Completed)
    assert outcome.value.extra == {"id": "m"}


@pytest.mark.parametrize("end", [[], ["[DONE]"]], ids=["eof", "done"])
def test_a_stop_reason_may_be_let_complete(end: list[str]) -> None:
    """`eof="completes"` accepts a clean end after a `stop_reason`, and nothing less."""
    lenient = AnthropicMessages(eof="completes")
    wire = sse(*HELLO, closed(0), stopped("end_turn"), *end)
    events, outcome = read([wire], lenient)
    assert isinstance(outcome, Completed) and outcome.marker == "stop_reason"
    assert events[-1] == Finish("end_turn", "complete")
    assert isinstance(read([wire], DIALECT)[1], Interrupted)
    assert isinstance(read([wire + b"data: {"], lenient)[1], Completed if end else Interrupted)
    assert isinstance(read([sse(*HELLO, closed(0), *end)], lenient)[1], Interrupted)


def test_done_without_a_marker_ends_the_wait() -> None:
    """No marker comes behind a `[DONE]`: the stream is interrupted there and then."""
    _, outcome = read([sse(*HELLO, "[DONE]", STOP)], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.EOF
    assert outcome.position.bytes == len(sse(*HELLO, "[DONE]"))


def test_a_pair_split_between_deltas_is_healed() -> None:
    """Halves find each other; one that stays alone is replaced when its block ends."""
    halves = [
        delta(0, "text", text="\ud83d"),
        delta(0, "text", text="\ude42"),
        delta(0, "text", text="\ud83d"),
        closed(0),
    ]
    events, outcome = read([sse(*HELLO, *halves, STOP)], DIALECT)
    assert [event.text for event in events[:-1]] == ["Hi", "🙂", "\ufffd"]
    assert outcome.unwrap().text == "Hi🙂\ufffd"


def test_a_ping_is_a_keepalive() -> None:
    """It proves the transport, not progress."""
    reducer = DIALECT.reducer(DIALECT.limits)
    assert reducer.is_keepalive(Other("ping", {}))
    assert not reducer.is_keepalive(Other("signature_delta", {}))
    assert not reducer.is_keepalive(TextDelta("ping"))


@given(mangled(EVERYTHING))
@settings(max_examples=200, deadline=None)
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends with a verdict of ours."""
    assert_no_internal_error(sse(*payloads), DIALECT)
    assert_no_internal_error(sse(*payloads), AnthropicMessages(eof="completes"))


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize(("arguments", "whole"), [("", False), ("{}", True)])
def test_an_empty_call_of_a_truncated_message_is_not_whole(
    reason: str, arguments: str, whole: bool
) -> None:
    """No arguments would mean `{}`, but the limit may have cut them off; also in a prefix."""
    tool = opened(0, type="tool_use", id="t", name="w", input={})
    growth = delta(0, "input_json", partial_json=arguments)
    wire = sse(start(), tool, growth, closed(0), stopped(reason))
    for sent in (
        wire,
        wire + sse(STOP),
        sse(start(), tool, growth, stopped(reason), closed(0), STOP),
    ):
        events, outcome = read([sent], DIALECT)
        (call,) = message_of(outcome).tool_calls
        assert (call.finished, call.valid) == (whole, whole)
        assert any(isinstance(event, ToolCallDone) for event in events)


@pytest.mark.parametrize("data", ['[DONE]{"type":"error"}', "[DONE]zz", "[DONE] [DONE]"])
def test_the_sentinel_is_the_whole_data(data: str) -> None:
    """Data that only begins with it is no JSON; white space around it says nothing."""
    head = sse(*HELLO, stopped("end_turn"))
    dialect = AnthropicMessages(eof="completes")
    _, outcome = read([head + f"data: {data}\n\n".encode()], dialect)
    assert isinstance(outcome, Failed) and outcome.error.code == "invalid-json"
    _, outcome = read([head + b"data:  [DONE] \n\n"], dialect)
    assert isinstance(outcome, Completed)


def test_a_delta_of_a_new_kind_passes_through() -> None:
    """It changes no block: what it would be in one, nobody knows."""
    new = delta(0, "new", score=1)
    events, outcome = read([sse(*HELLO, new, STOP)], DIALECT)
    assert events == [TextDelta("Hi"), Other("new_delta", new), Finish(None, "unknown")]
    assert outcome.unwrap().extra["blocks"] == [{"type": "text", "text": "Hi"}]


def test_an_error_may_come_without_its_type() -> None:
    """Gateways send it in a payload of no type, or of one of their own."""
    for named in ({}, {"type": "gateway"}):
        wire = sse(*HELLO, {**named, "error": {"message": "gone"}}, STOP)
        _, outcome = read([wire], DIALECT)
        assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
        assert (outcome.error.message, outcome.partial.text) == ("gone", "Hi")


@pytest.mark.parametrize(
    "data", ["gone", '"gone"', '{"message": "gone"}', '{"error": {"message": "gone"}}']
)
def test_an_error_event_keeps_its_words(data: str) -> None:
    """The type of the event says that it is an error; its data may have any shape."""
    _, outcome = read([sse(*HELLO) + f"event: error\ndata: {data}\n\n".encode()], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert outcome.error.message == "gone"
    assert outcome.partial.text == "Hi"
