"""What an event of any dialect is as a Server-Sent Event."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from ..event import JsonEvent, ServerSentEvent
from ..faults import StreamFault
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

    An error in any of these is its code, or the name of its class: what it says is for
    whoever pays for the upstream, and not for every browser.
    """
    match event:
        case ServerSentEvent():
            return event
        case JsonEvent(id, data):
            return ServerSentEvent("message", json_text(data, compact=True), id or "")
        case str():
            return ServerSentEvent("message", event, "")
        case _ if is_dataclass(event):
            return ServerSentEvent(
                event_name(event), json_text(_shown(fields_of(event)), compact=True), ""
            )
        case _:
            return ServerSentEvent("message", json_text(_shown(event), compact=True), "")


def _shown(value: Any) -> Any:
    """Return a value without a word of the errors in it."""
    match value:
        case StreamFault():
            return value.code
        case BaseException():
            return type(value).__name__
        case dict():
            return {key: _shown(item) for key, item in value.items()}
        case list() | tuple():
            return list(map(_shown, value))
        case _ if is_dataclass(value):
            return _shown(fields_of(value))
        case _:
            return value
