"""What chat dialects share: an answer, folded by position.

Every dialect says *where* a piece belongs (choice, part, call) and what it is;
here stands once how pieces are put together: text concatenates, ids and names
are set once, halves of a surrogate pair find each other, and a call is finished
only when its dialect says so.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Hashable, Iterator
from typing import Any, Final

from ..event import (
    ChatEvent,
    Choice,
    Disposition,
    Finish,
    Message,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallDone,
)
from ..faults import LimitExceeded
from ..payload import is_json

__all__ = ["Budget", "CallFold", "ChoiceFold", "Fields", "MessageFold", "TextFold"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HIGH: Final = re.compile("[\ud800-\udbff]")


class Budget:
    """Bytes of text that may still be folded."""

    __slots__ = ("_left", "_most")

    def __init__(self, value_bytes: int) -> None:
        self._most = self._left = value_bytes

    def spend(self, text: str) -> None:
        """Take the UTF-8 size of `text`; raises `LimitExceeded`, and then takes nothing."""
        left = self._left - _size(text)
        if left < 0:
            raise LimitExceeded("value_bytes", self._most)
        self._left = left

    def exchange(self, old: str, new: str) -> None:
        """Take the size of a text that is kept in the place of another; raises as `spend`."""
        kept, self._left = self._left, self._left + _size(old)
        try:
            self.spend(new)
        except LimitExceeded:
            self._left = kept
            raise


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class TextFold:
    """One growing text.

    JSON may escape a character beyond U+FFFF as two halves, and a service may
    send the halves in two deltas. The first half is held back until its partner
    comes; one whose partner never comes is U+FFFD, for a lone half breaks
    whoever encodes the text. `replacements` counts those.
    """

    __slots__ = ("_budget", "_half", "_parts", "replacements")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._parts: list[str] = []
        self._half = ""
        self.replacements = 0

    def __bool__(self) -> bool:
        return bool(self._parts or self._half)

    def __str__(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def add(self, text: str) -> str:
        """Append `text`; return what can be handed out of it now."""
        self._budget.spend(text)
        return self._append(text)

    def flush(self) -> str:
        """Give up waiting for the second half; return what that hands out."""
        if not self._half:
            return ""
        self._half = ""
        self.replacements += 1
        self._parts.append("\ufffd")
        return "\ufffd"

    def replace(self, text: str) -> None:
        """Put a snapshot in the place of all there is."""
        self._budget.exchange(str(self) + self._half, text)
        self._parts, self._half = [], ""
        self._append(text)
        self.flush()

    def agrees(self, text: str) -> bool:
        """Say whether the snapshot `text` is what is folded, a half that is held included."""
        other = TextFold(Budget(4 * len(text)))
        other.add(text)
        return str(other) == str(self) and other._half == self._half

    def _append(self, text: str) -> str:
        if self._half or not text.isascii():
            text = self._heal(text)
        if text:
            self._parts.append(text)
        return text

    def _heal(self, text: str) -> str:
        text, self._half = self._half + text, ""
        if _SURROGATE.search(text) is None:
            return text
        if _HIGH.match(text[-1]):
            text, self._half = text[:-1], text[-1]
        healed = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self.replacements += healed.count("\ufffd") - text.count("\ufffd")
        return healed


class Fields(dict[str, Any]):
    """An object folded key by key, for `extra`: texts grow, all else is set once."""

    def grow(self, key: str, text: str, budget: Budget) -> None:
        """Append `text` to the text under `key`."""
        self.setdefault(key, TextFold(budget)).add(text)

    def keep(self, key: str, value: Any, budget: Budget) -> None:
        """Set `key`, unless it has a value already or `value` says nothing."""
        if value not in (None, "") and key not in self:
            budget.spend(repr(value))
            self[key] = value

    def extend(self, key: str, values: list[Any], budget: Budget) -> None:
        """Append `values` to the list under `key`."""
        budget.spend(repr(values))
        self.setdefault(key, []).extend(values)


def _plain(value: Any) -> Any:
    """Return a value of `extra` as it is now; what the service sent is never copied."""
    if isinstance(value, TextFold):
        return str(value)
    if isinstance(value, Fields):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) if isinstance(each, Fields) else each for each in value]
    return value


class CallFold:
    """One growing tool call."""

    __slots__ = ("arguments", "finished", "id", "index", "name", "told")

    def __init__(self, index: int, budget: Budget) -> None:
        self.index = index
        self.id: str | None = None
        self.name: str | None = None
        self.arguments = TextFold(budget)
        self.finished = False
        self.told: tuple[str | None, str | None] | None = None
        """The id and name of the last delta; `None` before the first."""

    def call(self) -> ToolCall:
        """Return the call as folded so far."""
        arguments = str(self.arguments)
        valid = self.finished and (not arguments or is_json(arguments))
        return ToolCall(self.id, self.name, arguments, valid, self.finished)


class ChoiceFold:
    """One of the answers to one request.

    A `part` tells texts of one kind apart whose pieces may interleave; the whole
    is the parts in the order in which they were opened. `extra` may hold
    `Fields`, and lists that grow.
    """

    __slots__ = ("budget", "calls", "disposition", "extra", "finish_reason", "index", "texts")

    def __init__(self, index: int, budget: Budget) -> None:
        self.index = index
        self.budget = budget
        self.texts: dict[type[TextDelta | ReasoningDelta | RefusalDelta], dict[Any, TextFold]] = {
            TextDelta: {},
            ReasoningDelta: {},
            RefusalDelta: {},
        }
        self.calls: dict[Hashable, CallFold] = {}
        self.finish_reason: str | None = None
        self.disposition: Disposition = "unknown"
        self.extra = Fields()

    def add(
        self,
        kind: type[TextDelta | ReasoningDelta | RefusalDelta],
        text: str,
        part: Hashable = None,
    ) -> Iterator[ChatEvent]:
        """Append a piece of text of one kind; yield what it hands out."""
        ready = self.part(kind, part).add(text)
        if ready:
            yield kind(ready, self.index)

    def part(
        self, kind: type[TextDelta | ReasoningDelta | RefusalDelta], part: Hashable = None
    ) -> TextFold:
        """Return one text, opened if need be."""
        parts = self.texts[kind]
        if part not in parts:
            parts[part] = TextFold(self.budget)
        return parts[part]

    def call(self, key: Hashable, id: str | None = None, name: str | None = None) -> CallFold:
        """Return the call at position `key`, opened if need be; id and name are set once."""
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = CallFold(len(self.calls), self.budget)
        if id and not call.id:
            self.budget.spend(id)
            call.id = id
        if name and not call.name:
            self.budget.spend(name)
            call.name = name
        return call

    def add_arguments(self, call: CallFold, fragment: str) -> Iterator[ChatEvent]:
        """Append a fragment of arguments; yield the delta if it tells anything.

        An empty one does where it opens the call, or brings its id or name.
        """
        ready = call.arguments.add(fragment)
        if ready or call.told != (call.id, call.name):
            call.told = (call.id, call.name)
            yield ToolCallDelta(call.index, call.id, call.name, ready, self.index)

    def settle(
        self,
        kind: type[TextDelta | ReasoningDelta | RefusalDelta],
        text: str,
        part: Hashable = None,
    ) -> Generator[ChatEvent, None, bool]:
        """Compare a snapshot with the text folded; return whether it took its place.

        A snapshot that comes alone is handed out as a delta; an empty one says nothing.
        """
        if not text or (folded := self.part(kind, part)).agrees(text):
            return False
        if folded.agrees(""):
            yield from self.add(kind, text, part)
            return False
        folded.replace(text)
        return True

    def settle_arguments(self, call: CallFold, arguments: str) -> Generator[ChatEvent, None, bool]:
        """Compare a snapshot with the arguments folded; return whether it took their place."""
        if not arguments or call.arguments.agrees(arguments):
            return False
        if call.arguments.agrees(""):
            yield from self.add_arguments(call, arguments)
            return False
        call.arguments.replace(arguments)
        return True

    def finish_call(self, call: CallFold) -> Iterator[ChatEvent]:
        """The end of the call was seen; yield it, once."""
        if not call.finished:
            yield from self._flush_call(call)
            call.finished = True
            yield ToolCallDone(call.index, call.call(), self.index)

    def flush(self) -> Iterator[ChatEvent]:
        """Hand out halves whose partner will not come."""
        for kind, parts in self.texts.items():
            for text in parts.values():
                if ready := text.flush():
                    yield kind(ready, self.index)
        for call in self.calls.values():
            yield from self._flush_call(call)

    def _flush_call(self, call: CallFold) -> Iterator[ChatEvent]:
        if ready := call.arguments.flush():
            yield ToolCallDelta(call.index, call.id, call.name, ready, self.index)

    def drop(
        self, kind: type[TextDelta | ReasoningDelta | RefusalDelta], part: Hashable = None
    ) -> None:
        """Take one text back, in a protocol that says so."""
        self.texts[kind].pop(part).replace("")

    def drop_call(self, key: Hashable) -> None:
        """Take the call at position `key` back; only the latest may be, lest an index change."""
        call = self.calls.pop(key)
        call.arguments.replace("")
        self.budget.exchange((call.id or "") + (call.name or ""), "")

    def text(self, kind: type[TextDelta | ReasoningDelta | RefusalDelta]) -> str:
        """Return all text of one kind."""
        return "".join(map(str, self.texts[kind].values()))

    def choice(self) -> Choice:
        """Return the choice as folded so far."""
        return Choice(
            self.index,
            self.text(TextDelta),
            self.text(ReasoningDelta),
            self.text(RefusalDelta),
            tuple(call.call() for call in self.calls.values()),
            self.finish_reason,
            self.disposition,
            _plain(self.extra),
        )


class MessageFold:
    """An answer: choices by index, usage, and what a dialect keeps beside them."""

    __slots__ = ("budget", "choices", "extra", "usage")

    def __init__(self, value_bytes: int) -> None:
        self.budget = Budget(value_bytes)
        self.choices: dict[int, ChoiceFold] = {}
        self.usage: Any = None
        self.extra: dict[str, Any] = Fields()

    def choice(self, index: int = 0) -> ChoiceFold:
        """Return the choice at `index`, opened if need be."""
        if index not in self.choices:
            self.choices[index] = ChoiceFold(index, self.budget)
        return self.choices[index]

    def flush(self) -> Iterator[ChatEvent]:
        """Hand out what is held back in any choice."""
        for choice in self.choices.values():
            yield from choice.flush()

    def finish_calls(self) -> Iterator[ChatEvent]:
        """Finish every call that is still open."""
        for choice in self.choices.values():
            for call in choice.calls.values():
                yield from choice.finish_call(call)

    def finish(self) -> Finish:
        """Return the completion, in the words of choice 0."""
        first = self.choices.get(0)
        return Finish(first.finish_reason, first.disposition) if first else Finish(None, "unknown")

    def message(self) -> Message:
        """Return the message as folded so far."""
        choices = tuple(self.choices[index].choice() for index in sorted(self.choices))
        first = choices[0] if choices and choices[0].index == 0 else Choice()
        return Message(
            first.text,
            first.reasoning,
            first.refusal,
            first.tool_calls,
            first.finish_reason,
            first.disposition,
            self.usage,
            choices,
            {**_plain(self.extra), **first.extra},
        )
