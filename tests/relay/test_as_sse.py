"""What the events of every dialect are on the wire of a relay."""

import json
import math
from dataclasses import fields, replace

import pytest

from untorn import (
    Boundary,
    Cause,
    Failed,
    Finish,
    Interrupted,
    JsonEvent,
    Other,
    Position,
    ReasoningDelta,
    RefusalDelta,
    ServerSentEvent,
    ServiceError,
    Snapshot,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
)
from untorn.http import Reconnecting
from untorn.relay import SseEncoder, as_sse

CUT = (Cause.TRANSPORT, Boundary.FRAME)
CALL = ToolCall("c1", "find", '{"q": "京"}', valid=True, finished=True)
CHAT = [
    TextDelta("京\u2028\n", 1),
    ReasoningDelta("hm"),
    RefusalDelta("no"),
    ToolCallDelta(0, "c1", "find", '{"q'),
    ToolCallDone(0, CALL),
    UsageUpdate({"total": 3}),
    Snapshot({"a": [1]}),
    Finish("stop", "complete"),
    Other("ping", None),
]


@pytest.mark.parametrize("event", CHAT, ids=lambda event: type(event).__name__)
def test_a_chat_event_has_the_name_and_fields_of_the_command_line(event: object) -> None:
    """The name is the `kind` that `untorn read --json` prints, the data its other fields."""
    shown = as_sse(event)
    kind = pytest.importorskip("untorn.cli.show").event_object(event)["kind"]
    assert (shown.event, shown.id, shown.retry) == (kind, "", None)
    assert list(json.loads(shown.data)) == [field.name for field in fields(event)]


def test_what_a_chat_event_holds_is_on_one_line() -> None:
    """The JSON is compact, with text as it is and values within values as objects."""
    assert as_sse(CHAT[0]).data == '{"text":"京\u2028\\n","choice":1}'
    assert json.loads(as_sse(CHAT[4]).data)["call"] == {
        "id": "c1",
        "name": "find",
        "arguments": '{"q": "京"}',
        "valid": True,
        "finished": True,
    }


def test_a_server_sent_event_is_itself() -> None:
    """It is handed on with all it has."""
    event = ServerSentEvent("tick", "a", "1", 5)
    assert as_sse(event) is event


def test_json_text_and_any_other_value_are_the_data_of_a_message() -> None:
    """An id is kept where frames have one."""
    assert as_sse(JsonEvent("7", [1, None])) == ServerSentEvent("message", "[1,null]", "7")
    assert as_sse(JsonEvent(None, "a")) == ServerSentEvent("message", '"a"', "")
    assert as_sse("a\nb") == ServerSentEvent("message", "a\nb", "")
    assert as_sse({"a": b"\xff", "b": math.inf}).data == '{"a":"\ufffd","b":null}'


@pytest.mark.parametrize("text", ["\ud83d", "\ude42 \ud83d", "a\ud83d\ude42"])
def test_half_a_pair_is_spelled_out(text: str) -> None:
    """What JSON holds as an escape leaves as one, and can be encoded."""
    shown = as_sse(JsonEvent(None, {"text": text}))
    assert SseEncoder().encode(shown)
    read = json.loads(shown.data)["text"]
    assert read.encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


def test_an_error_within_an_event_says_nothing_of_the_upstream() -> None:
    """It is its code or its class: what a service says of itself is not for every browser."""
    fault = ServiceError("db7.corp is down")
    said = Reconnecting(2, 1.0, Failed(fault, None, Position(0, 0, 0)), "7")
    cut = replace(said, outcome=Interrupted(*CUT, OSError("db7.corp"), None, Position(0, 0, 0)))
    assert json.loads(as_sse(said).data)["outcome"]["error"] == "service-error"
    assert json.loads(as_sse(cut).data)["outcome"]["error"] == "OSError"
    for event in (said, cut, Other("error", fault), Snapshot([OSError("db7.corp")])):
        assert "corp" not in as_sse(event).data
