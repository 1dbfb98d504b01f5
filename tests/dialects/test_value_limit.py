"""Whatever grows with the stream and is kept in the value counts towards `value_bytes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from untorn import Completed, Dialect, Failed, Limits
from untorn.dialects import AiSdkUi, AnthropicMessages, CohereChat, OpenAIChat, OpenAIResponses

from .captures import read
from .fuzz import sse

PAD = "z" * 500
MOST = Limits(value_bytes=20_000)
TIMES = 100

Payload = dict[str, Any]
Event = Callable[[int], Payload]


def started(**block: Any) -> Event:
    return lambda n: {"type": "content_block_start", "index": n, "content_block": block}


def item(kind: str, how: str = "added") -> Event:
    return lambda n: {
        "type": f"response.output_item.{how}",
        "output_index": n,
        "item": {"type": kind, "encrypted_content": PAD},
    }


def usage(n: int) -> Payload:
    return {"type": "message_delta", "delta": {}, "usage": {f"count{n}": PAD}}


def metadata(n: int) -> Payload:
    return {"type": "message-metadata", "messageMetadata": {f"key{n}": PAD}}


def ui_call(n: int) -> Payload:
    return {"type": "tool-input-start", "toolCallId": f"{n}{PAD}", "toolName": "f"}


def cohere_call(n: int) -> Payload:
    call = {"id": f"{n}", "function": {"name": PAD}}
    return {"type": "tool-call-start", "index": n, "delta": {"message": {"tool_calls": call}}}


def chat_call(n: int) -> Payload:
    call = {"index": n, "id": f"{n}{PAD}", "function": {"name": "f"}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


GROWING: list[tuple[Dialect[Any, Any], Event]] = [
    (AnthropicMessages(), started(type="text", text="", beside=PAD)),
    (AnthropicMessages(), started(type="thinking", thinking="", signature=PAD)),
    (AnthropicMessages(), started(type="tool_use", id="c", name="f", beside=PAD)),
    (AnthropicMessages(), usage),
    *((OpenAIResponses(), item(kind, how)) for how in ("added", "done")
      for kind in ("message", "reasoning", "function_call", "image_generation_call")),
    (AiSdkUi(), metadata),
    (AiSdkUi(), ui_call),
    (CohereChat(), cohere_call),
    (OpenAIChat(), chat_call),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "event"), GROWING)
def test_what_grows_is_bounded(dialect: Dialect[Any, Any], event: Event) -> None:
    """It fails at the limit, and not much later."""
    _, outcome = read([sse(*map(event, range(TIMES)))], dialect, MOST)
    assert isinstance(outcome, Failed) and outcome.error.code == "value-limit"
    assert outcome.position.frames > 10


def test_a_signature_of_each_block_is_bounded() -> None:
    """It is what comes behind the text of a block of thinking."""
    signed = {"type": "signature_delta", "signature": PAD}
    payloads: list[Payload] = []
    for n in range(TIMES):
        payloads.append(started(type="thinking", thinking="")(n))
        payloads.append({"type": "content_block_delta", "index": n, "delta": signed})
    _, outcome = read([sse(*payloads)], AnthropicMessages(), MOST)
    assert isinstance(outcome, Failed) and outcome.error.code == "value-limit"


def test_an_unknown_delta_is_passed_through_and_counts_nothing() -> None:
    """What is not kept needs no room."""
    unknown = {"type": "new_delta", "x": PAD}
    payload = {"type": "content_block_delta", "index": 0, "delta": unknown}
    wire = sse(started(type="text")(0), *[payload] * TIMES, {"type": "message_stop"})
    assert isinstance(read([wire], AnthropicMessages(), MOST)[1], Completed)


def test_the_text_of_an_item_counts_once() -> None:
    """The item repeats it, and is kept too."""
    text = {"type": "output_text", "text": "x" * 15_000}
    whole = {"type": "message", "content": [text]}
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": text["text"]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": whole}
    end = {"type": "response.completed", "response": {"status": "completed", "output": [whole]}}
    _, outcome = read([sse(delta, done, end)], OpenAIResponses(), MOST)
    assert outcome.unwrap().text == text["text"]


def test_a_call_that_is_taken_back_gives_its_room_back() -> None:
    """Its id and its name too."""
    payloads = [{"type": "start-step"}, ui_call(0), {"type": "reset-step"}] * TIMES
    _, outcome = read([sse(*payloads, {"type": "finish"}, "[DONE]")], AiSdkUi(), MOST)
    assert isinstance(outcome, Completed)
