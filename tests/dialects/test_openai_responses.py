"""OpenAI Responses: items by position, deltas and the snapshots that repeat them."""

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
    Limits,
    Other,
    ProtocolViolation,
    ReasoningDelta,
    RefusalDelta,
    ServiceError,
    Snapshot,
    TextDelta,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
    parse,
)
from untorn.dialects.openai_responses import OpenAIResponses

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

CAPTURES = captures("openai-responses")
DIALECT = OpenAIResponses()


def event(kind: str, at: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": at, **fields}


def text(delta: str, at: int = 0, within: int = 0) -> dict[str, Any]:
    return event("output_text.delta", at, content_index=within, delta=delta)


def text_done(whole: str, at: int = 0, within: int = 0) -> dict[str, Any]:
    return event("output_text.done", at, content_index=within, text=whole)


def summary(delta: str, at: int = 0, within: int = 0) -> dict[str, Any]:
    return event("reasoning_summary_text.delta", at, summary_index=within, delta=delta)


def ended(*output: dict[str, Any], how: str = "completed", **fields: Any) -> dict[str, Any]:
    response = {"id": "r", "status": how, "output": list(output), **fields}
    return {"type": f"response.{how}", "response": response}


def message(*texts: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": t} for t in texts]}


def function(arguments: str, status: str = "completed") -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": "c",
        "name": "f",
        "arguments": arguments,
        "status": status,
    }


SUMMARY = {"type": "summary_text", "text": "first"}
EVERYTHING: list[dict[str, Any]] = [
    {"type": "response.created", "sequence_number": 0, "response": {"id": "r", "usage": None}},
    event("output_item.added", item={"type": "reasoning", "summary": []}),
    summary("first"),
    summary("second", within=1),
    event("reasoning_summary_part.done", summary_index=0, part=SUMMARY),
    event("output_item.done", item={"type": "reasoning", "encrypted_content": "gA=="}),
    event("output_item.added", 1, item={"type": "web_search_call", "status": "in_progress"}),
    event("web_search_call.searching", 1),
    event("output_item.done", 1, item={"type": "web_search_call", "status": "completed"}),
    event("output_item.added", 2, item=message()),
    {**text("Hi", 2), "logprobs": [{"token": "Hi"}], "obfuscation": "xyz"},
    event("output_text.annotation.added", 2, content_index=0, annotation_index=0,
          annotation={"type": "url_citation"}),
    text_done("Hi", 2),
    event("content_part.done", 2, content_index=0, part={"type": "output_text", "text": "Hi"}),
    event("output_item.done", 2, item=message("Hi")),
    event("output_item.added", 3, item=function("", "in_progress")),
    event("function_call_arguments.delta", 3, delta='{"a":'),
    event("function_call_arguments.delta", 3, delta="1}"),
    event("function_call_arguments.done", 3, arguments='{"a":1}'),
    event("output_item.done", 3, item=function('{"a":1}')),
    {**ended(usage={"total_tokens": 3}), "sequence_number": 20},
]  # fmt: skip


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, marker, texts, calls and usage are those of the index."""
    events, outcome = read([capture.wire], DIALECT)
    assert_as_recorded(outcome, capture)
    extra = message_of(outcome).extra
    assert len(extra.get("annotations", ())) == capture.expected.get("citations", 0)
    if "no_space" not in capture.file:  # the one whose snapshots contradict each other
        assert not any(isinstance(event, Snapshot) for event in events)


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed before the last event; its events begin those of the whole."""
    assert_prefixes_are_torn(capture.wire, DIALECT, prefixes(capture.wire))


@pytest.mark.parametrize("case", cases("openai-responses", skip=()))
def test_a_reported_stream(case: Case) -> None:
    """It is read as it should have been; one that the consumer left reads as one that was cut."""
    _, outcome = read(case.chunks(), DIALECT)
    assert type(outcome).__name__ == case.outcome
    folded = message_of(outcome)
    assert folded.text == case.reduced["text"]
    # "incomplete:" is the reporter's; the service says why, and the marker says incomplete.
    assert folded.finish_reason == case.reduced.get("finish", "completed").removeprefix(
        "incomplete:"
    ) or isinstance(outcome, Interrupted)


def test_every_event_in_order() -> None:
    """Pieces are handed out as what they are, and snapshots that agree are not."""
    events, outcome = read([sse(*EVERYTHING)], DIALECT)
    (call,) = outcome.unwrap().tool_calls
    assert [each for each in events if not isinstance(each, Other)] == [
        ReasoningDelta("first"),
        ReasoningDelta("\n\n"),
        ReasoningDelta("second"),
        TextDelta("Hi"),
        ToolCallDelta(0, "c", "f", ""),
        ToolCallDelta(0, "c", "f", '{"a":'),
        ToolCallDelta(0, "c", "f", "1}"),
        ToolCallDone(0, call),
        UsageUpdate({"total_tokens": 3}),
        Finish("completed", "tool"),
    ]
    assert [each.name for each in events if isinstance(each, Other)] == [
        "response.output_item.added",
        "response.web_search_call.searching",
        "response.output_item.done",
        "response.output_text.annotation.added",
    ]


def test_what_is_kept_beside_the_answer() -> None:
    """`extra` holds what the next request or a resumption needs, in the service's own words."""
    _, outcome = read([sse(*EVERYTHING)], DIALECT)
    extra = outcome.unwrap().extra
    assert [item["type"] for item in extra["output"]] == [
        "reasoning", "web_search_call", "message", "function_call"]  # fmt: skip
    assert extra["output"][0]["encrypted_content"] == "gA=="
    assert extra["annotations"] == [{"type": "url_citation"}]
    assert extra["logprobs"] == [{"token": "Hi"}]
    assert extra["sequence_number"] == 20
    assert extra["response"]["id"] == "r" and "output" not in extra["response"]


def test_the_last_event_completes() -> None:
    """A consumer that leaves on `Finish` leaves a Completed stream."""
    stream = parse([sse(*EVERYTHING)], DIALECT)
    for each in stream:
        if isinstance(each, Finish):
            break
    assert isinstance(stream.outcome, Completed)
    assert stream.outcome.marker == "response.completed"


@pytest.mark.parametrize(
    "snapshot",
    [
        text_done("Hi"),
        event("content_part.done", content_index=0, part={"type": "output_text", "text": "Hi"}),
        event("output_item.done", item=message("Hi")),
        ended(message("Hi")),
    ],
    ids=["text", "part", "item", "response"],
)
def test_a_snapshot_may_come_alone_agree_or_replace(snapshot: dict[str, Any]) -> None:
    """Alone it is a delta; agreeing it is nothing; otherwise it takes the place of the deltas."""
    end = () if snapshot["type"] == "response.completed" else (ended(),)
    alone, outcome = read([sse(snapshot, *end)], DIALECT)
    assert alone == [TextDelta("Hi"), Finish("completed", "complete")]
    assert outcome.unwrap().text == "Hi"
    agreeing, _ = read([sse(text("H"), text("i"), snapshot, *end)], DIALECT)
    assert agreeing == [TextDelta("H"), TextDelta("i"), Finish("completed", "complete")]
    events, outcome = read([sse(text("Ho"), snapshot, *end)], DIALECT)
    assert [type(each) for each in events] == [TextDelta, Snapshot, Finish]
    assert events[1].value.text == outcome.unwrap().text == "Hi"


def test_an_empty_snapshot_takes_nothing_away() -> None:
    """An empty or missing text says nothing; an empty `output` leaves what was folded."""
    _, outcome = read([sse(text("Hi"), text_done(""), event("output_text.done"), ended())], DIALECT)
    assert outcome.unwrap().text == "Hi"


def test_a_replaced_text_is_counted_once() -> None:
    """A snapshot takes the room of what it replaces, so the limit holds for what is kept."""
    wire = sse(text("ab"), *(text_done(f"a{n}") for n in range(9)), ended())
    _, outcome = read([wire], DIALECT, Limits(value_bytes=4))
    assert isinstance(outcome, Completed) and outcome.value.text == "a8"


@pytest.mark.parametrize(
    ("streamed", "output", "whole"),
    [
        ([text("Hi", 1)], [message("Hi")], "Hi"),
        ([text("i", 1)], [message("Oh. "), message("Hi")], "Oh. Hi"),
        ([text("Hi", 2), text("Ho", 3)], [message("Hi"), message("Ho")], "HiHo"),
    ],
    ids=["counted from 1", "resumed in the second", "items left out"],
)
def test_the_final_list_finds_its_items(
    streamed: list[dict[str, Any]], output: list[dict[str, Any]], whole: str
) -> None:
    """The final list is matched with what was streamed, and no text is there twice."""
    _, outcome = read([sse(*streamed, ended(*output))], DIALECT)
    assert outcome.unwrap().text == whole


def test_texts_stand_in_the_order_of_their_items() -> None:
    """Items may grow side by side; the message is in their order, and a Snapshot says so."""
    events, outcome = read([sse(text("b", 1), text("a"), text("c", 1), ended())], DIALECT)
    assert [type(each) for each in events] == [TextDelta] * 3 + [Snapshot, Finish]
    assert events[3].value.text == outcome.unwrap().text == "abc"


def test_a_final_list_without_the_reasoning() -> None:
    """A service may leave items out at the end; the others are still found by their type."""
    wire = sse(summary("hm"), text("Hi", 1), ended(message("Hi")))
    events, outcome = read([wire], DIALECT)
    assert (outcome.unwrap().text, outcome.unwrap().reasoning) == ("Hi", "hm")
    assert not any(isinstance(each, Snapshot) for each in events)


def test_a_call_is_done_once_and_when_it_is_known() -> None:
    """A resumed stream hears of a call's id only from its item; it is done then, and once."""
    item = function('{"a":1}')
    wire = sse(
        event("function_call_arguments.delta", delta="1}"),
        event("function_call_arguments.done", arguments='{"a":1}'),
        event("output_item.done", item=item),
        ended(item),
    )
    events, outcome = read([wire], DIALECT)
    done = [each for each in events if isinstance(each, ToolCallDone)]
    assert [(each.call.id, each.call.arguments) for each in done] == [("c", '{"a":1}')]
    assert outcome.unwrap().tool_calls == (done[0].call,)


@pytest.mark.parametrize("others", [[], [event("output_item.done", item=message("a"))]])
def test_arguments_whose_item_never_comes_fail(others: list[dict[str, Any]]) -> None:
    """Nobody can run a call without its id and name: the answer has lost a part."""
    arguments = event("function_call_arguments.delta", delta="{}")
    done = event("function_call_arguments.done", arguments="{}")
    wire = sse(text("a", 1), arguments, done, *others, ended())
    events, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)
    assert not any(isinstance(each, ToolCallDone | Finish) for each in events)
    assert [(call.id, call.finished) for call in outcome.partial.tool_calls] == [(None, False)]
    _, outcome = read([sse(arguments, done, ended(function("{}")))], DIALECT)
    assert outcome.unwrap().tool_calls[0].id == "c"


