"""The text of an event: one line of JSON by which events of any type can be compared.

Two events are the same if their texts are: the type's name and every public attribute count,
`__eq__` does not, so that objects without one are compared by what they hold.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, cast

__all__ = ["event_text", "json_text", "plain", "without_address"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

# Made once: json.dumps would make one for each of the thousands of events of an assertion.
ENCODER = json.JSONEncoder(sort_keys=True, allow_nan=False)

SCALARS = (str, int, float, bytes, bytearray, memoryview, Enum)

AS_IT_IS = frozenset({str, int, bool, type(None)})

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""The address in a default `repr`: it differs from run to run and says nothing."""


def event_text(event: object) -> str:
    """Return `event` as one line of JSON, ASCII only, with sorted keys.

    Names that begin with `$` are ours: `$type` (the class of an object), `$bytes` (as
    Latin-1), `$float` (NaN and the infinities), `$enum`, `$set`, `$items` (a mapping
    whose keys are not all plain strings), `$repr` (a value without public attributes) and
    `$cycle` (an object that contains itself).
    """
    return json_text(plain(event))


def json_text(value: Json) -> str:
    """Return `value` as one line of JSON, ASCII only, with sorted keys."""
    return ENCODER.encode(value)


def plain(value: object, above: tuple[int, ...] = ()) -> Json:
    """Return `value` as JSON can hold it; `above` are the ids of the objects around it."""
    if type(value) in AS_IT_IS:  # most are: this is for speed alone
        return cast("Json", value)
    if id(value) in above:
        return {"$cycle": type(value).__name__}
    return _scalar(value) if _is_scalar(value) else _compound(value, (*above, id(value)))


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, SCALARS)


def _scalar(value: Any) -> Json:
    match value:
        case Enum():
            return {"$enum": f"{type(value).__name__}.{value.name}"}
        case bytes() | bytearray() | memoryview():
            return {"$bytes": bytes(value).decode("latin-1")}
        case float() if not math.isfinite(value):
            return {"$float": str(float(value))}
        case _:
            return cast("Json", value)


def _compound(value: Any, above: tuple[int, ...]) -> Json:
    match value:
        case Mapping():
            return _mapping(value, above)
        case tuple() if names := getattr(value, "_fields", None):
            return _named(value, dict(zip(names, value, strict=True)), above)
        case list() | tuple():
            return [plain(item, above) for item in value]
        case AbstractSet():
            return {"$set": sorted((plain(item, above) for item in value), key=json_text)}
        case BaseException():
            return {"$type": type(value).__name__, "message": without_address(str(value))}
        case _:
            return _object(value, above)


def _mapping(value: Mapping[Any, Any], above: tuple[int, ...]) -> Json:
    if all(type(key) is str and not key.startswith("$") for key in value):
        return {key: plain(item, above) for key, item in value.items()}
    return {"$items": [[plain(key, above), plain(item, above)] for key, item in value.items()]}


def _object(value: Any, above: tuple[int, ...]) -> Json:
    found = dict(_attributes(value))
    if not found and not is_dataclass(value) and repr(value) != object.__repr__(value):
        return {"$type": type(value).__name__, "$repr": without_address(repr(value))}
    return _named(value, found, above)


def _attributes(value: object) -> Iterator[tuple[str, Any]]:
    kind: Any = type(value)
    for name in (*_declared(kind), *getattr(value, "__dict__", ())):
        if not name.startswith("_") and hasattr(value, name):
            yield name, getattr(value, name)


@cache
def _declared(kind: type) -> tuple[str, ...]:
    """Return the names of a class's fields and slots; what is in `__dict__` is not declared."""
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else []
    for owner in kind.__mro__:
        slots = owner.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return tuple(dict.fromkeys(names))


def _named(value: object, attributes: Mapping[str, Any], above: tuple[int, ...]) -> Json:
    held = {name: plain(item, above) for name, item in attributes.items()}
    return {"$type": type(value).__name__, **held}


def without_address(text: str) -> str:
    """Return `text` without the memory addresses of default `repr`s."""
    return ADDRESS.sub("", text)
