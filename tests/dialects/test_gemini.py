"""Gemini: a soft terminal, errors as bare lines, signatures, and calls that come value by value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from untorn import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Finish,
    Interrupted,
    LimitExceeded,
    Limits,
    Other,
    ProtocolViolation,
    ReasoningDelta,
    ServiceError,
    Snapshot,
    TextDelta,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
    parse,
)
from untorn.dialects.gemini import Gemini

from .captures import (
    Capture,
    assert_as_recorded,
    assert_cuts_do_not_matter,
    captures,
    message_of,
    prefixes,
    read,
    read_early,
)
from .cases import Case, cases
from .fuzz import assert_no_internal_error, mangled, sse

CAPTURES = captures("gemini")
DIALECT = Gemini()


def response(*parts: Any, reason: str | None = None, **beside: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": reason}
    return {"candidates": [candidate], **beside}


def call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


def value(path: str, said: str, *, more: bool = True) -> dict[str, Any]:
    """Return a piece of a call that sets one string."""
    argument = {"jsonPath": path, "stringValue": said}
    return call(partialArgs=[argument], **({"willContinue": True} if more else {}))


EVERYTHING: list[dict[str, Any]] = [
    response({"text": "hm", "thought": True}, modelVersion="g"),
    response({"text": "Hi"}, usageMetadata={"totalTokenCount": 1}),
    response({"text": "", "thoughtSignature": "c2ln"}),
    response(call(name="whole", args={"a": [1, None]}, id="7")),
    response(call(name="growing", willContinue=True)),
    response(value("$.to", "Ro")),
    response(value("$.to", "me")),
    response(call(willContinue=True)),
    response(call(partialArgs=[{"jsonPath": "$.n[0].k", "numberValue": 5}], willContinue=True)),
    response(call()),
    response({"executableCode": {"code": "1"}}),
    {"candidates": [{"citationMetadata": {"citations": [{"uri": "u"}]}, "safetyRatings": []}]},
    response(reason="STOP", usageMetadata={"totalTokenCount": 9}),
]
BARE = b'{\n  "error": {\n    "code": 503,\n    "message": "busy {",\n    "status": "X"\n  }\n}\n'


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, texts, calls, usage and finish reason are those of the index."""
    events, outcome = read([capture.wire], DIALECT)
    expected = {**capture.expected, "terminal_marker": "finishReason"}
    assert_as_recorded(outcome, replace(capture, expected=expected))
    if isinstance(outcome, Completed):
        assert isinstance(events[-1], Finish)
    if isinstance(outcome, Failed):
        assert isinstance(outcome.error, ServiceError)
        assert outcome.error.raw == {"error": capture.expected["error"]}
    if "citations" in capture.expected:
        assert len(message_of(outcome).extra["citations"]) == capture.expected["citations"]


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)


def test_cuts_do_not_matter_to_every_kind_of_part() -> None:
    """The same for a stream that has them all, and for one that fails."""
    assert_cuts_do_not_matter(sse(*EVERYTHING), DIALECT)
    assert_cuts_do_not_matter(sse(EVERYTHING[1]) + BARE, DIALECT)


def assert_prefixes(wire: bytes) -> None:
    """Check that a prefix is complete only where a reason was given and the end is clean."""
    whole, _ = read([wire], DIALECT)
    for length in prefixes(wire):
        events, at_end, outcome = read_early(wire, length, DIALECT)
        assert events == whole[: len(events)], length
        if isinstance(outcome, Completed):
            assert wire[:length].endswith((b"\n\n", b"\r\n\r\n", b"\r\n\r"))
            assert outcome.value.finish_reason and at_end == [outcome_finish(outcome)]
        else:
            assert at_end == []


def outcome_finish(outcome: Completed[Any]) -> Finish:
    return Finish(outcome.value.finish_reason, outcome.value.disposition)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_never_more_than_it_is(capture: Capture) -> None:
    """No prefix is Completed inside of a frame, or before a reason; its events begin the whole's.

    Behind a reason a clean end cannot be told from the end: the wire does not say.
    """
    assert_prefixes(capture.wire)


def test_a_prefix_of_every_kind_of_part() -> None:
    """The same for a stream that has them all."""
    assert_prefixes(sse(*EVERYTHING))


