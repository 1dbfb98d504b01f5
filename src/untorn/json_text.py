"""Events, and whatever is in them, as JSON that every program can read."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, is_dataclass
from typing import Any, Final

__all__ = ["event_name", "fields_of", "json_text"]

_INNER_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HALF: Final = re.compile("[\ud800-\udfff]")
_WIDE: Final = (", ", ": ")
_COMPACT: Final = (",", ":")


def event_name(event: object) -> str:
    """Return the name of an event's class in snake case: `text_delta` for a `TextDelta`."""
    return _INNER_CAPITAL.sub("_", type(event).__name__).lower()


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, under the names they have in Python."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def json_text(value: Any, *, compact: bool = False) -> str:
    """Return a value as JSON on one line.

    What JSON has no word for is `null` (an infinity, as in JavaScript) or text;
    half a surrogate pair is spelled out as an escape.
    """
    separators = _COMPACT if compact else _WIDE
    try:
        text = _dumps(value, separators)
    except ValueError:  # 1e999 is a number in JSON, and an infinity in Python
        text = _dumps(_finite(value), separators)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _dumps(value: Any, separators: tuple[str, str]) -> str:
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=separators, default=_default
    )


def _default(value: Any) -> Any:
    """Return what stands for a value that JSON has no word for."""
    if is_dataclass(value):
        return _finite(fields_of(value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


def _finite(value: Any) -> Any:
    """Return the value with null for every number that JSON cannot write."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value
