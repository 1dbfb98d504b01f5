"""The value of a JSON text that is still growing, in time linear in the text.

A tool call's arguments arrive in fragments. `PartialJson` reads each character
once: it knows the value as far as it goes, and which parts of it are closed and
will not change any more. A closed part may be shown or checked early; only the
end of the call makes it a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from .faults import InvalidJson
from .payload import DEEPEST, parse_json

__all__ = ["PartialJson", "Path"]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the outermost value inwards; `()` is that value itself."""

_WHITE: Final = re.compile(r"[ \t\r\n]*")
_PLAIN: Final = re.compile('[^"\\\\\x00-\x1f]*')
_SCALAR: Final = re.compile(r"[-+.0-9A-Za-z]*")
_ESCAPES: Final = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))


class _Malformed(Exception):
    """The text cannot become JSON any more."""


class _Open:
    """A container that is not closed: itself, and the key or index being filled."""

    __slots__ = ("container", "key")

    def __init__(self, container: dict[str, Any] | list[Any]) -> None:
        self.container = container
        self.key: str | int | None = None


class PartialJson:
    """Feed it fragments; it never raises for what they hold.

    `malformed` says that the text has ceased to be the beginning of JSON; the
    value then stays as it was. `closed` is whether the outermost value is
    closed. The containers in `value` are live: they go on growing.
    """

    def __init__(self) -> None:
        self.closed = False
        self.malformed = False
        self._root: Any = None
        self._stack: list[_Open] = []
        self._read: Callable[[str, int], int] = self._value
        self._closed_now: list[Path] = []
        # The string or scalar being read; a string's escape so far; whether it is a key.
        self._parts: list[str] = []
        self._escape = ""
        self._is_key = False

    @property
    def value(self) -> Any:
        """The value so far, an open string with what it has; `None` before it begins.

        Costs the length of the open string, so ask when you show it.
        """
        if self._read in (self._string, self._escaped) and not self._is_key:
            text = _paired("".join(self._parts))
            self._set(text[:-1] if "\ud800" <= text[-1:] <= "\udbff" else text)
        return self._root

    def feed(self, fragment: str) -> list[Path]:
        """Read a fragment; return the paths that it closed, inner ones first."""
        self._closed_now = []
        at = 0
        try:
            while at < len(fragment) and not self.malformed:
                at = self._read(fragment, at)
        except _Malformed:
            self.malformed = True
        return self._closed_now

    def end(self) -> list[Path]:
        """Say that nothing follows: only this closes an outermost number or literal."""
        self._closed_now = []
        if self._read == self._scalar and not self._stack and not self.malformed:
            try:
                self._end_scalar()
            except _Malformed:
                self.malformed = True
        return self._closed_now

    # Each reads on from `at` and returns where it stopped; which one is next is `_read`.

    def _value(self, text: str, at: int) -> int:
        at = _after_white(text, at)
        if at == len(text):
            return at
        char = text[at]
        if char in "{[":
            self._open({} if char == "{" else [])
        elif char == '"':
            self._begin_string(is_key=False)
        elif char == "]" and self._is_empty_list():
            self._close_container("]")
        elif char.isascii() and (char.isdigit() or char in "-tfn"):
            self._parts, self._read = [], self._scalar
            return at
        else:
            raise _Malformed
        return at + 1

    def _key(self, text: str, at: int) -> int:
        at = _after_white(text, at)
        if at == len(text):
            return at
        if text[at] == "}" and not self._stack[-1].container:
            self._close_container("}")
        elif text[at] == '"':
            self._begin_string(is_key=True)
        else:
            raise _Malformed
        return at + 1

    def _colon(self, text: str, at: int) -> int:
        at = _after_white(text, at)
        if at < len(text):
            if text[at] != ":":
                raise _Malformed
            self._read = self._value
            return at + 1
        return at

    def _comma(self, text: str, at: int) -> int:
        at = _after_white(text, at)
        if at == len(text):
            return at
        if text[at] in "}]":
            self._close_container(text[at])
        elif text[at] == ",":
            top = self._stack[-1]
            if isinstance(top.container, dict):
                self._read = self._next_key
            else:
                top.key, self._read = len(top.container), self._next_value
        else:
            raise _Malformed
        return at + 1

    def _next_key(self, text: str, at: int) -> int:
        at = _after_white(text, at)
        if at < len(text):
            if text[at] != '"':
                raise _Malformed
            self._begin_string(is_key=True)
            return at + 1
        return at

    def _next_value(self, text: str, at: int) -> int:
        at = _after_white(text, at)
        if at < len(text) and text[at] == "]":
            raise _Malformed
        if at < len(text):
            self._read = self._value
        return at

    def _string(self, text: str, at: int) -> int:
        match = _PLAIN.match(text, at)
        assert match is not None
        if match.end() > at:
            self._parts.append(match.group())
        at = match.end()
        if at == len(text):
            return at
        if text[at] == '"':
            self._end_string()
        elif text[at] == "\\":
            self._escape, self._read = "", self._escaped
        else:
            raise _Malformed
        return at + 1

    def _escaped(self, text: str, at: int) -> int:
        self._escape += text[at]
        if self._escape[0] != "u":
            if self._escape not in _ESCAPES:
                raise _Malformed
            self._parts.append(_ESCAPES[self._escape])
            self._read = self._string
        elif len(self._escape) == 5:
            try:
                self._parts.append(parse_json(f'"\\{self._escape}"'))
            except InvalidJson:
                raise _Malformed from None
            self._read = self._string
        return at + 1

    def _scalar(self, text: str, at: int) -> int:
        match = _SCALAR.match(text, at)
        assert match is not None
        self._parts.append(match.group())
        if match.end() < len(text):
            self._end_scalar()
        return match.end()

    def _end(self, text: str, at: int) -> int:
        at = _after_white(text, at)
        if at < len(text):
            raise _Malformed
        return at

    def _begin_string(self, *, is_key: bool) -> None:
        self._parts, self._is_key, self._read = [], is_key, self._string

    def _end_string(self) -> None:
        text = _paired("".join(self._parts))
        if self._is_key:
            self._stack[-1].key, self._read = text, self._colon
        else:
            self._set(text)
            self._close()

    def _end_scalar(self) -> None:
        try:
            self._set(parse_json("".join(self._parts)))
        except InvalidJson:
            raise _Malformed from None
        self._close()

    def _open(self, container: dict[str, Any] | list[Any]) -> None:
        if len(self._stack) == DEEPEST:
            raise _Malformed
        self._set(container)
        top = _Open(container)
        if isinstance(container, list):
            top.key, self._read = 0, self._value
        else:
            self._read = self._key
        self._stack.append(top)

    def _is_empty_list(self) -> bool:
        return bool(self._stack) and self._stack[-1].container == []

    def _close_container(self, bracket: str) -> None:
        if (bracket == "]") != isinstance(self._stack[-1].container, list):
            raise _Malformed
        self._stack.pop()
        self._close()

    def _set(self, value: Any) -> None:
        """Put a value where the text stands."""
        if not self._stack:
            self._root = value
            return
        top = self._stack[-1]
        if isinstance(top.container, dict):
            top.container[str(top.key)] = value
        elif top.key == len(top.container):
            top.container.append(value)
        else:
            top.container[-1] = value

    def _close(self) -> None:
        """The value where the text stands is whole."""
        self._closed_now.append(tuple(top.key for top in self._stack if top.key is not None))
        self.closed = not self._stack
        self._read = self._comma if self._stack else self._end


def _after_white(text: str, at: int) -> int:
    match = _WHITE.match(text, at)
    assert match is not None
    return match.end()


def _paired(text: str) -> str:
    """Join surrogate halves that were escaped one by one."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
