"""Ollama: one object per line, and the one that says `done`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from untorn import (
    Completed,
    Failed,
    Finish,
    InvalidJson,
    Limits,
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
from untorn.dialects.ollama import OllamaChat

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
from .fuzz import assert_no_internal_error, assert_prefixes_are_torn, mangled

CAPTURES = captures("ollama")
DIALECT = OllamaChat()


def lines(*payloads: Any) -> bytes:
    return b"".join(json.dumps(payload).encode() + b"\n" for payload in payloads)


def said(**message: Any) -> dict[str, Any]:
    return {"model": "m", "created_at": "now", "message": message, "done": False}


DONE = {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 7}
CALL = {"id": "c", "function": {"index": 0, "name": "f", "arguments": {"a": "é"}}}
EVERYTHING: list[dict[str, Any]] = [
    said(role="assistant", thinking="hm"),
    said(role="assistant", content="Hi"),
    {"response": " there", "thinking": "so", "done": False},
    said(content="", tool_calls=[CALL], images=["aW1n"]),
    {"logprobs": [{"token": "Hi"}], "done": False},
    {**DONE, "load_duration": 5},
]


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, text, usage and finish reason are those of the index."""
    events, outcome = read([capture.wire], DIALECT)
    expected = {**capture.expected, "terminal_marker": "done"}
    assert_as_recorded(outcome, replace(capture, expected=expected))
    assert events[-1] == Finish("stop", "complete")


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)
    assert_cuts_do_not_matter(lines(*EVERYTHING), DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed before the line end of the last line."""
    assert_prefixes_are_torn(capture.wire, DIALECT, iter(prefixes(capture.wire)))
    wire = lines(*EVERYTHING)
    assert_prefixes_are_torn(wire, DIALECT, iter(range(len(wire))))


@pytest.mark.parametrize("case", cases("ollama"))
def test_a_reported_stream(case: Case) -> None:
    """It is read as it should have been, however it is cut."""
    _, outcome = read(case.chunks(), DIALECT)
    assert type(outcome).__name__ == case.outcome
    assert message_of(outcome).text == case.reduced["text"]
    assert message_of(outcome).finish_reason == case.reduced.get("finish")
    assert_cuts_do_not_matter(case.wire, DIALECT)


def test_every_event_in_order() -> None:
    """Each field is handed out as what it is; the same value twice is news once."""
    events, outcome = read([lines(*EVERYTHING)], DIALECT)
    message = message_of(outcome)
    assert events == [
        ReasoningDelta("hm"), Other("role", "assistant"), Other("model", "m"),
        TextDelta("Hi"),
        ReasoningDelta("so"), TextDelta(" there"),
        ToolCallDelta(0, "c", "f", '{"a": "é"}'), ToolCallDone(0, message.tool_calls[0]),
        Other("images", ["aW1n"]),
        Other("logprobs", [{"token": "Hi"}]),
        Other("eval_count", 7), Other("load_duration", 5),
        UsageUpdate({"eval_count": 7}), Finish("stop", "tool"),
    ]  # fmt: skip
    assert (message.text, message.reasoning) == ("Hi there", "hmso")
    assert message.tool_calls[0].valid
    assert message.extra == {
        "role": "assistant", "model": "m", "images": ["aW1n"], "logprobs": [{"token": "Hi"}],
        "eval_count": 7, "load_duration": 5,
    }  # fmt: skip


def test_the_last_event_completes() -> None:
    """Whoever stops at `Finish` has a completed stream; nothing behind it is read."""
    stream = parse([lines(*EVERYTHING) + b"nonsense\n"], DIALECT)
    for event in stream:
        if isinstance(event, Finish):
            break
        assert stream.outcome is None
    assert isinstance(stream.outcome, Completed) and stream.outcome.marker == "done"


@pytest.mark.parametrize(
    ("reason", "disposition"),
    [("stop", "complete"), ("length", "truncated"), ("load", "unknown"), (None, "unknown")],
)
def test_dispositions(reason: str | None, disposition: str) -> None:
    """Why it is done; the reason may be missing."""
    events, _ = read([lines({"done": True, "done_reason": reason})], DIALECT)
    assert events[-1] == Finish(reason, disposition)


@pytest.mark.parametrize("done", ["true", 1, None])
def test_only_true_is_done(done: Any) -> None:
    """A flag of another type ends nothing."""
    _, outcome = read([lines({"done": done})], DIALECT)
    assert type(outcome).__name__ == "Interrupted"


PULL = [{"status": "pulling"}, {"status": "layer", "total": 9, "completed": 4}]


def test_a_model_is_pulled_when_the_status_is_success() -> None:
    """The progress passes through; no prefix is Completed."""
    wire = lines(*PULL, {"status": "success"})
    events, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Completed) and outcome.marker == "success"
    assert events[-2:] == [Other("status", "success"), Finish("success", "complete")]
    assert_prefixes_are_torn(wire, DIALECT, iter(range(len(wire))))
    assert_cuts_do_not_matter(wire, DIALECT)


@pytest.mark.parametrize("line", [said(content="a"), {"response": ""}])
def test_success_ends_no_answer(line: dict[str, Any]) -> None:
    """An answer ends with `done`; a status on its lines or behind them proves nothing."""
    for wire in (lines(line, {"status": "success"}), lines({**line, "status": "success"})):
        _, outcome = read([wire], DIALECT)
        assert type(outcome).__name__ == "Interrupted"
    _, outcome = read([lines(*PULL, {"status": "success", "error": "no"})], DIALECT)
    assert isinstance(outcome, Failed)


@pytest.mark.parametrize("error", ["no", {"message": "no"}])
def test_an_error_fails(error: Any) -> None:
    """Also beside `done`; what came before it stays."""
    wire = lines(said(content="a"), {"error": error, "done": True, "signin_url": "u"})
    events, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert outcome.error.message == "no" and outcome.error.raw["signin_url"] == "u"
    assert TextDelta("a") in events


@pytest.mark.parametrize(
    ("line", "fault"), [(b"oops\n", InvalidJson), (b"[1]\n", ProtocolViolation)]
)
def test_a_line_that_is_no_object_fails(line: bytes, fault: type[Exception]) -> None:
    """Its text is quoted, for it often says what is wrong."""
    _, outcome = read([lines(said(content="a")), line], DIALECT)
    assert isinstance(outcome, Failed) and type(outcome.error) is fault
    assert outcome.error.offset == len(lines(said(content="a")))


def test_the_value_is_bounded() -> None:
    """Text counts, and so does what is kept beside it."""
    for payload in (said(content="a" * 50), said(images=["a" * 50])):
        _, outcome = read([lines(*[payload] * 9)], DIALECT, Limits(value_bytes=300))
        assert isinstance(outcome, Failed) and outcome.error.code == "value-limit"


@given(mangled(EVERYTHING))
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends in one of our ways."""
    assert_no_internal_error(lines(*payloads), DIALECT)