@pytest.mark.parametrize("missing", ["call_id", "name"])
def test_a_call_is_not_done_before_its_id_and_name_are_known(missing: str) -> None:
    """The end of the arguments does not say what to call, or whom to answer."""
    wire = sse(
        event("output_item.added", item={**function("", "in_progress"), missing: None}),
        event("function_call_arguments.done", arguments="{}"),
        event("output_item.done", item=function("{}")),
        ended(function("{}")),
    )
    done = [each for each in read([wire], DIALECT)[0] if isinstance(each, ToolCallDone)]
    assert [(each.call.id, each.call.name) for each in done] == [("c", "f")]


@pytest.mark.parametrize("said", [{}, {"arguments": ""}, {"arguments": None}])
def test_a_call_is_not_done_without_arguments_that_its_item_has(said: dict[str, Any]) -> None:
    """Where the end of the arguments does not say them, the item does."""
    wire = sse(
        event("output_item.added", item=function("", "in_progress")),
        event("function_call_arguments.done", **said),
        event("output_item.done", item=function('{"a":1}')),
        ended(function('{"a":1}')),
    )
    events, outcome = read([wire], DIALECT)
    done = [each.call for each in events if isinstance(each, ToolCallDone)]
    assert done == list(outcome.unwrap().tool_calls) and done[0].arguments == '{"a":1}'


