"""Chat completions: recorded streams, every cut and early end of them, and each rule alone."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Interrupted,
    InvalidJson,
    LimitExceeded,
    Limits,
    ProtocolViolation,
    ServiceError,
    StageError,
    parse,
)
from untorn.dialects.openai_chat import OpenAIChat
from untorn.event import (
    Finish,
    Other,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
)

from .captures import (
    Capture,
    assert_as_recorded,
    assert_cuts_do_not_matter,
    captures,
    prefixes,
    read,
    read_early,
)
from .chat import DONE, answer, call, calls, chunk, data, events_of, fault_of, kinds

# --- Recorded streams


@pytest.mark.parametrize("capture", captures("openai-chat"))
def test_a_recorded_stream_reads_as_recorded(capture: Capture) -> None:
    """Outcome, marker, texts, calls, usage and finish reason are those of the index."""
    events, outcome = read([capture.wire], OpenAIChat())
    assert_as_recorded(outcome, capture)
    assert kinds(events).count("Finish") == (not capture.failed)
    if isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError):
        error = capture.expected["error"]
        assert outcome.error.message == error["message"]
        assert outcome.error.service_code == error["code"]


@pytest.mark.parametrize("capture", captures("openai-chat"))
def test_a_recorded_stream_is_the_same_however_it_is_cut(capture: Capture) -> None:
    """Cuts mean nothing: every one of a small stream, seeded ones of a large one, bytewise."""
    assert_cuts_do_not_matter(capture.wire, OpenAIChat())


@pytest.mark.parametrize("done", ["optional", "required"])
@pytest.mark.parametrize("capture", captures("openai-chat"))
def test_an_early_end_never_looks_whole(capture: Capture, done: Any) -> None:
    """No prefix completes before its marker, and none hands out what the whole does not."""
    dialect = OpenAIChat(done=done)
    whole, outcome = read([capture.wire], dialect)
    end = outcome.position.bytes if isinstance(outcome, Completed) else len(capture.wire)
    reason = capture.wire.find(b'"finish_reason":"') if done == "optional" else end
    for length in prefixes(capture.wire):
        before, added, early = read_early(capture.wire, length, dialect)
        assert before == whole[: len(before)]
        if isinstance(early, Completed) and length < end:
            assert early.marker == "finish_reason"
            assert reason < length, "a weak marker needs a finish reason"
        assert set(kinds(added)) <= {"ToolCallDone", "Finish"}
        assert isinstance(early, (Completed, Interrupted)) or isinstance(outcome, Failed)


# --- The end


ANSWER = (chunk({"content": "Hi"}), chunk({}, reason="stop"))


def test_done_completes_with_finish_as_the_last_event() -> None:
    """Leaving at the last event is leaving a completed stream."""
    stream = parse([b"".join(ANSWER), DONE, b"never"], OpenAIChat())
    for event in stream:
        if isinstance(event, Finish):
            break
    assert isinstance(stream.outcome, Completed)
    assert (stream.outcome.marker, event) == ("[DONE]", Finish("stop", "complete"))
    assert stream.outcome.position.bytes == len(b"".join(ANSWER) + DONE)


def test_a_finish_reason_and_a_clean_end_complete_weakly() -> None:
    """The marker says that it was the finish reason, unless `[DONE]` is required."""
    wire = b"".join(ANSWER)
    events, outcome = read([wire], OpenAIChat())
    assert events == [TextDelta("Hi"), Finish("stop", "complete")]
    assert isinstance(outcome, Completed)
    assert outcome.marker == "finish_reason"
    events, outcome = read([wire], OpenAIChat(done="required"))
    assert events == [TextDelta("Hi")]
    assert isinstance(outcome, Interrupted)
    assert outcome.torn is Boundary.MESSAGE


def test_a_weak_marker_needs_a_clean_end() -> None:
    """Neither a torn frame nor a broken transport completes."""
    _, outcome = read([*ANSWER, b"data: {"], OpenAIChat())
    assert isinstance(outcome, Interrupted)
    assert outcome.torn is Boundary.FRAME

    def reset() -> Any:
        yield from ANSWER
        raise ConnectionResetError

    _, outcome = read(reset(), OpenAIChat())
    assert isinstance(outcome, Interrupted)
    assert outcome.cause is Cause.TRANSPORT


def test_a_weak_marker_needs_a_reason_of_every_choice() -> None:
    """One choice that is still open keeps the whole answer open; none at all is no answer."""
    wire = [chunk({"content": "b"}, index=1), *ANSWER]
    assert isinstance(read(wire, OpenAIChat())[1], Interrupted)
    wire.append(chunk({}, reason="length", index=1))
    assert isinstance(read(wire, OpenAIChat())[1], Completed)
    assert isinstance(read([data({"choices": []})], OpenAIChat())[1], Interrupted)


def test_done_must_be_one_of_two_words() -> None:
    """A misspelt switch is an error, not a default."""
    with pytest.raises(ValueError, match="optional"):
        OpenAIChat(done="maybe")  # type: ignore[arg-type]


def test_the_sentinel_is_the_whole_data() -> None:
    """White space around it is nothing; text that holds it is text; more behind it is no JSON."""
    assert isinstance(read([b"data:  [DONE] \n\n"], OpenAIChat())[1], Completed)
    assert answer(chunk({"content": "[DONE]"})).text == "[DONE]"
    assert isinstance(fault_of(b"data: [DONE]!\n\n"), InvalidJson)


@pytest.mark.parametrize(
    ("reason", "disposition"),
    [
        ("stop", "complete"),
        ("tool_calls", "tool"),
        ("function_call", "tool"),
        ("length", "truncated"),
        ("model_length", "truncated"),
        ("content_filter", "filtered"),
        ("eos", "unknown"),
        (None, "unknown"),
        ("", "unknown"),
    ],
)
def test_a_finish_reason_has_a_disposition(reason: Any, disposition: Any) -> None:
    """Completed says nothing about content; the disposition does."""
    assert events_of(chunk({}, reason=reason), DONE) == [Finish(reason or None, disposition)]
    message = answer(chunk({}, reason=reason))
    assert (message.finish_reason, message.disposition) == (reason or None, disposition)


def test_the_last_finish_reason_that_says_anything_stands() -> None:
    """A later null, an absent one or a number overwrites nothing; another word does."""
    wire = [chunk({}, reason=each) for each in ("stop", None, "", 7, ["x"])]
    assert answer(*wire, data({"choices": [{"index": 0}]})).finish_reason == "stop"
    assert answer(*wire, chunk({}, reason="length")).disposition == "truncated"


# --- Errors


@pytest.mark.parametrize(
    ("event", "payload", "said"),
    [
        ("", {"error": {"message": "m", "type": "t", "code": 429}}, ("m", "t", 429)),
        ("", {"error": {"message": "m"}, "choices": []}, ("m", None, None)),
        ("", {"error": "m"}, ("m", None, None)),
        ("", {"error": {}}, (None, None, None)),
        ("", {"error": ["?"]}, (None, None, None)),
        ("", {"object": "error", "message": "m", "code": "c"}, ("m", None, "c")),
        ("", {"type": "error", "message": "m"}, ("m", "error", None)),
        ("error", {"error": {"message": "m", "status_code": 400}}, ("m", None, 400)),
        ("error", {"message": "m"}, ("m", None, None)),
        ("error", "m", ("m", None, None)),
        ("error", "[1]", (None, None, None)),
        ("", {"choices": None, "error_type": "t", "error_message": "m"}, ("m", "t", None)),
        ("", {"choices": 5, "error": {"message": "m"}}, ("m", None, None)),
    ],
)
def test_an_error_fails_in_every_spelling(event: str, payload: Any, said: Any) -> None:
    """What the service said is in the fault, and `[DONE]` behind it changes nothing."""
    fault = fault_of(*ANSWER, data(payload, event), DONE)
    assert isinstance(fault, ServiceError)
    assert (fault.message, fault.type, fault.service_code) == said
    assert fault.offset == len(b"".join(ANSWER))
    assert fault.raw


@pytest.mark.parametrize("nothing", [None, False, ""])
def test_an_empty_error_is_none(nothing: Any) -> None:
    """Services that send the key with every chunk do not fail with every chunk."""
    assert answer(chunk({"content": "a"}, error=nothing, error_message=nothing)).text == "a"


def test_what_came_with_an_error_is_handed_out_first() -> None:
    """The error beats the finish reason beside it, not the text."""
    wire = chunk({"content": "Half"}, reason="error", error={"message": "m", "code": 502})
    events, outcome = read([wire], OpenAIChat())
    assert events == [TextDelta("Half")]
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, ServiceError)
    assert (outcome.error.service_code, outcome.partial.text) == (502, "Half")


@pytest.mark.parametrize(
    "reason", ["error", "ERROR", "TIMEOUT", "insufficient_system_resource", "malformed_tool_use"]
)
def test_a_finish_reason_may_be_a_failure(reason: str) -> None:
    """It fails the stream behind the events of its chunk, and `[DONE]` does not help."""
    events, outcome = read([chunk({"content": "a"}, reason=reason), DONE], OpenAIChat())
    assert events == [TextDelta("a")]
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, ServiceError)
    assert outcome.error.type == reason
    assert outcome.partial.finish_reason == reason


def test_an_error_may_be_a_choice_s_own() -> None:
    """OpenRouter puts it beside the delta."""
    choice = {"index": 0, "delta": {}, "error": {"code": 429, "message": "m"}}
    fault = fault_of(data({"choices": [choice]}))
    assert isinstance(fault, ServiceError)
    assert (fault.message, fault.service_code) == ("m", 429)


# --- Texts


def test_deltas_are_handed_out_at_once_and_never_trimmed() -> None:
    """Spaces at both ends belong to the text; the joined deltas are the text."""
    pieces = ["The", " quick", " brown", "  ", "\n", "，你好 "]
    wire = [chunk({"content": piece}) for piece in ("", *pieces, None)]
    assert events_of(*wire) == [TextDelta(piece) for piece in pieces]
    assert answer(*wire).text == "".join(pieces)


def test_choices_interleave() -> None:
    """Each delta says which choice it is of; the message is choice 0's."""
    wire = [
        chunk({"content": "b"}, index=1),
        chunk({"content": "a"}),
        chunk({"content": "d"}, index=1, reason=None),
        chunk({}, index=1, reason="length"),
        chunk({"content": "c"}, reason="stop"),
    ]
    message = answer(*wire)
    assert [(each.text, each.disposition) for each in message.choices] == [
        ("ac", "complete"),
        ("bd", "truncated"),
    ]
    assert (message.text, message.finish_reason) == ("ac", "stop")
    assert events_of(*wire)[0] == TextDelta("b", 1)


