"""Arguments that arrive value by value, each with its path: the JSON text that they are.

Vertex AI, `streamFunctionCallArguments`: a `PartialArg` is
`{jsonPath, stringValue|numberValue|boolValue|nullValue, willContinue}`, and its
path an RFC 9535 singular query. Strings for the same path are pieces of one.

A model writes its arguments from front to back, so the text can be handed out
while it grows: moving on to another path closes what that path is not inside
of. Should a service return to something that was closed, no more text comes, and
`whole()` has it in the end.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeAlias

from ..faults import InvalidJson, shortened
from ..payload import DEEPEST, parse_json
from .kept import to_json
from .message import Budget
from .typed import Payload, gap, misfit, string

__all__ = ["PartialArguments", "segments"]

Segment: TypeAlias = str | int
"""A name in an object, or an index in a list."""

_SEGMENT: Final = re.compile(
    r"""\.([^.\[\]]+) | \[(\d{1,9})\] | \["((?:[^"\\]|\\.)*+)"\] | \['((?:[^'\\]|\\.)*+)'\]""",
    re.VERBOSE,
)
_ESCAPE_OR_QUOTE: Final = re.compile(r'\\.|"', re.DOTALL)
# What is empty inside a list has no value, so no path, and is skipped.
_MOST_SKIPPED: Final = 256


class _Growing:
    """A string of which more pieces may come."""

    __slots__ = ("pieces",)

    def __init__(self, piece: str) -> None:
        self.pieces = [piece]


class PartialArguments:
    """Writes an object as its values arrive."""

    __slots__ = ("_budget", "_in_string", "_path", "_root", "ordered")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._root: dict[str, Any] = {}
        self._path: list[Segment] = []  # of the last value; the containers on it are open
        self._in_string = False
        self.ordered = True
        """Whether all that came could be written in its order."""

    def add(self, argument: Payload) -> str:
        """Take one `PartialArg`; return what it adds to the text; raises `ProtocolViolation`."""
        path = segments(string(argument, "jsonPath"))
        value = _value(argument)
        node, depth = self._descend(path)
        _check_skipped(node, path[depth:])
        text = self._text(node, depth, path, value)
        _set(node, path[depth:], value)
        self._path, self._in_string = path, isinstance(value, str)
        if self.ordered:
            return text
        self._budget.spend(to_json([path, value]))
        return ""

    def close(self) -> str:
        """Return what ends the text."""
        return self._closing(0) or "{}"

    def whole(self) -> str:
        """Return all arguments, in the order in which their paths first came."""
        return json.dumps(self._root, ensure_ascii=False, default=lambda s: "".join(s.pieces))

    def _descend(self, path: list[Segment]) -> tuple[Any, int]:
        """Return the innermost container on the way that is there already, and its depth."""
        node: Any = self._root
        for depth, segment in enumerate(path):
            if not _fits(node, segment):
                break
            if depth == len(path) - 1 or not _has(node, segment):
                return node, depth
            node = node[segment]
        raise misfit(
            f"The path {shortened(repr(path))} of a partial argument does not fit those before it"
        )

    def _text(self, node: Any, depth: int, path: list[Segment], value: Any) -> str:
        """Return what is to be written up to the end of `value`, and see whether it can be."""
        written = to_json(value).removesuffix('"' if isinstance(value, str) else "")
        if _has(node, path[depth]):  # the value itself is there: it can only be a string growing
            self.ordered &= path == self._path and self._in_string and isinstance(value, str)
            return written[1:]
        self.ordered &= path[:depth] == self._path[:depth]
        before = self._closing(depth + 1) if self._root else "{"
        inner = (("[" if isinstance(s, int) else "{") + _step(s, 0) for s in path[depth + 1 :])
        return before + _step(path[depth], len(node)) + "".join(inner) + written

    def _closing(self, depth: int) -> str:
        """Return what ends the last value, and the open containers from `depth` on."""
        closing = ("]" if isinstance(each, int) else "}" for each in reversed(self._path[depth:]))
        return ('"' if self._in_string else "") + "".join(closing)


def segments(path: str) -> list[Segment]:
    """Return the names and indexes of a singular query; raises `ProtocolViolation`."""
    found: list[Segment] = []
    at = 1
    while at < len(path) and len(found) < DEEPEST and (match := _SEGMENT.match(path, at)):
        found.append(_segment(*match.groups()))
        at = match.end()
    if path[:1] != "$" or at < len(path):
        raise misfit(f"The path {shortened(path)!r} of a partial argument is no singular query")
    return found


def _segment(
    name: str | None, index: str | None, double: str | None, single: str | None
) -> Segment:
    if index is not None:
        return int(index)
    if name is not None:
        return name
    quoted = double if double is not None else _ESCAPE_OR_QUOTE.sub(_requoted, single or "")
    try:
        return str(parse_json(f'"{quoted}"'))
    except InvalidJson:
        raise misfit(f"The name {shortened(quoted)!r} in a path is not well formed") from None


def _requoted(match: re.Match[str]) -> str:
    r"""Return what stands for `\'` and `"` between double quotes."""
    return {r"\'": "'", '"': r"\""}.get(match[0], match[0])


def _value(argument: Payload) -> str | int | float | bool | None:
    match argument:
        case {"stringValue": str(text)}:
            return text
        case {"boolValue": bool(flag)}:
            return flag
        case {"numberValue": (int() | float()) as number} if not isinstance(number, bool):
            return number
        case {"nullValue": _}:
            return None
    raise misfit("A partial argument has no value of a kind we know")


def _fits(node: Any, segment: Segment) -> bool:
    return isinstance(node, list if isinstance(segment, int) else dict)


def _has(node: Any, segment: Segment) -> bool:
    return segment < len(node) if isinstance(segment, int) else segment in node


def _step(segment: Segment, size: int) -> str:
    """Return what stands before an entry of a container that has `size` others."""
    comma = ", " if size else ""
    if isinstance(segment, int):
        return comma + "null, " * (segment - size)
    return f"{comma}{to_json(segment)}: "


def _check_skipped(node: Any, path: list[Segment]) -> None:
    sizes = [len(node), *[0] * (len(path) - 1)]
    for segment, size in zip(path, sizes, strict=True):
        if isinstance(segment, int) and segment - size > _MOST_SKIPPED:
            raise gap(f"A partial argument stands at {segment} of a list that has {size} before it")


def _set(node: Any, path: list[Segment], value: Any) -> None:
    """Put `value` at `path`, as seen from `node`."""
    first = path[0]
    if isinstance(value, str) and _has(node, first) and isinstance(node[first], _Growing):
        node[first].pieces.append(value)
        return
    value = _Growing(value) if isinstance(value, str) else value
    for segment in reversed(path[1:]):
        value = [None] * segment + [value] if isinstance(segment, int) else {segment: value}
    if isinstance(first, int):
        node += [None] * (first + 1 - len(node))
    node[first] = value
