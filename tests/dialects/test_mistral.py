"""Mistral's chat completions: recorded streams, and content in typed parts."""

from __future__ import annotations

import pytest

from untorn import Completed
from untorn.dialects.mistral import Mistral
from untorn.event import ReasoningDelta, TextDelta

from .captures import (
    Capture,
    assert_as_recorded,
    assert_cuts_do_not_matter,
    captures,
    prefixes,
    read,
    read_early,
)
from .chat import DONE, answer, call, calls, chunk, events_of


@pytest.mark.parametrize("capture", captures("mistral-chat"))
def test_a_recorded_stream_reads_as_recorded(capture: Capture) -> None:
    """Outcome, marker, texts, calls, usage and finish reason are those of the index."""
    _, outcome = read([capture.wire], Mistral())
    assert_as_recorded(outcome, capture)


@pytest.mark.parametrize("capture", captures("mistral-chat"))
def test_a_recorded_stream_is_the_same_however_it_is_cut(capture: Capture) -> None:
    """Cuts mean nothing."""
    assert_cuts_do_not_matter(capture.wire, Mistral())


@pytest.mark.parametrize("capture", captures("mistral-chat"))
def test_an_early_end_never_looks_whole(capture: Capture) -> None:
    """Where `[DONE]` is required, no prefix completes; its events are the first of the whole's."""
    dialect = Mistral(done="required")
    whole, outcome = read([capture.wire], dialect)
    assert isinstance(outcome, Completed)
    for length in prefixes(capture.wire):
        before, added, early = read_early(capture.wire, length, dialect)
        assert (before, added) == (whole[: len(before)], [])
        assert not isinstance(early, Completed) or length >= outcome.position.bytes


def test_content_changes_from_parts_to_text() -> None:
    """Thinking is reasoning, text is text, and other parts are kept."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, {"type": "x"}]}
    reference = {"type": "reference", "reference_ids": [1]}
    wire = [
        chunk({"content": [thinking, {"type": "text", "text": "A"}, reference]}),
        chunk({"content": [{"type": "thinking", "thinking": "."}, "b"]}),
        chunk({"content": "c"}),
    ]
    assert events_of(*wire, dialect=Mistral()) == [
        ReasoningDelta("Hm"),
        TextDelta("A"),
        ReasoningDelta("."),
        TextDelta("b"),
        TextDelta("c"),
    ]
    assert answer(*wire).extra == {"parts": [reference]}


def test_parallel_calls_have_no_position_and_perhaps_no_id() -> None:
    """A name begins a call; later fragments carry an empty one."""
    wire = [
        calls(call("{", id="null", name="f"), call("[", id="null", name="f")),
        calls({"id": "null", "function": {"name": "", "arguments": "]"}}),
        calls({"function": {"name": "g", "arguments": {"a": 1}}}, reason="tool_calls"),
        DONE,
    ]
    _, outcome = read(wire, Mistral())
    assert isinstance(outcome, Completed)
    assert [(each.id, each.arguments) for each in outcome.value.tool_calls] == [
        (None, "{"),
        (None, "[]"),
        (None, '{"a":1}'),
    ]
