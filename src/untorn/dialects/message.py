"""What chat dialects share: an answer, folded by position.

Every dialect says *where* a piece belongs (choice, part, call) and what it is;
here stands once how pieces are put together: text concatenates, ids and names
are set once, halves of a surrogate pair find each other, and a call is finished
only when its dialect says so.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
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

__all__ = ["Budget", "ChoiceFold", "MessageFold", "TextFold"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HIGH: Final = re.compile("[\ud800-\udbff]")


class Budget:
    """Bytes of text that may still be folded."""

    __slots__ = ("_left", "_most")

    def __init__(self, value_bytes: int) -> None:
        self._most = self._left = value_bytes

    def spend(self, text: str) -> None:
        """Take the UTF-8 size of `text`; raises `LimitExceeded`."""
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        self._left -= size
        if self._left < 0:
            raise LimitExceeded("value_bytes", self._most)


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

    def __str__(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def add(self, text: str) -> str:
        """Append `text`; return what can be handed out of it now."""
        self._budget.spend(text)
        if self._half or not text.isascii():
            text = self._heal(text)
        if text:
            self._parts.append(text)
        return text

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
        self._parts, self._half = [], ""
        self.add(text)
        self.flush()

    def _heal(self, text: str) -> str:
        text, self._half = self._half + text, ""
        if _SURROGATE.search(text) is None:
            return text
        if _HIGH.match(text[-1]):
            text, self._half = text[:-1], text[-1]
        healed = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self.replacements += healed.count("\ufffd") - text.count("\ufffd")
        return healed


class CallFold:
    """One growing tool call."""

    __slots__ = ("arguments", "finished", "id", "index", "name")

    def __init__(self, index: int, budget: Budget) -> None:
        self.index = index
        self.id: str | None = None
        self.name: str | None = None
        self.arguments = TextFold(budget)
        self.finished = False

    def call(self) -> ToolCall:
        """Return the call as folded so far."""
        arguments = str(self.arguments)
        valid = self.finished and (not arguments or is_json(arguments))
        return ToolCall(self.id, self.name, arguments, valid, self.finished)


class ChoiceFold:
    """One of the answers to one request.

    A `part` tells texts of one kind apart whose pieces may interleave; the whole
    is the parts in the order in which they were opened.
    """

    __slots__ = ("_budget", "calls", "disposition", "finish_reason", "index", "texts")

    def __init__(self, index: int, budget: Budget) -> None:
        self.index = index
        self._budget = budget
        self.texts: dict[type[TextDelta | ReasoningDelta | RefusalDelta], dict[Any, TextFold]] = {
            TextDelta: {},
            ReasoningDelta: {},
            RefusalDelta: {},
        }
        self.calls: dict[Hashable, CallFold] = {}
        self.finish_reason: str | None = None
        self.disposition: Disposition = "unknown"

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
            parts[part] = TextFold(self._budget)
        return parts[part]

    def call(self, key: Hashable, id: str | None = None, name: str | None = None) -> CallFold:
        """Return the call at position `key`, opened if need be; id and name are set once."""
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = CallFold(len(self.calls), self._budget)
        call.id = call.id or id or None
        call.name = call.name or name or None
        return call

    def add_arguments(self, call: CallFold, fragment: str) -> Iterator[ChatEvent]:
        """Append a fragment of arguments; yield the delta, also for an empty one that opens."""
        opens = not fragment and not str(call.arguments)
        ready = call.arguments.add(fragment)
        if ready or opens:
            yield ToolCallDelta(call.index, call.id, call.name, ready, self.index)

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
        )


class MessageFold:
    """An answer: choices by index, usage, and what a dialect keeps beside them."""

    __slots__ = ("budget", "choices", "extra", "usage")

    def __init__(self, value_bytes: int) -> None:
        self.budget = Budget(value_bytes)
        self.choices: dict[int, ChoiceFold] = {}
        self.usage: Any = None
        self.extra: dict[str, Any] = {}

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
            dict(self.extra),
        )