# A frame without its blank line is torn, and a torn frame never completes: the report would
# have it dispatched, which is how a cut number or text passes for a whole one.
OTHERWISE = {"blank-03": ("Interrupted", {"text": "Hi", "finish": None})}


@pytest.mark.parametrize("case", cases("gemini"))
def test_a_reported_stream(case: Case) -> None:
    """It is read as it should have been, however it is cut."""
    events, outcome = read(case.chunks(), DIALECT)
    kind, reduced = OTHERWISE.get(case.id, (case.outcome, case.reduced))
    assert type(outcome).__name__ == kind
    assert message_of(outcome).text == reduced["text"]
    assert message_of(outcome).finish_reason == reduced.get("finish")
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == reduced["text"]
    assert_cuts_do_not_matter(case.wire, DIALECT)


def test_every_event_in_order() -> None:
    """Each part is handed out as what it is; what has no name of ours passes through."""
    events, outcome = read([sse(*EVERYTHING)], DIALECT)
    message = message_of(outcome)
    whole, growing = message.tool_calls
    assert events == [
        ReasoningDelta("hm"),
        Other("modelVersion", "g"),
        TextDelta("Hi"),
        UsageUpdate({"totalTokenCount": 1}),
        Other("thoughtSignature", {"text": "", "thoughtSignature": "c2ln"}),
        ToolCallDelta(0, "7", "whole", '{"a": [1, null]}'),
        ToolCallDone(0, whole),
        ToolCallDelta(1, None, "growing", ""),
        ToolCallDelta(1, None, "growing", '{"to": "Ro'),
        ToolCallDelta(1, None, "growing", "me"),
        ToolCallDelta(1, None, "growing", '", "n": [{"k": 5'),
        ToolCallDelta(1, None, "growing", "}]}"),
        ToolCallDone(1, growing),
        Other("executableCode", {"executableCode": {"code": "1"}}),
        Other("citationMetadata", {"citations": [{"uri": "u"}]}),
        Other("safetyRatings", []),
        UsageUpdate({"totalTokenCount": 9}),
        Finish("STOP", "tool"),
    ]
    assert growing.arguments == '{"to": "Rome", "n": [{"k": 5}]}' and growing.valid
    assert (message.text, message.reasoning) == ("Hi", "hm")
    assert message.extra["parts"] == [
        {"text": "", "thoughtSignature": "c2ln"},
        {"executableCode": {"code": "1"}},
    ]
    assert message.extra["citations"] == [{"uri": "u"}]


def test_the_last_event_completes() -> None:
    """Whoever stops at `Finish` has a completed stream; before it there is no outcome."""
    stream = parse([sse(*EVERYTHING)], DIALECT)
    for event in stream:
        if isinstance(event, Finish):
            break
        assert stream.outcome is None
    assert isinstance(stream.outcome, Completed) and stream.outcome.marker == "finishReason"


@pytest.mark.parametrize(
    ("reason", "disposition"),
    [
        ("STOP", "complete"), ("MAX_TOKENS", "truncated"), ("SAFETY", "filtered"),
        ("IMAGE_SAFETY", "filtered"), ("SPII", "filtered"), ("OTHER", "unknown"),
    ],
)  # fmt: skip
def test_dispositions(reason: str, disposition: str) -> None:
    """A reason says what the answer is good for; one we do not know says nothing."""
    events, outcome = read([sse(response({"text": "a"}, reason=reason))], DIALECT)
    assert isinstance(outcome, Completed) and events[-1] == Finish(reason, disposition)


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"]
)
def test_a_reason_that_is_a_failure(reason: str) -> None:
    """It fails at once, behind what came with it."""
    wire = sse(response({"text": "a"}, reason=reason), response(reason="STOP"))
    events, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Failed) and outcome.error.code == "service-error"
    assert events == [TextDelta("a")]
    assert message_of(outcome).finish_reason == reason


def test_the_last_reason_stands() -> None:
    """A reason on an early chunk does not end the stream; one that is absent takes none back."""
    wire = sse(response(reason="STOP"), response({"text": "a"}, reason="MAX_TOKENS"), response())
    _, outcome = read([wire], DIALECT)
    assert message_of(outcome).finish_reason == "MAX_TOKENS"
    assert message_of(outcome).text == "a"


