"""The options of dialects: what each may be, and the sentence for what it may not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from types import NoneType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..faults import shortened
from ..limits import Limits

__all__ = ["PREDICATE", "Eof", "Option", "check_options"]

Eof: TypeAlias = Literal["interrupts", "completes"]
"""What a clean end of the transport between two frames means."""


class Option(NamedTuple):
    """What an option may be: its types, what to write, and which values of those types."""

    types: tuple[Any, ...]
    advice: str
    allows: Callable[[Any], bool] = lambda value: True


def _one_of(*words: str) -> Option:
    said = " or ".join(f'"{word}"' for word in words)
    return Option((str,), f"say {said}", words.__contains__)


def _is_one_line(id: str) -> bool:
    return not set(id) & set("\0\r\n")


PREDICATE: Final = Option((Callable, NoneType), "give a function of the value, or None")
_TYPE: Final = Option((str,), "give the type of a payload, a str")
_OPTIONS: Final[dict[str, Option]] = {
    "complete_when": Option(
        (str, Callable, NoneType), "give the type of an event, a function of the event, or None"
    ),
    "done": _one_of("optional", "required"),
    "eof": _one_of("interrupts", "completes"),
    "error": _TYPE,
    "errors": _one_of("strict", "replace"),
    "finish": _TYPE,
    "last_event_id": Option(
        (str,), "give the id of an event, a str without NUL, CR and LF", _is_one_line
    ),
    "limits": Option((Limits,), "give Limits(frame_bytes=...)"),
    "request_id": Option(
        (str, int, NoneType),
        "give the id of the request, a str or an int, or None",
        lambda value: not isinstance(value, bool),
    ),
    "sentinel": Option((str, NoneType), "give the data of an event, a str, or None"),
    "tail": _one_of("torn", "accepts"),
}


def check_options(dialect: Any, **others: Option) -> None:
    """Check the options of a dialect by their names; raises `TypeError` or `ValueError`.

    `others` are those that mean something else in this dialect than in the rest.
    """
    options = {**_OPTIONS, **others}
    for name in [field.name for field in fields(dialect) if field.name in options]:
        value, option = getattr(dialect, name), options[name]
        sentence = f"{name}={shortened(repr(value))}: {option.advice}"
        if not isinstance(value, option.types):
            raise TypeError(sentence)
        if not option.allows(value):
            raise ValueError(sentence)
