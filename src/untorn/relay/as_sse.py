"""What an event of any dialect is as a Server-Sent Event."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from ..event import JsonEvent, ServerSentEvent
from ..json_text import event_name, fields_of, json_text

__all__ = ["as_sse"]


def as_sse(event: Any) -> ServerSentEvent:
    """Return what a reader of the relay gets for an event.

    ======================= ===================================================
    a `ServerSentEvent`     itself
    a `JsonEvent`           its value as JSON, under its id
    text                    the text
    an event of a chat      its fields as JSON, under the name of its class in
    (any dataclass)         snake case: `TextDelta("Hi")` is the event
                            `text_delta` with the data `{"text":"Hi","choice":0}`
    any other value         the value as JSON
    ======================= ===================================================
    """
    match event:
        case ServerSentEvent():
            return event
        case JsonEvent(id, data):
            return ServerSentEvent("message", json_text(data, compact=True), id or "")
        case str():
            return ServerSentEvent("message", event, "")
        case _ if is_dataclass(event):
            return ServerSentEvent(event_name(event), json_text(fields_of(event), compact=True), "")
        case _:
            return ServerSentEvent("message", json_text(event, compact=True), "")
