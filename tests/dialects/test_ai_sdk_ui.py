"""The UI message stream of the AI SDK: steps, parts by id, and a fold that may be reset."""

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
    ServiceError,
    Snapshot,
    TextDelta,
    ToolCallDelta,
    ToolCallDone,
    parse,
)
from untorn.dialects.ai_sdk_ui import AiSdkUi

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

CAPTURES = captures("vercel-ui-message-stream")
DIALECT = AiSdkUi()


def chunk(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def text(said: str, id: str = "t") -> list[dict[str, Any]]:
    return [
        chunk("text-start", id=id),
        chunk("text-delta", id=id, delta=said),
        chunk("text-end", id=id),
    ]


def tool(kind: str, id: str = "c", **fields: Any) -> dict[str, Any]:
    return chunk(f"tool-{kind}", toolCallId=id, **fields)


STEP = chunk("start-step")
FINISH = chunk("finish", finishReason="stop")
EVERYTHING: list[dict[str, Any]] = [
    chunk("start", messageId="m", messageMetadata={"a": {"x": 1}}),
    STEP,
    chunk("reasoning-start", id="t"),
    chunk("reasoning-delta", id="t", delta="hm"),
    chunk("reasoning-end", id="t"),
    tool("input-start", toolName="f"),
    tool("input-delta", inputTextDelta='{"a": '),
    tool("input-delta", inputTextDelta="1}"),
    tool("input-available", toolName="f", input={"a": 1}),
    tool("output-available", output="half", preliminary=True),
    tool("output-available", output="whole"),
    chunk("finish-step"),
    STEP,
    *text("Hi"),
    chunk("source-url", sourceId="s", url="https://example.org"),
    chunk("data-weather", id="d", data=1),
    chunk("data-weather", id="d", data=2),
    chunk("data-note", data=3, transient=True),
    chunk("finish-step"),
    chunk("message-metadata", messageMetadata={"a": {"y": 2}}),
    FINISH,
]


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, texts and finish reason are those of the index."""
    _, outcome = read([capture.wire], DIALECT)
    assert_as_recorded(outcome, capture)
    if isinstance(outcome, Failed):
        assert isinstance(outcome.error, ServiceError)
        assert outcome.error.message == capture.expected["error"]


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)
    assert_cuts_do_not_matter(sse(*EVERYTHING[:12], "[DONE]"), DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix of a stream that did not complete is Completed."""
    assert_prefixes_are_torn(capture.wire, DIALECT, prefixes(capture.wire))


def test_a_prefix_is_torn_up_to_the_finish() -> None:
    """A whole stream is Completed at its `[DONE]`, or where it ends cleanly behind `finish`."""
    before, wire = len(sse(*EVERYTHING)), sse(*EVERYTHING, "[DONE]")
    whole, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Completed) and outcome.position.bytes == len(wire)
    for length in range(len(wire)):
        events, early = read([wire[:length]], DIALECT)
        assert events == whole[: len(events)]
        assert isinstance(early, Completed) is (length == before), length


# An error fails the stream at once: the protocol lets content follow one, but an answer that
# announced an error must never look whole. The report would have it complete at the finish.
AT_ONCE = {"err-15": ("Failed", "")}


@pytest.mark.parametrize("case", cases("vercel-ui"))
def test_a_reported_stream(case: Case) -> None:
    """It is read as it should have been, however it is cut."""
    _, outcome = read(case.chunks(), DIALECT)
    kind, said = AT_ONCE.get(case.id, (case.outcome, case.reduced["text"]))
    assert type(outcome).__name__ == kind
    assert message_of(outcome).text == said
    if isinstance(outcome, Failed) and "errors" in case.reduced:
        assert isinstance(outcome.error, ServiceError)
        assert [outcome.error.message] == case.reduced["errors"]


def test_every_event_in_order() -> None:
    """Each chunk is handed out as what it is; what has no name of ours passes through."""
    events, outcome = read([sse(*EVERYTHING, "[DONE]")], DIALECT)
    (call,) = outcome.unwrap().tool_calls
    assert [each for each in events if not isinstance(each, Other)] == [
        ReasoningDelta("hm"),
        ToolCallDelta(0, "c", "f", ""),
        ToolCallDelta(0, "c", "f", '{"a": '),
        ToolCallDelta(0, "c", "f", "1}"),
        ToolCallDone(0, call),
        TextDelta("Hi"),
        Finish("stop", "complete"),
    ]
    assert [each.name for each in events if isinstance(each, Other)] == [
        "message-metadata",
        "tool-output-available",
        "tool-output-available",
        "source-url",
        "data-weather",
        "data-weather",
        "data-note",
        "message-metadata",
    ]


