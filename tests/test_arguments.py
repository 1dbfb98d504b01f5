"""Tool arguments, shown as they grow and offered as a call only at their end."""

from __future__ import annotations

import json

import untorn
from untorn import Completed, ToolCallDelta, ToolCallDone
from untorn.arguments import ToolArguments, growing_arguments
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
    assert [each.arguments.value for each in grown[2:]] == [{"a": [1, 2]}, {"x": "y"}]
    deltas = [each for each in events if isinstance(each, ToolCallDelta)]
    assert "".join(each.arguments for each in deltas if each.index == 0) == '{"a": [1, 2]}'
    assert not any(isinstance(each, ToolCallDone) for each in events)


def test_the_dialect_is_otherwise_the_same() -> None:
    """Marker, value and the other events are those of the dialect inside."""
    wire = (chunk(0, "{}", "f") + "data: [DONE]\n\n").encode()
    plain = untorn.parse([wire], OpenAIChat())
    grown = untorn.parse([wire], growing_arguments(OpenAIChat()))
    assert [each for each in grown if not isinstance(each, ToolArguments)] == list(plain)
    assert isinstance(plain.outcome, Completed) and isinstance(grown.outcome, Completed)
    assert grown.outcome.value == plain.outcome.value
    assert grown.outcome.marker == plain.outcome.marker
