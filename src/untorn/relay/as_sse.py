"""What an event of any dialect is as a Server-Sent Event."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, is_dataclass
from typing import Any, Final

from ..event import JsonEvent, ServerSentEvent

__all__ = ["as_sse", "compact_json"]

_INNER_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HALF: Final = re.compile("[\ud800-\udfff]")


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
            return ServerSentEvent("message", compact_json(data), id or "")
        case str():
            return ServerSentEvent("message", event, "")
        case _ if is_dataclass(event):
            return ServerSentEvent(_name(type(event)), compact_json(_fields(event)), "")
        case _:
            return ServerSentEvent("message", compact_json(event), "")


def _name(kind: type) -> str:
    return _INNER_CAPITAL.sub("_", kind.__name__).lower()


def _fields(event: Any) -> dict[str, Any]:
    return {field.name: getattr(event, field.name) for field in fields(event)}


def compact_json(value: Any) -> str:
    """Return a value as JSON on one line, which every reader of JSON takes.

    What JSON has no word for is `null` (an infinity, as in JavaScript) or text;
    half a surrogate pair is spelled out as an escape.
    """
    try:
        text = _dumps(value)
    except ValueError:  # 1e999 is a number in JSON, and an infinity in Python
        text = _dumps(_finite(value))
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _dumps(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_default
    )


def _default(value: Any) -> Any:
    if is_dataclass(value):
        return _finite(_fields(value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value