@pytest.mark.parametrize("missing", ["call_id", "name"])
def test_a_call_whose_item_is_not_whole_is_done_by_the_response(missing: str) -> None:
    """As late as that, but with its id and its name."""
    item = function("{}")
    wire = sse(event("output_item.done", item={**item, missing: None}), ended(item))
    done = [each for each in read([wire], DIALECT)[0] if isinstance(each, ToolCallDone)]
    assert [(each.call.id, each.call.name) for each in done] == [("c", "f")]


def test_arguments_behind_their_end_fail() -> None:
    """The call was handed out without them."""
    wire = sse(
        event("output_item.added", item=function("", "in_progress")),
        event("function_call_arguments.done", arguments="{}"),
        event("function_call_arguments.delta", delta="{}"),
        ended(),
    )
    _, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Failed) and outcome.error.code == "protocol"
    assert outcome.partial.tool_calls[0].arguments == "{}"


def test_a_position_below_zero_is_one_like_any_other() -> None:
    """The final list does not begin there."""
    _, outcome = read([sse(text("a", -(10**30)), ended(message("a")))], DIALECT)
    assert outcome.unwrap().text == "a"


def test_a_snapshot_that_passes_the_limit_leaves_what_was_folded() -> None:
    """What was handed out stays in the partial value."""
    wire = sse(text("abc"), text_done("x" * 99))
    _, outcome = read([wire], DIALECT, Limits(value_bytes=50))
    assert isinstance(outcome, Failed) and outcome.error.code == "value-limit"
    assert outcome.partial.text == "abc"