def test_a_refusal_is_kept_apart_and_filters() -> None:
    """The finish reason of a refusal is `stop`; its disposition is not `complete`."""
    wire = [chunk({"content": None, "refusal": "No"}), chunk({"refusal": "."}, reason="stop")]
    events = events_of(*wire, DONE)
    assert events == [RefusalDelta("No"), RefusalDelta("."), Finish("stop", "filtered")]
    message = answer(*wire)
    assert (message.text, message.refusal, message.disposition) == ("", "No.", "filtered")


def test_reasoning_has_two_spellings_and_is_taken_once() -> None:
    """Some hosts send both with the same text, in either order of keys."""
    for delta in (
        {"reasoning_content": "r"},
        {"reasoning": "r"},
        {"reasoning": "r", "reasoning_content": "r"},
        {"reasoning_content": "r", "reasoning": "r"},
        {"reasoning_details": [{"index": 0, "text": "r"}]},
        {"reasoning_details": [{"index": 0, "summary": "r"}]},
        {"reasoning_details": [{"index": 0, "text": "r"}], "reasoning": "r"},
    ):
        assert events_of(chunk(delta)) == [ReasoningDelta("r")]


def test_reasoning_details_are_folded_by_position_and_kind() -> None:
    """Texts grow, a signature is kept, and plain reasoning makes their text no second one."""
    first = {"index": 0, "type": "reasoning.text", "text": "a", "signature": None}
    wire = [
        chunk({"reasoning": "a", "reasoning_details": [first]}),
        chunk({"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "b"}]}),
        chunk({"reasoning_details": [{**first, "text": "", "signature": "s"}, {"data": "d"}, 5]}),
    ]
    message = answer(*wire)
    assert message.reasoning == "a"
    assert message.extra["reasoning_details"] == [
        {"index": 0, "type": "reasoning.text", "text": "ab", "signature": "s"},
        {"data": "d"},
    ]


def test_a_surrogate_pair_in_two_deltas_is_one_character() -> None:
    """Neither half is handed out alone, in text and in arguments; without partner it is U+FFFD."""
    high, low = r"\ud83d", r"\ude42"
    text = '{"choices":[{"delta":{"content":"%s"}}]}'
    fragment = '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]}}]}'
    assert events_of(data(text % f"a{high}"), data(text % low)) == [TextDelta("a"), TextDelta("🙂")]
    message = answer(data(fragment % rf"\"{high}"), data(fragment % rf"{low}\""))
    assert message.tool_calls[0].arguments == '"🙂"'
    assert events_of(data(text % high), DONE)[0] == TextDelta("�")
    assert events_of(data(text % low)) == [TextDelta("�")]


def test_legacy_completions_have_their_text_beside_no_delta() -> None:
    """`choices[].text` is the answer, and its log probabilities are lists of another shape."""
    logprobs = {"tokens": ["a"], "token_logprobs": [-1.0], "top_logprobs": None}
    choice = {"index": 0, "text": "a", "logprobs": logprobs, "finish_reason": None}
    message = answer(data({"choices": [choice]}), data({"choices": [choice]}))
    assert message.text == "aa"
    assert message.extra["logprobs"] == {"tokens": ["a", "a"], "token_logprobs": [-1.0, -1.0]}


# --- Calls


def test_a_call_grows_and_is_done_at_the_marker() -> None:
    """Fragments that come behind the finish reason still belong to it."""
    wire = [
        calls(call("", index=0, id="c1", name="f")),
        calls(call('{"a"', index=0), reason="tool_calls"),
        calls(call(":1}", index=0)),
    ]
    done = ToolCall("c1", "f", '{"a":1}', valid=True, finished=True)
    assert events_of(*wire, DONE) == [
        ToolCallDelta(0, "c1", "f", ""),
        ToolCallDelta(0, "c1", "f", '{"a"'),
        ToolCallDelta(0, "c1", "f", ":1}"),
        ToolCallDone(0, done),
        Finish("tool_calls", "tool"),
    ]
    assert "ToolCallDone" not in kinds(events_of(*wire[:1]))


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_call_of_an_answer_cut_short_is_never_done(reason: str) -> None:
    """No arguments would mean `{}`, but these were cut off before they began."""
    wire = [calls(call(index=0, id="c1", name="delete_all")), chunk({}, reason=reason), DONE]
    events, outcome = read(wire, OpenAIChat())
    assert isinstance(outcome, Completed)
    assert "ToolCallDone" not in kinds(events)
    assert [(each.finished, each.valid) for each in outcome.value.tool_calls] == [(False, False)]


@pytest.mark.parametrize("reason", [None, "max_tokens", "abort", "cancelled"])
@pytest.mark.parametrize(
    ("arguments", "whole"),
    [
        (None, 0),
        ("", 0),
        ("7", 0),
        ('"a"', 0),
        ("[]", 0),
        ('{"a"', 0),
        ("{}", 1),
        (' {"a":1}\n', 1),
    ],
)
def test_without_a_known_reason_only_a_whole_object_is_done(
    reason: str | None, arguments: str | None, whole: int
) -> None:
    """An engine that fails may still send `[DONE]`; nothing can follow a closed object."""
    wire = [calls(call(arguments, index=0, id="c", name="f")), chunk({}, reason=reason), DONE]
    events, outcome = read(wire, OpenAIChat())
    assert isinstance(outcome, Completed) and outcome.value.disposition == "unknown"
    assert kinds(events).count("ToolCallDone") == whole
    (found,) = outcome.value.tool_calls
    assert (found.finished, found.valid) == (bool(whole), bool(whole))


def test_empty_arguments_of_a_finished_call_are_valid() -> None:
    """They mean `{}`; text that is no JSON is a property of the call, not of the stream."""
    entries = call(index=3, id="a", name="f"), call("{", index=9, id="b", name="g")
    wire = [calls(*entries, reason="tool_calls")]
    assert [(each.arguments, each.valid) for each in answer(*wire).tool_calls] == [
        ("", True),
        ("{", False),
    ]


def test_a_call_that_lost_its_beginning_is_never_done() -> None:
    """Without a name nobody can run it, whatever the finish reason says; an id may be missing."""
    message = answer(calls(call("{}", index=0, id="c"), reason="tool_calls"))
    assert not message.tool_calls[0].finished
    message = answer(calls(call("{}", index=0, name="f"), reason="tool_calls"))
    assert message.tool_calls[0].finished


def test_a_call_without_a_position_goes_on_until_another_begins() -> None:
    """Another id begins one, and so does a name without an id; an id seen before goes back."""
    wire = [
        calls(call("1", id="a", name="f")),
        calls(call("2")),
        calls(call("3", id="b", name="f")),
        calls(call("4", id="a")),
        calls(call("5", id="null", name="g")),
        calls(call("6", id="null")),
    ]
    assert [(each.id, each.name, each.arguments) for each in answer(*wire).tool_calls] == [
        ("a", "f", "124"),
        ("b", "f", "3"),
        (None, "g", "56"),
    ]


def test_another_id_and_name_at_a_position_begin_another_call() -> None:
    """Hosts that give every call the index 0 send both; an id alone is a rotated one."""
    wire = [
        calls(call("{}", index=0, id="a", name="f")),
        calls(call("[]", index=0, id="b", name="g")),
        calls(call(" ", index=0, id="c")),
        calls(call("\n", index=0, id="a")),
    ]
    assert [(each.id, each.arguments) for each in answer(*wire).tool_calls] == [
        ("a", "{}\n"),
        ("b", "[] "),
    ]


def test_a_call_displaced_without_arguments_is_not_done() -> None:
    """Its id and name may have been the first pieces of others; arguments prove it a call."""
    wire = [
        calls(call(index=0, id="k_", name="put_")),
        calls(call("{}", index=0, id="9", name="file"), reason="tool_calls"),
    ]
    assert [each.finished for each in answer(*wire).tool_calls] == [False, True]
    wire.append(calls(call("[]", index=0, id="k_")))
    assert [each.finished for each in answer(*wire).tool_calls] == [True, True]


def test_null_entries_and_odd_positions_are_none() -> None:
    """Null in a list is nothing, and a position that is no position is a missing one."""
    wire = [
        data({"choices": [None, {"delta": {"tool_calls": [None, call("{", index=[], id="a")]}}]}),
        calls(call("}", index={})),
    ]
    assert [(each.id, each.arguments) for each in answer(*wire).tool_calls] == [("a", "{}")]


def test_id_and_name_are_set_once_and_may_come_late() -> None:
    """An empty fragment is worth an event only where it brings one of them."""
    wire = [
        calls(call("{", index=0)),
        calls(call(index=0, id="a")),
        calls(call(index=0, name="f")),
        calls(call(index=0, id="a", name="f")),
        calls(call("}", index=0, name="other")),
    ]
    assert events_of(*wire) == [
        ToolCallDelta(0, None, None, "{"),
        ToolCallDelta(0, "a", None, ""),
        ToolCallDelta(0, "a", "f", ""),
        ToolCallDelta(0, "a", "f", "}"),
    ]


@pytest.mark.parametrize("arguments", [{"a": [1, "é"]}, [], 5, True, 0.5])
def test_arguments_that_are_no_text_are_written_as_one(arguments: Any) -> None:
    """Compactly, and once."""
    entry = {"index": 0, "function": {"name": "f", "arguments": arguments}}
    (found,) = answer(calls(entry)).tool_calls
    assert found.arguments == json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def test_a_legacy_function_call_is_one_call() -> None:
    """It has neither id nor position, and stands beside the others."""
    wire = [
        chunk({"function_call": {"name": "f", "arguments": ""}}),
        calls(call("{}", index=0, id="a", name="g")),
        chunk({"function_call": {"arguments": "[]"}}, reason="function_call"),
    ]
    message = answer(*wire)
    assert [(each.name, each.arguments) for each in message.tool_calls] == [
        ("f", "[]"),
        ("g", "{}"),
    ]
    assert message.disposition == "tool"


# --- What goes beside the answer


def test_usage_is_handed_out_as_it_comes_and_the_last_stands() -> None:
    """It is never added up, a null does not erase it, and what is no object is none."""
    wire = [chunk({}, usage={"n": 1}), data({"usage": {"n": 2}}), chunk({}, usage=None)]
    assert events_of(*wire) == [UsageUpdate({"n": 1}), UsageUpdate({"n": 2})]
    assert answer(*wire, chunk({}, usage="many")).usage == {"n": 2}


def test_lists_beside_the_text_are_kept() -> None:
    """Annotations, images and log probabilities grow; audio grows in its texts."""
    audio = {"id": "x", "data": "AA", "transcript": "he", "expires_at": None}
    wire = [
        chunk({"annotations": [{"url": 1}], "images": [{"n": 1}], "audio": audio}),
        chunk({"annotations": [{"url": 2}], "audio": {**audio, "id": "y", "expires_at": 9}}),
        data({"choices": [{"index": 0, "logprobs": {"content": [{"token": "t"}]}}]}),
    ]
    assert answer(*wire).extra == {
        "annotations": [{"url": 1}, {"url": 2}],
        "images": [{"n": 1}],
        "audio": {"id": "x", "data": "AAAA", "transcript": "hehe", "expires_at": 9},
        "logprobs": {"content": [{"token": "t"}]},
    }


@pytest.mark.parametrize(
    ("delta", "kept"),
    [
        ({"reasoning_content": {"text": "x"}}, {}),
        ({"reasoning": ["x"]}, {}),
        ({"reasoning_details": "x"}, {}),
        ({"reasoning_details": ["x", {"text": 5}]}, {"reasoning_details": [{}]}),
        ({"annotations": "x", "images": {"url": "x"}}, {}),
        ({"audio": "x"}, {}),
        ({"audio": {"data": 5, "id": "a"}}, {"audio": {"id": "a"}}),
    ],
)
def test_what_goes_beside_the_answer_may_have_any_type(delta: Any, kept: Any) -> None:
    """What is of no use is passed over, for the answer does not hang on it."""
    message = answer(chunk({**delta, "content": "Hi"}), chunk({}, reason="stop"))
    assert (message.text, message.reasoning, message.extra) == ("Hi", "", kept)


def test_what_a_choice_keeps_is_its_own() -> None:
    """`Message.extra` has choice 0's and what belongs to the answer."""
    wire = [
        chunk({"annotations": [0]}, id="", model=None, created=0),
        chunk({"annotations": [1]}, index=1, id="i", model="m", created=5),
        chunk({}, id="other", model="other"),
    ]
    message = answer(*wire)
    assert message.extra == {"id": "i", "model": "m", "created": 5, "annotations": [0]}
    assert message.choices[1].extra == {"annotations": [1]}


def test_a_value_does_not_change_afterwards() -> None:
    """What was read in the middle of a stream stays as it was."""
    wire = chunk({"content": "a", "annotations": [1], "audio": {"data": "d"}})
    stream = parse([wire, wire], OpenAIChat())
    next(stream)
    early = stream.value
    list(stream.events())
    assert early.extra == {"annotations": [1], "audio": {"data": "d"}}
    assert stream.value.extra == {"annotations": [1, 1], "audio": {"data": "dd"}}


def test_whole_unknown_events_pass_through_and_unknown_keys_do_not() -> None:
    """A chunk is a chunk whatever else it carries, and a ping proves only the transport."""
    ping = {"type": "ping"}
    moderation = {"choices": [], "moderation": {"flagged": False}}
    events = events_of(data(ping), data({"n": 1}, "usage_hint"), data(moderation))
    assert events == [Other("ping", ping), Other("usage_hint", {"n": 1})]
    reducer = OpenAIChat().reducer(Limits())
    assert [reducer.is_keepalive(event) for event in events] == [True, False]


# --- Damage


@pytest.mark.parametrize(
    "payload",
    [
        [],
        None,
        7,
        '"text"',
        {"choices": {"0": 1}},
        {"choices": ["text"]},
        {"choices": [{"index": "0"}]},
        {"choices": [{"index": True}]},
        {"choices": [{"delta": "text"}]},
        {"choices": [{"delta": {"content": 7}}]},
        {"choices": [{"delta": {"content": {"text": "a"}}}]},
        {"choices": [{"delta": {"refusal": ["No"]}}]},
        {"choices": [{"delta": {"tool_calls": {"index": 0}}}]},
        {"choices": [{"delta": {"tool_calls": ["f"]}}]},
        {"choices": [{"delta": {"tool_calls": [{"function": "f"}]}}]},
        {"choices": [{"delta": {"function_call": "f"}}]},
        {"choices": [{"text": 7}]},
    ],
)
def test_what_carries_the_answer_must_have_its_type(payload: Any) -> None:
    """An answer of which a part was passed over would look whole."""
    fault = fault_of(data(payload), DONE)
    assert isinstance(fault, ProtocolViolation)
    assert fault.code == "protocol"
    assert "check that the dialect fits the service" in str(fault)


def test_a_payload_that_is_no_json_fails_behind_what_came_before() -> None:
    """The events of the same read are handed out, and the fault knows its frame."""
    events, outcome = read([ANSWER[0] + b'data: {"choices":[\n\n' + DONE], OpenAIChat())
    assert events == [TextDelta("Hi")]
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, InvalidJson)
    assert outcome.error.offset == len(ANSWER[0])


@pytest.mark.parametrize(
    "wire",
    [
        chunk({"content": "x" * 40}),
        calls(call("x" * 40, index=0)),
        chunk({"annotations": ["x" * 40]}),
        chunk({"audio": {"data": "x" * 40}}),
        chunk({"reasoning_details": [{"text": "x" * 40}]}),
        data({"choices": [{"logprobs": {"content": ["x" * 40]}}]}),
        chunk({"content": [{"type": "image_url", "image_url": "x" * 40}]}),
    ],
)
def test_all_that_is_kept_counts_towards_the_value(wire: bytes) -> None:
    """What grows without a bound has one."""
    _, outcome = read([wire] * 3, OpenAIChat(), Limits(value_bytes=100))
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, LimitExceeded)