def test_what_is_kept_beside_the_answer() -> None:
    """Metadata merges, data of one id and outputs replace themselves, the transient passes."""
    _, outcome = read([sse(*EVERYTHING)], DIALECT)
    extra = outcome.unwrap().extra
    assert extra["id"] == "m" and extra["metadata"] == {"a": {"x": 1, "y": 2}}
    assert [part.get("data", part["type"]) for part in extra["parts"]] == ["source-url", 2]
    assert extra["tools"]["c"]["tool-output-available"]["output"] == "whole"


def test_the_last_event_completes() -> None:
    """A consumer that leaves on `Finish` leaves a Completed stream."""
    stream = parse([sse(*EVERYTHING, "[DONE]")], DIALECT)
    for each in stream:
        if isinstance(each, Finish):
            break
    assert isinstance(stream.outcome, Completed) and stream.outcome.marker == "finish"


def test_a_finish_without_a_reason() -> None:
    """The schema lets it be absent; the stream is whole and nobody knows what for."""
    events, outcome = read([sse(*text("Hi"), chunk("finish"))], DIALECT)
    assert isinstance(outcome, Completed)
    assert events[-1] == Finish(None, "unknown")


@pytest.mark.parametrize("again", [chunk("start"), STEP], ids=["start", "start-step"])
def test_a_new_start_takes_the_finish_back(again: dict[str, Any]) -> None:
    """Behind a `finish` a server may join another stream, which may be torn in turn."""
    wire = sse(*text("Hi"), FINISH, again, *text("Ho"))
    assert isinstance(read([wire], DIALECT)[1], Interrupted)
    assert isinstance(read([wire + sse(FINISH)], DIALECT)[1], Completed)


def test_a_reset_takes_the_step_back() -> None:
    """All since the last `start-step` is gone from the message; a Snapshot says what is left."""
    lost = [
        *text("No"),
        tool("input-start", "d", toolName="g"),
        tool("output-error", "d", errorText="x"),
        chunk("data-note", data=1),
    ]
    kept = [STEP, *text("Yes."), tool("input-start", toolName="f"), chunk("finish-step")]
    wire = sse(*kept, STEP, *lost, chunk("reset-step"), *text(" Then."), FINISH)
    events, outcome = read([wire], DIALECT)
    (snapshot,) = (each.value for each in events if isinstance(each, Snapshot))
    assert (snapshot.text, [call.name for call in snapshot.tool_calls]) == ("Yes.", ["f"])
    assert snapshot.extra == {}
    assert outcome.unwrap().text == "Yes. Then."


def test_a_reset_closes_what_the_step_opened() -> None:
    """A delta for a part that was taken back has no place any more."""
    wire = sse(STEP, text("No")[0], chunk("reset-step"), text("No")[1], FINISH)
    _, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)


def test_a_reset_gives_the_room_back() -> None:
    """What was taken back does not count towards the limit."""
    again = [STEP, *text("ab"), chunk("reset-step")]
    _, outcome = read([sse(*again * 5, FINISH)], DIALECT, Limits(value_bytes=4))
    assert isinstance(outcome, Completed) and outcome.value.text == ""


@pytest.mark.parametrize(
    ("fragments", "kept", "events"),
    [
        ([], '{"a":1}', [ToolCallDelta, ToolCallDone]),
        (['{"a": ', "1}"], '{"a": 1}', [ToolCallDelta] * 3 + [ToolCallDone]),
        (['{"a": 2}'], '{"a":1}', [ToolCallDelta] * 2 + [Snapshot, ToolCallDone]),
    ],
    ids=["alone", "agrees", "replaces"],
)
def test_an_available_input_counts(
    fragments: list[str], kept: str, events: list[type[Any]]
) -> None:
    """Alone it is a delta; where it agrees the exact text stays; otherwise it replaces it."""
    deltas = [tool("input-delta", inputTextDelta=each) for each in fragments]
    opening = [tool("input-start", toolName="f")] if fragments else []
    available = tool("input-available", toolName="f", input={"a": 1})
    seen, outcome = read([sse(*opening, *deltas, available, FINISH)], DIALECT)
    assert [type(each) for each in seen[:-1]] == events
    (call,) = outcome.unwrap().tool_calls
    assert (call.arguments, call.valid) == (kept, True)