def test_a_fault_behind_a_snapshot_does_not_hide_it() -> None:
    """The text was replaced before the fault, and whoever shows it hears of that."""
    part = {"type": "output_text", "text": "xyz", "annotations": [{"title": "t" * 99}]}
    wire = sse(text("abc"), event("content_part.done", content_index=0, part=part))
    events, outcome = read([wire], DIALECT, Limits(value_bytes=50))
    assert isinstance(outcome, Failed) and outcome.partial.text == "xyz"
    assert isinstance(events[-1], Snapshot) and events[-1].value == outcome.partial


def test_arguments_without_their_item_are_not_finished_by_an_incomplete_response() -> None:
    """A limit may have cut the item off: that is no fault."""
    wire = sse(event("function_call_arguments.delta", delta="{}"), ended(how="incomplete"))
    call = read([wire], DIALECT)[1].unwrap().tool_calls[0]
    assert (call.id, call.finished) == (None, False)


def test_a_call_cut_by_a_limit_is_never_finished() -> None:
    """An incomplete response finishes no call, though its arguments may parse."""
    wire = sse(
        event("output_item.added", item=function("", "in_progress")),
        event("function_call_arguments.delta", delta="{}"),
        event("output_item.done", item=function("{}", "incomplete")),
        ended(how="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    )
    events, outcome = read([wire], DIALECT)
    assert not outcome.unwrap().tool_calls[0].finished
    assert events[-1] == Finish("max_output_tokens", "truncated")


def test_the_input_of_a_custom_tool() -> None:
    """It is free text: finished, and not JSON."""
    wire = sse(
        event("output_item.added", item={"type": "custom_tool_call", "call_id": "c", "name": "f"}),
        event("custom_tool_call_input.delta", delta="ls "),
        event("custom_tool_call_input.done", input="ls -l"),
        ended(),
    )
    events, outcome = read([wire], DIALECT)
    (call,) = outcome.unwrap().tool_calls
    assert (call.arguments, call.finished, call.valid) == ("ls -l", True, False)
    assert [type(each) for each in events[2:]] == [ToolCallDone, Snapshot, Finish]


@pytest.mark.parametrize(
    ("last", "reason", "disposition"),
    [
        (ended(how="incomplete", incomplete_details={"reason": "content_filter"}),
         "content_filter", "filtered"),
        (ended(how="incomplete"), "incomplete", "unknown"),
        (ended({"type": "computer_call"}), "completed", "tool"),
        (ended({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}),
         "completed", "filtered"),
    ],
)  # fmt: skip
def test_what_an_answer_is_good_for(last: dict[str, Any], reason: str, disposition: str) -> None:
    """The disposition follows from the marker, the reason, and what the response holds."""
    events, outcome = read([sse(last)], DIALECT)
    assert events[-1] == Finish(reason, disposition)  # type: ignore[arg-type]
    assert outcome.unwrap().finish_reason == reason


@pytest.mark.parametrize(
    "empty",
    [
        summary("", within=1),
        event("function_call_arguments.delta", 1, delta=""),
        event("content_part.done", content_index=0, part={"type": "new", "text": "x"}),
    ],
    ids=["summary", "arguments", "part"],
)
def test_what_says_nothing_makes_no_event(empty: dict[str, Any]) -> None:
    """An empty delta, and a part of a kind of which nobody knows that it is text."""
    events, outcome = read([sse(summary("hm"), empty)], DIALECT)
    assert events == [ReasoningDelta("hm")]
    assert (message_of(outcome).reasoning, message_of(outcome).text) == ("hm", "")


def test_an_item_without_a_type_passes_through() -> None:
    """It is kept with the others, and is no call."""
    nameless = event("output_item.done", 1, item={"x": 1})
    events, outcome = read([sse(text("Hi"), nameless, ended())], DIALECT)
    assert Other("response.output_item.done", nameless) in events
    assert outcome.unwrap().extra["output"] == [{"x": 1}]
    assert outcome.unwrap().tool_calls == ()


def test_a_refusal_is_no_text() -> None:
    """The service keeps it apart, and so do we."""
    events, outcome = read([sse(event("refusal.delta", delta="No."), ended())], DIALECT)
    assert events[0] == RefusalDelta("No.")
    assert (outcome.unwrap().text, outcome.unwrap().refusal) == ("", "No.")


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "server_error", "message": "Oops", "param": None},
        {"type": "error", "error": {"type": "t", "code": "server_error", "message": "Oops"}},
        {"error": {"code": "server_error", "message": "Oops"}},
        ended(how="failed", error={"code": "server_error", "message": "Oops"}),
    ],
    ids=["flat", "nested", "bare", "response.failed"],
)
def test_an_error_in_any_shape_fails(error: dict[str, Any]) -> None:
    """Documented and real shapes alike carry the service's words; what follows is not read."""
    _, outcome = read([sse(text("Hi"), error, ended())], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.message, outcome.error.service_code) == ("Oops", "server_error")
    assert (outcome.error.raw, outcome.partial.text) == (error, "Hi")


