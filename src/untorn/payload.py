"""The text of a payload to a JSON value, by the rules of ECMAScript's `JSON.parse`."""

from __future__ import annotations

from json import JSONDecoder
from typing import Any, Final, NoReturn

from .faults import InvalidJson

__all__ = ["is_json", "parse_json"]

# How deep a payload may nest. The standard parser recurses, and how far it gets
# depends on the caller's own stack: without a limit of ours the verdict would.
# serde_json stops at 128; services nest less than 50.
_DEEPEST: Final = 256


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _number(digits: str) -> int | float:
    """Read an integer of any length; int() refuses more than 4,300 digits."""
    return int(digits) if len(digits) <= 4300 else float(digits)


_raw_decode: Final = JSONDecoder(parse_constant=_refuse).raw_decode
_decode: Final = JSONDecoder(parse_constant=_refuse, parse_int=_number).decode


def parse_json(text: str) -> Any:
    """Return the value of `text`; raises `InvalidJson`."""
    if len(text) > _DEEPEST and _is_too_deep(text):
        raise InvalidJson(text, f"it nests deeper than {_DEEPEST}")
    try:
        value, end = _raw_decode(text)
        if end == len(text):
            return value
    except ValueError:
        pass  # white space before it, a very long integer, or no JSON
    try:
        return _decode(text)
    except ValueError as error:
        raise InvalidJson(text, str(error)) from None


def is_json(text: str) -> bool:
    """Say whether `text` is JSON."""
    try:
        parse_json(text)
    except InvalidJson:
        return False
    return True


def _is_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return False
    depth, in_string, escaped = 0, False, False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            if depth > _DEEPEST:
                return True
        elif char in "]}":
            depth -= 1
    return False