STREAM: list[Any] = [
    {
        "id": "i",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "delta": {
                    "role": "assistant",
                    "content": "a",
                    "refusal": None,
                    "reasoning": "r",
                    "reasoning_details": [{"index": 0, "type": "t", "text": "x"}],
                    "audio": {"id": "x", "data": "d"},
                    "annotations": [{}],
                    "tool_calls": [
                        {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}
                    ],
                    "function_call": {"name": "f", "arguments": "{"},
                },
                "logprobs": {"content": [{"token": "t"}]},
                "finish_reason": None,
                "error": None,
            },
            {"index": 1, "text": "b", "finish_reason": "stop"},
        ],
        "usage": None,
        "error": None,
        "type": None,
    },
    {"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "m"}]}}]},
    {"choices": [{"index": 0, "delta": {"content": [{"type": "thinking", "thinking": ["m"]}]}}]},
    {"choices": [], "usage": {"total_tokens": 3}},
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value in a value, itself included."""
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    return [path, *itertools.chain.from_iterable(_places(v, (*path, k)) for k, v in inside)]


def _with(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """Return `value` with another in the place of the one at `path`."""
    if not path:
        return other
    copy = value.copy()
    copy[path[0]] = _with(value[path[0]], path[1:], other)
    return copy


any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, 1e308, "", "0", "error", "null", "\ud83d", "\ude42"])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["index", "id", "type", "text", "content", "message", "code", "name"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(_places(STREAM)[1:]), any_json), min_size=1, max_size=3))
def test_any_json_in_any_place_is_read_or_is_a_fault(changes: list[Any]) -> None:
    """Never an internal error, the same however it is cut, and all text can be encoded."""
    chunks = [*STREAM, *STREAM]
    for path, other in changes:
        chunks[path[0]] = _with(STREAM[path[0]], path[1:], other)
    wire = b"".join(data(json.dumps(payload)) for payload in chunks) + DONE
    events, outcome = read([wire], OpenAIChat())
    if isinstance(outcome, Failed):
        assert not isinstance(outcome.error, StageError), outcome.error.__cause__
        assert str(outcome.error)
        message = outcome.partial
    else:
        assert isinstance(outcome, Completed)
        message = outcome.value
    "".join(event.text for event in events if hasattr(event, "text")).encode()
    "".join(each.text + each.reasoning + each.refusal for each in message.choices).encode()
    assert read([wire[:200], wire[200:333], wire[333:]], OpenAIChat())[0] == events


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_are_a_fault(noise: bytes) -> None:
    """Damage in the middle of a stream is no reason to fall over."""
    _, outcome = read([ANSWER[0] + noise + ANSWER[1] + DONE], OpenAIChat())
    if isinstance(outcome, Failed):
        assert not isinstance(outcome.error, StageError)
