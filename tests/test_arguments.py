"""Tool arguments, shown as they grow and offered as a call only at their end."""

from __future__ import annotations

import json

import pytest

import untorn
from untorn import Completed, Other, ToolCallDelta, ToolCallDone
from untorn.arguments import ToolArguments, growing_arguments
from untorn.dialects import AiSdkUi, AnthropicMessages
from untorn.dialects.openai_chat import OpenAIChat


def chunk(index: int, arguments: str, name: str | None = None) -> str:
    function = {"name": name, "arguments": arguments}
    call = {"index": index, "id": f"c{index}" if name else None, "function": function}
    choices = [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]
    return f"data: {json.dumps({'choices': choices})}\n\n"


def test_each_delta_is_followed_by_what_it_closed() -> None:
    """Two calls grow side by side; the delta itself stands in front, unchanged."""
    wire = chunk(0, '{"a": [1', "f") + chunk(1, '{"x', "g") + chunk(0, ", 2]}") + chunk(1, '": "y')
    parse = untorn.parse([wire.encode()], growing_arguments(OpenAIChat()))
    events = list(parse.events())
    grown = [each for each in events if isinstance(each, ToolArguments)]
    assert [(each.index, each.closed) for each in grown] == [
        (0, ()),
        (1, ()),
        (0, (("a", 0), ("a", 1), ("a",), ())),
        (1, ()),
    ]
    assert [each.value for each in grown] == [{"a": []}, {}, {"a": [1, 2]}, {"x": "y"}]
    deltas = [each for each in events if isinstance(each, ToolCallDelta)]
    assert "".join(each.arguments for each in deltas if each.index == 0) == '{"a": [1, 2]}'
    assert not any(isinstance(each, ToolCallDone) for each in events)


def test_what_is_shown_does_not_depend_on_the_reads() -> None:
    """Though the reducer runs ahead of the consumer, each event shows its own state."""
    wire = (chunk(0, '{"a": "b', "f") + chunk(0, 'c", "d": tr') + chunk(0, "ue, ]")).encode()

    def shown(chunks: list[bytes]) -> list[object]:
        events = untorn.parse(chunks, growing_arguments(OpenAIChat())).events()
        return [
            (repr(each), repr(each.value), each.closed, each.malformed)
            for each in events
            if isinstance(each, ToolArguments)
        ]

    assert shown([wire]) == shown([wire[at : at + 1] for at in range(len(wire))])
    assert [value for _, value, _, _ in shown([wire])] == [
        "{'a': 'b'}",
        "{'a': 'bc'}",
        "{'a': 'bc', 'd': True}",
    ]
    assert shown([wire])[-1][-1] is True


def test_an_earlier_event_still_shows_what_it_did() -> None:
    """Asked again, after a later one, it begins to read anew."""
    wire = (chunk(0, "[1", "f") + chunk(0, ", 2, ")).encode()
    first, second = (
        each
        for each in untorn.parse([wire], growing_arguments(OpenAIChat())).events()
        if isinstance(each, ToolArguments)
    )
    assert second.value == [1, 2]
    assert first.value == []
    assert second.closed == ((0,), (1,))
    assert first != second and first == first and first != "[1"
    assert len({first, second, first}) == 2


def test_a_snapshot_begins_anew() -> None:
    """A call that was taken back leaves nothing to the next one at its place."""

    def ui(kind: str, **fields: str) -> str:
        return f"data: {json.dumps({'type': kind, **fields})}\n\n"

    def call(id: str, *fragments: str) -> str:
        start = ui("tool-input-start", toolCallId=id, toolName="f")
        deltas = (ui("tool-input-delta", toolCallId=id, inputTextDelta=text) for text in fragments)
        return start + "".join(deltas)

    wire = call("kept", '{"k": 1') + ui("start-step") + call("a", '{"a": ') + ui("reset-step")
    wire += call("b", '{"b": ', "2") + ui("tool-input-delta", toolCallId="kept", inputTextDelta="}")
    events = list(untorn.parse([wire.encode()], growing_arguments(AiSdkUi())).events())
    grown = [each for each in events if isinstance(each, ToolArguments)]
    assert [(each.index, each.text) for each in grown[-4:]] == [
        (1, ""),
        (1, '{"b": '),
        (1, '{"b": 2'),
        (0, '{"k": 1}'),
    ]
    assert grown[-1].value == {"k": 1} and grown[-1].closed == (("k",), ())
    assert [each.text for each in grown[2:4]] == ["", '{"a": ']


def test_each_fragment_is_read_once() -> None:
    """However long the arguments, asking at each event costs what its delta is long."""
    wire = "".join(chunk(0, '"' if not n else "x", "f" if not n else None) for n in range(2000))
    grown = (
        each
        for each in untorn.parse([wire.encode()], growing_arguments(OpenAIChat())).events()
        if isinstance(each, ToolArguments)
    )
    assert sum(len(each.closed) for each in grown) == 0


def test_the_dialect_is_otherwise_the_same() -> None:
    """Marker, value and the other events are those of the dialect inside."""
    wire = (chunk(0, "{}", "f") + "data: [DONE]\n\n").encode()
    plain = untorn.parse([wire], OpenAIChat())
    grown = untorn.parse([wire], growing_arguments(OpenAIChat()))
    assert [each for each in grown if not isinstance(each, ToolArguments)] == list(plain)
    assert isinstance(plain.outcome, Completed) and isinstance(grown.outcome, Completed)
    assert grown.outcome.value == plain.outcome.value
    assert grown.outcome.marker == plain.outcome.marker


def test_a_ping_is_still_a_keepalive() -> None:
    """What the dialect inside says of its events holds; arguments that grow are progress."""
    dialect = growing_arguments(AnthropicMessages())
    reducer = dialect.reducer(dialect.limits)
    assert reducer.is_keepalive(Other("ping", {}))
    assert not reducer.is_keepalive(Other("signature_delta", {}))
    wire = chunk(0, "{", "f").encode()
    (grown,) = list(untorn.parse([wire], growing_arguments(OpenAIChat())).events())[1:]
    assert isinstance(grown, ToolArguments) and not reducer.is_keepalive(grown)


def test_what_is_no_dialect_is_refused() -> None:
    """At once, and not when its first stage is wanted."""
    with pytest.raises(TypeError, match=r"OpenAIChat is a class: write OpenAIChat\(\)"):
        growing_arguments(OpenAIChat)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a dialect, and None is none"):
        growing_arguments(None)  # type: ignore[arg-type]
