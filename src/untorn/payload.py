"""The text of a payload to a JSON value, by the rules of ECMAScript's `JSON.parse`.

Where jiter is installed (the extra `json`), it reads what it can, in a third of the
time. Whatever it refuses is left to the standard library's parser, whose word is
the last: with and without it the values and the verdicts are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from json import JSONDecoder
from typing import Any, Final, NoReturn

from .faults import InvalidJson

__all__ = ["DEEPEST", "is_json", "parse_json"]

# How deep a payload may nest. The standard parser recurses, and how far it gets
# depends on the caller's own stack: without a limit of ours the verdict would.
# serde_json stops at 128; services nest less than 50.
DEEPEST: Final = 256


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _number(digits: str) -> int | float:
    """Read an integer of any length; int() refuses more than 4,300 digits."""
    return int(digits) if len(digits) <= 4300 else float(digits)


def _fast_parser() -> Callable[[bytes], Any] | None:
    try:
        from jiter import from_json
    except ImportError:
        return None
    return lambda text: from_json(text, allow_inf_nan=False)


_fast = _fast_parser()
_raw_decode: Final = JSONDecoder(parse_constant=_refuse).raw_decode
_decode: Final = JSONDecoder(parse_constant=_refuse, parse_int=_number).decode


def parse_json(text: str) -> Any:
    """Return the value of `text`; raises `InvalidJson`."""
    if len(text) > DEEPEST and _is_too_deep(text):
        raise InvalidJson(text, f"it nests deeper than {DEEPEST}")
    if _fast is not None:
        try:
            return _fast(text.encode())
        except ValueError:
            pass  # no JSON, or a lone half of a surrogate pair, or nested deeper than it goes
    return _parse_plainly(text)


def _parse_plainly(text: str) -> Any:
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
    if text.count("[") + text.count("{") <= DEEPEST:
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
            if depth > DEEPEST:
                return True
        elif char in "]}":
            depth -= 1
    return False