def test_an_error_before_any_content_is_safe_to_retry() -> None:
    """What only opens the response is no event."""
    opening = {"type": "response.created", "response": {"id": "r"}}
    _, outcome = read([sse(opening, {"type": "error", "message": "Oops"})], DIALECT)
    assert isinstance(outcome, Failed) and outcome.retry_safe


def test_a_cancelled_response_is_interrupted() -> None:
    """The service stopped it: what there is, is kept."""
    _, outcome = read([sse(text("Hi"), ended(how="cancelled"))], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.CANCELLED
    assert outcome.partial.text == "Hi"


def test_done_is_no_marker() -> None:
    """A `[DONE]` before the end of the response is an interruption, behind it nothing."""
    _, outcome = read([sse(text("Hi"), "[DONE]")], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.EOF
    assert isinstance(read([sse(text("Hi"), ended(), "[DONE]")], DIALECT)[1], Completed)


def test_texts_of_other_kinds_are_put_together() -> None:
    """A delta of something without a name of ours passes through, and is folded as well."""
    deltas = [event("audio.transcript.delta", delta=part) for part in ("Hel", "lo")]
    events, outcome = read([sse(*deltas, {"type": "new.event"}, ended())], DIALECT)
    assert events[:-1] == [
        *(Other("response.audio.transcript.delta", each) for each in deltas),
        Other("new.event", {"type": "new.event"}),
    ]
    assert outcome.unwrap().extra["deltas"] == {"audio.transcript": {0: "Hello"}}


@pytest.mark.parametrize("payload", [[], 5, None, {**text("x"), "output_index": "0"}])
def test_a_payload_out_of_place_fails(payload: Any) -> None:
    """What is no object, or has no position, is a fault with a plain sentence."""
    _, outcome = read([sse(text("Hi"), payload, ended())], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)
    assert outcome.partial.text == "Hi"


def test_a_value_does_not_change_behind_ones_back() -> None:
    """A value taken early stays as it was, lists included."""
    assert_values_stand_still(EVERYTHING[:11] + EVERYTHING[10:], DIALECT)


@given(mangled([*EVERYTHING[:-1], ended(message("Hi"), function("{}"), usage={})]))
@settings(max_examples=200, deadline=None)
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends with a verdict of ours."""
    assert_no_internal_error(sse(*payloads), DIALECT)


def test_an_item_without_a_status_is_not_finished_by_an_incomplete_response() -> None:
    """Only the status `completed` says that a call is whole where the response is not."""
    for status, finished in ((None, False), ("", False), ("completed", True)):
        item = function('{"a"', "x") | {"status": status}
        if status is None:
            del item["status"]
        events, outcome = read([sse(ended(item, how="incomplete"))], DIALECT)
        assert outcome.unwrap().tool_calls[0].finished is finished
        assert any(isinstance(each, ToolCallDone) for each in events) is finished


def test_a_call_that_ended_before_stays_finished_in_an_incomplete_response() -> None:
    """Its own events said so, with or without a status."""
    item = {key: value for key, value in function("{}", "x").items() if key != "status"}
    wire = sse(event("output_item.done", item=item), ended(item, how="incomplete"))
    events, outcome = read([wire], DIALECT)
    assert outcome.unwrap().tool_calls[0].valid
    assert len([each for each in events if isinstance(each, ToolCallDone)]) == 1


@pytest.mark.parametrize("how", ["completed", "incomplete", "cancelled"])
@pytest.mark.parametrize("status", ["failed", None])
def test_an_error_in_the_last_response_fails(how: str, status: str | None) -> None:
    """A service's error goes before its completion, whatever the event is called."""
    last = ended(message("Hi"), how=how, error={"code": "server_error", "message": "no"})
    last["response"]["status"] = status or how
    _, outcome = read([sse(text("Hi"), last)], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.message, outcome.error.service_code) == ("no", "server_error")
    assert outcome.partial.text == "Hi"