def test_every_candidate_must_have_ended() -> None:
    """With several answers, one that has no reason yet is torn."""
    one = {
        "candidates": [
            {"finishReason": "STOP"},
            {"index": 1, "content": {"parts": [{"text": "b"}]}},
        ]
    }
    other = {"candidates": [{"index": 1, "finishReason": "STOP"}]}
    _, outcome = read([sse(one)], DIALECT)
    assert isinstance(outcome, Interrupted)
    _, outcome = read([sse(one, other)], DIALECT)
    assert isinstance(outcome, Completed) and outcome.value.choices[1].text == "b"


def test_a_blocked_prompt_is_an_answer() -> None:
    """No candidates, and the reason for that: complete, filtered, empty."""
    events, outcome = read([sse({"promptFeedback": {"blockReason": "SAFETY"}})], DIALECT)
    assert isinstance(outcome, Completed)
    assert outcome.marker == "promptFeedback.blockReason"
    assert events[-1] == Finish("SAFETY", "filtered")
    assert outcome.value.extra == {"promptFeedback": {"blockReason": "SAFETY"}}


def test_a_reset_behind_a_reason_is_an_interruption() -> None:
    """It may have been a `STOP` of a chunk; it is kept for who wants to accept it."""

    def chunks() -> Any:
        yield sse(response({"text": "a"}, reason="STOP"))
        raise ConnectionResetError

    _, outcome = read(chunks(), DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.TRANSPORT
    assert outcome.partial.finish_reason == "STOP"


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n\r\n"])
def test_an_error_as_bare_lines(end: bytes) -> None:
    """It fails at its last bracket, also where no line end follows, with `STOP` before it."""
    before = sse(response({"text": "a"}, reason="STOP"))
    wire = before + BARE.strip() + end
    events, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    error = outcome.error
    assert (error.message, error.type, error.service_code) == ("busy {", "X", 503)
    assert (error.offset, events) == (len(before), [TextDelta("a")])
    assert_cuts_do_not_matter(wire, DIALECT)


def test_an_error_of_bare_lines_that_is_cut_is_torn() -> None:
    """Before its last bracket it is no error yet; but the stream is not complete either."""
    before = sse(response({"text": "a"}, reason="STOP"))
    for length in range(1, len(BARE.strip())):
        _, outcome = read([before + BARE[:length]], DIALECT)
        assert isinstance(outcome, Interrupted) and outcome.torn is Boundary.FRAME, length
    _, outcome = read([before + BARE[:12] + b"\n\n"], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.torn is Boundary.MESSAGE


@pytest.mark.parametrize(
    "line",
    [b"<html>\n", b'{"a": 1}\n', b'[{"candidates": []}]\n', b"}\n", b'{"a": [\n\ndata: {}\n\n'],
)
def test_other_bare_lines_break_the_protocol(line: bytes) -> None:
    """A page, an answer that is no stream, an error that never ends: none is passed over."""
    _, outcome = read([line], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)
    assert_cuts_do_not_matter(line, DIALECT)


@pytest.mark.parametrize(
    "payload",
    [{"error": {"code": 429, "message": "no", "status": "S"}}, [{"error": {"message": "no"}}],
     {"error": "no"}, response({"text": "a"}, error={"message": "no"})],
)  # fmt: skip
def test_an_error_as_an_event(payload: Any) -> None:
    """In any of its shapes it fails, also beside a candidate."""
    _, outcome = read([sse(payload)], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert outcome.error.message == "no"


def test_a_call_is_not_finished_before_its_end() -> None:
    """A call that lies open when the answer ends is no call to run, and no clean end of one."""
    wire = sse(
        response(call(name="f", willContinue=True)), response(value("$.a", "b"), reason="STOP")
    )
    events, outcome = read([wire], DIALECT)
    (found,) = message_of(outcome).tool_calls
    assert (found.finished, found.valid, found.arguments) == (False, False, '{"a": "b')
    assert not any(isinstance(event, ToolCallDone) for event in events)
    assert events[-1] == Finish("STOP", "unknown")


def test_a_part_may_have_a_signature_and_nothing_else() -> None:
    """It is kept for the next request; one that says nothing at all makes no event."""
    signed = {"thoughtSignature": "c2ln"}
    events, outcome = read(
        [sse(response(signed, {"thought": True}), response(reason="STOP"))], DIALECT
    )
    assert events == [Other("thoughtSignature", signed), Finish("STOP", "complete")]
    assert message_of(outcome).extra["parts"] == [signed]


def test_calls_stack() -> None:
    """A piece without a name belongs to the call that was opened last."""
    wire = sse(
        response(call(name="outer", willContinue=True), value("$.a", "1")),
        response(call(name="inner", willContinue=True), value("$.b", "2"), call()),
        response(value("$.a", "1", more=False), call(name="none"), call(), reason="STOP"),
    )
    events, outcome = read([wire], DIALECT)
    made = [(c.name, c.arguments, c.finished) for c in message_of(outcome).tool_calls]
    assert made == [
        ("outer", '{"a": "11"}', True),
        ("inner", '{"b": "2"}', True),
        ("none", "{}", True),
    ]
    assert Other("functionCall", {}) in events


def test_a_return_to_a_closed_path() -> None:
    """The finished call is right all the same, and a snapshot says that the deltas are not."""
    wire = sse(
        response(call(name="f", willContinue=True), value("$.a.b", "1"), value("$.c", "2")),
        response(value("$.a.b", "3"), value("$.d", "4"), call(), reason="STOP"),
    )
    events, outcome = read([wire], DIALECT)
    (found,) = message_of(outcome).tool_calls
    assert found.arguments == '{"a": {"b": "13"}, "c": "2", "d": "4"}' and found.valid
    said = "".join(e.arguments for e in events if isinstance(e, ToolCallDelta))
    assert said == '{"a": {"b": "1"}, "c": "2'
    (snapshot,) = [each for each in events if isinstance(each, Snapshot)]
    assert snapshot.value.tool_calls == (found,)


def test_calls_whose_pieces_come_in_their_order_make_no_snapshot() -> None:
    """What was handed out is what they are."""
    events, _ = read([sse(*EVERYTHING)], DIALECT)
    assert not any(isinstance(each, Snapshot) for each in events)


def test_a_fault_behind_arguments_out_of_order_does_not_hide_them() -> None:
    """The arguments were replaced before the fault, and whoever shows them hears of that."""
    parts = [call(name="f", willContinue=True), value("$.a.b", "1"), value("$.c", "2")]
    wire = sse(response(*parts), response(value("$.a.b", "3", more=False), {"text": "x" * 999}))
    events, outcome = read([wire], DIALECT, Limits(value_bytes=500))
    assert isinstance(outcome, Failed) and outcome.error.code == "value-limit"
    assert isinstance(events[-1], Snapshot) and events[-1].value == outcome.partial


def test_halves_of_a_character_meet() -> None:
    """A character escaped as two halves in two chunks is one; alone, a half is U+FFFD."""
    halves = [response({"text": "\ud83d"}), response({"text": "\ude42"}, reason="STOP")]
    assert message_of(read([sse(*halves)], DIALECT)[1]).text == "🙂"
    events, outcome = read([sse(halves[0])], DIALECT)
    assert events == [TextDelta("\ufffd")] and message_of(outcome).text == "\ufffd"


def test_the_value_is_bounded() -> None:
    """What is kept beside the text counts as well; what takes its place counts by its growth."""
    image = response({"inlineData": {"data": "A" * 500}})
    _, outcome = read([sse(*[image] * 3)], DIALECT, Limits(value_bytes=1500))
    assert isinstance(outcome, Failed) and isinstance(outcome.error, LimitExceeded)
    same = [response(modelVersion="v" * 500), response(modelVersion="w" * 500)]
    _, outcome = read([sse(*same * 30)], DIALECT, Limits(value_bytes=1500))
    assert isinstance(outcome, Interrupted)


def test_a_value_that_was_taken_does_not_change() -> None:
    """It is what was folded then, whatever comes later."""
    stream = parse([sse(*EVERYTHING[:4]), sse(*EVERYTHING[4:])], DIALECT)
    for event in stream:
        if isinstance(event, ToolCallDone):
            break
    taken = stream.value
    before = repr(taken)
    list(stream)
    assert repr(taken) == before and stream.value != taken


@given(mangled(EVERYTHING))
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends in one of our ways."""
    assert_no_internal_error(sse(*payloads), DIALECT)
