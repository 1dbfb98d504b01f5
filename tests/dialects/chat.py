"""Chat completion chunks, to write streams of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from untorn import Completed, Failed, StreamFault
from untorn.dialects.openai_chat import OpenAIChat
from untorn.event import Message

from .captures import read

DONE = b"data: [DONE]\n\n"


def data(payload: Any, event: str = "") -> bytes:
    """Return one event; a text is its data as it is."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def chunk(delta: Any = None, *, reason: Any = None, index: Any = 0, **beside: Any) -> bytes:
    """Return one chunk with one choice; `beside` are fields of the chunk."""
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return data({"choices": [choice], **beside})


def call(arguments: Any = None, **fields: Any) -> dict[str, Any]:
    """Return one entry of `tool_calls`; `name` goes to its function."""
    function = {"name": fields.pop("name", None), "arguments": arguments}
    return {**fields, "function": {key: value for key, value in function.items() if value}}


def calls(*entries: dict[str, Any], reason: Any = None) -> bytes:
    """Return one chunk with fragments of calls."""
    return chunk({"tool_calls": list(entries)}, reason=reason)


def events_of(*wire: bytes, dialect: OpenAIChat | None = None) -> list[Any]:
    """Return the events of a stream, however it ended."""
    return read([b"".join(wire)], dialect or OpenAIChat())[0]


def answer(*wire: bytes) -> Message:
    """Return the message of a stream that `[DONE]` must complete."""
    _, outcome = read([b"".join(wire) + DONE], OpenAIChat())
    assert isinstance(outcome, Completed), outcome
    return outcome.value  # type: ignore[no-any-return]


def fault_of(*wire: bytes) -> StreamFault:
    """Return the fault of a stream that must fail."""
    _, outcome = read(list(wire), OpenAIChat())
    assert isinstance(outcome, Failed), outcome
    return outcome.error


def kinds(events: Iterable[Any]) -> list[str]:
    """Return the names of the types of events."""
    return [type(event).__name__ for event in events]