def test_an_input_that_does_not_fit_is_never_finished() -> None:
    """`tool-input-error` fails the tool, not the stream, and its call is not to be run."""
    error = tool("input-error", toolName="f", input={"a": 1}, errorText="no")
    events, outcome = read([sse(error, FINISH)], DIALECT)
    (call,) = outcome.unwrap().tool_calls
    assert (call.arguments, call.finished) == ('{"a":1}', False)
    assert outcome.unwrap().extra["tools"]["c"]["tool-input-error"] == error
    assert events[-2] == Other("tool-input-error", error)


def test_an_abort_is_the_servers_interruption() -> None:
    """The text is kept, the cause says who, and the `[DONE]` behind it changes nothing."""
    wire = sse(*text("Hi"), chunk("abort", reason="stop"), "[DONE]")
    _, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.CANCELLED
    assert outcome.partial.text == "Hi"
    assert outcome.partial.extra["abort"]["reason"] == "stop"


@pytest.mark.parametrize(
    "last", [chunk("error", errorText="x"), chunk("finish", finishReason="error")]
)
def test_an_error_fails_even_behind_a_finish(last: dict[str, Any]) -> None:
    """An error counts for more than the marker."""
    _, outcome = read([sse(*text("Hi"), FINISH, last, "[DONE]")], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.partial.text, outcome.partial.finish_reason) == ("Hi", "error")


def test_done_without_a_finish_is_an_interruption() -> None:
    """The server sends `[DONE]` whatever happened."""
    _, outcome = read([sse(*text("Hi"), "[DONE]")], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.EOF


@pytest.mark.parametrize(
    "wire",
    [
        [text("x")[1]],
        [*text("x"), text("x")[1]],
        [text("x")[0], chunk("finish-step"), text("x")[1]],
        [text("x")[2]],
        [chunk("text-start", id=1)],
        [tool("input-delta", inputTextDelta="{")],
        [tool("input-available", input={}), tool("input-delta", inputTextDelta="{")],
        [[1]],
    ],
    ids=["unopened", "ended", "last step", "end", "id", "no call", "finished call", "no object"],
)
def test_a_broken_order_fails(wire: list[Any]) -> None:
    """A piece without a place is a fault, never a guess."""
    _, outcome = read([sse(*wire, FINISH)], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)


def test_the_fault_names_the_part() -> None:
    """Whoever wrote the server learns which id was not open."""
    _, outcome = read([sse(chunk("text-delta", id="t-7", delta="x"))], DIALECT)
    assert isinstance(outcome, Failed) and "'t-7'" in str(outcome.error)


def test_a_half_that_stays_alone_is_replaced_at_the_end_of_its_part() -> None:
    """There and not later: no delta of the part can bring its partner any more."""
    wire = sse(*text("Hi\ud83d", "a"), *text("!", "b"), FINISH)
    events, outcome = read([wire], DIALECT)
    assert events[:-1] == [TextDelta("Hi"), TextDelta("\ufffd"), TextDelta("!")]
    assert outcome.unwrap().text == "Hi\ufffd!"


def test_ids_may_be_used_again() -> None:
    """The same id in the next step is another text."""
    wire = sse(STEP, *text("one "), chunk("finish-step"), STEP, *text("two"), FINISH)
    assert read([wire], DIALECT)[1].unwrap().text == "one two"


def test_a_value_does_not_change_behind_ones_back() -> None:
    """A value taken early stays as it was, lists included."""
    assert_values_stand_still(EVERYTHING, DIALECT)


@given(mangled([*EVERYTHING, chunk("reset-step"), chunk("abort")]))
@settings(max_examples=200, deadline=None)
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends with a verdict of ours."""
    assert_no_internal_error(sse(*payloads), DIALECT)
    assert_no_internal_error(sse(*payloads[:-1]), DIALECT)
