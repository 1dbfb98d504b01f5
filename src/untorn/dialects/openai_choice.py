"""One choice of a chat completion: its deltas folded by what they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ..event import ChatEvent, Disposition, ReasoningDelta, RefusalDelta, TextDelta
from ..faults import ProtocolViolation, shortened
from ..payload import is_json
from .message import Budget, CallFold, ChoiceFold, Fields
from .typed import Payload, compact, misfit

__all__ = ["Answer", "misplaced", "objects"]

_DISPOSITIONS: Final[dict[str, Disposition]] = {
    "stop": "complete",
    "tool_calls": "tool",
    "function_call": "tool",
    "length": "truncated",
    "model_length": "truncated",  # Mistral: the end of the context window
    "content_filter": "filtered",
}


class Answer:
    """One choice as it grows."""

    __slots__ = ("_calls", "_details", "_reasons_plainly", "_refused", "fold")

    def __init__(self, fold: ChoiceFold) -> None:
        self.fold = fold
        self._calls = _Calls(fold)
        self._details: dict[Any, Fields] = {}
        self._reasons_plainly = False
        self._refused = False

    def add(self, choice: Payload) -> Iterator[ChatEvent]:
        """Fold what a chunk brings of this choice: first the delta, then the finish."""
        # Azure's filter verdicts have no delta.
        for key, value in _object(choice.get("delta"), "a delta").items():
            if value and (fold := _DELTA.get(key)):
                yield from fold(self, value, choice["delta"])
        if text := choice.get("text"):  # legacy Completions
            yield from self._content(text)
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict):
            self._add_logprobs(logprobs)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.fold.finish_reason = reason
            if not self._refused:
                self.fold.disposition = _DISPOSITIONS.get(reason, "unknown")

    def finish(self) -> Iterator[ChatEvent]:
        """The answer is complete: give up waiting, and finish the calls that are whole."""
        yield from self.fold.flush()
        for call in self.fold.calls.values():
            if self._is_whole(call):
                yield from self.fold.finish_call(call)

    def _is_whole(self, call: CallFold) -> bool:
        if call.name is None:  # it has lost its beginning, and nobody can run it
            return False
        if self.fold.disposition in ("complete", "tool"):
            return bool(call.arguments) or call not in self._calls.displaced
        # Nobody says that the calls are whole; but nothing can follow a closed object.
        return self.fold.disposition == "unknown" and _is_object(str(call.arguments))

    def _content(self, value: Any, _: Any = None) -> Iterator[ChatEvent]:
        if isinstance(value, list):  # Mistral
            for part in value:
                yield from self._part(part)
        else:
            yield from self.fold.add(TextDelta, _text(value, "the content"))

    def _part(self, part: Any) -> Iterator[ChatEvent]:
        match part:
            case str(text) | {"type": "text", "text": str(text)}:
                yield from self.fold.add(TextDelta, text)
            case {"type": "thinking", "thinking": thinking}:
                yield from self.fold.add(ReasoningDelta, _thinking(thinking))
            case _:
                self.fold.extra.extend("parts", [part], self.fold.budget)

    def _refusal(self, value: Any, _: Payload) -> Iterator[ChatEvent]:
        text = _text(value, "a refusal")
        self._refused, self.fold.disposition = True, "filtered"
        yield from self.fold.add(RefusalDelta, text)

    def _reasoning_content(self, value: Any, _: Payload) -> Iterator[ChatEvent]:
        if isinstance(value, str):
            self._reasons_plainly = True
            yield from self.fold.add(ReasoningDelta, value)

    def _reasoning(self, value: Any, delta: Payload) -> Iterator[ChatEvent]:
        if not delta.get("reasoning_content"):  # some send both, with the same text
            yield from self._reasoning_content(value, delta)

    def _reasoning_details(self, value: Any, delta: Payload) -> Iterator[ChatEvent]:
        spoken = self._reasons_plainly or delta.get("reasoning_content") or delta.get("reasoning")
        for detail in value if isinstance(value, list) else ():
            if isinstance(detail, dict):
                _merge(self._detail(detail), detail, ("text", "summary"), self.fold.budget)
                text = detail.get("text") or detail.get("summary")
                if not spoken and isinstance(text, str):
                    yield from self.fold.add(ReasoningDelta, text)

    def _detail(self, detail: Payload) -> Fields:
        """Return what is folded of a detail: by position, and kinds are never mixed."""
        key = repr((detail.get("index"), detail.get("type")))
        if key not in self._details:
            self._details[key] = Fields()
            self.fold.extra.extend("reasoning_details", [self._details[key]], self.fold.budget)
        return self._details[key]

    def _tool_calls(self, value: Any, _: Payload) -> Iterator[ChatEvent]:
        for entry in objects(value, "tool_calls"):
            function = _object(entry.get("function"), "a function")
            call = self._calls.find(
                entry.get("index"), _id(entry.get("id")), _word(function.get("name"))
            )
            yield from self.fold.add_arguments(call, _arguments(function.get("arguments")))

    def _function_call(self, value: Any, _: Payload) -> Iterator[ChatEvent]:
        function = _object(value, "a function call")
        call = self.fold.call("function_call", name=_word(function.get("name")))
        yield from self.fold.add_arguments(call, _arguments(function.get("arguments")))

    def _audio(self, value: Any, _: Payload) -> Iterable[ChatEvent]:
        if isinstance(value, dict):
            audio = self.fold.extra.setdefault("audio", Fields())
            _merge(audio, value, ("data", "transcript"), self.fold.budget)
        return ()

    def _add_logprobs(self, logprobs: Payload) -> None:
        for kind, entries in logprobs.items():
            if entries and isinstance(entries, list):
                kept = self.fold.extra.setdefault("logprobs", Fields())
                kept.extend(kind, entries, self.fold.budget)


class _Calls:
    """Which call of a choice a fragment belongs to.

    The position decides: `index`, or where there is none the last call. At a known
    position a new call begins only

    - with an index, where another id comes *with a name*: hosts that give every call
      the index 0 send both, and one whose ids rotate sends the id alone;
    - without an index, where another id comes, or a name without an id: a call goes
      on without either.

    An id that was seen at a position goes on belonging to its call there.
    """

    __slots__ = ("_at", "_known", "_last", "displaced", "fold")

    def __init__(self, fold: ChoiceFold) -> None:
        self.fold = fold
        self._at: dict[Any, CallFold] = {}
        self._known: dict[tuple[Any, str], CallFold] = {}
        self._last: CallFold | None = None
        self.displaced: set[CallFold] = set()
        """Calls whose place another took. One that has no arguments must not be run:
        perhaps the id and the name themselves came in pieces."""

    def find(self, index: Any, id: str, name: str) -> CallFold:
        """Return the call of a fragment, opened if need be, its id and name set once."""
        if not isinstance(index, (int, str, float)):
            index = None
        here = self._last if index is None else self._at.get(index)
        call = self._known.get((index, id), here)
        if call is not None and call is here and _begins(call, index, id, name):
            if index is not None:
                self.displaced.add(call)
            call = None
        if call is None:
            call = self.fold.call(len(self.fold.calls))
        self._last = call
        if index is not None:
            self._at[index] = call
        if id:
            self._known[index, id] = call
        return self.fold.call(call.index, id, name)


def _begins(call: CallFold, index: Any, id: str, name: str) -> bool:
    """Say whether a fragment at the place of `call` begins another call."""
    another = bool(id and call.id and id != call.id)
    if index is not None:
        return another and bool(name)
    return another or bool(not id and name and call.name)


def _collect(key: str) -> Callable[[Answer, Any, Payload], Iterable[ChatEvent]]:
    """Return what keeps the lists of a delta under `key` of `extra`."""

    def collect(answer: Answer, value: Any, _: Payload) -> Iterable[ChatEvent]:
        if isinstance(value, list):
            answer.fold.extra.extend(key, value, answer.fold.budget)
        return ()

    return collect


def _merge(into: Fields, piece: Payload, growing: tuple[str, ...], budget: Budget) -> None:
    for key, value in piece.items():
        if key not in growing:
            into.keep(key, value, budget)
        elif isinstance(value, str):
            into.grow(key, value, budget)


def misplaced(what: str, value: Any) -> ProtocolViolation:
    """Return the fault of something that carries the answer and has the wrong type."""
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "a string"}
    kind = kinds.get(type(value)) or shortened(json.dumps(value))
    return misfit(f"There is {kind} in the place of {what}")


def objects(value: Any, what: str) -> Iterator[Payload]:
    """Yield the objects of a list; where it or one of them is null, there is none."""
    if value is None:
        return
    if not isinstance(value, list):
        raise misplaced(what, value)
    for each in value:
        if each is not None:
            yield _object(each, f"one of {what}")


def _object(value: Any, what: str) -> Payload:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise misplaced(what, value)
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise misplaced(what, value)
    return value


def _is_object(arguments: str) -> bool:
    return arguments.lstrip().startswith("{") and is_json(arguments)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _id(value: Any) -> str:
    """Return an id as text; some services number them, and Mistral writes `"null"` for none."""
    if type(value) is int:
        return str(value)
    return "" if value == "null" else _word(value)


def _arguments(value: Any) -> str:
    """Return a fragment of arguments; some services send JSON instead of its text."""
    if value is None or isinstance(value, str):
        return value or ""
    return compact(value)


def _thinking(value: Any) -> str:
    """Return the text of a thinking part: a text, or a list of text parts."""
    if isinstance(value, list):
        return "".join(_word(part.get("text")) for part in value if isinstance(part, dict))
    return _word(value)


_DELTA: Final[dict[str, Callable[[Answer, Any, Payload], Iterable[ChatEvent]]]] = {
    "annotations": _collect("annotations"),
    "audio": Answer._audio,
    "content": Answer._content,
    "function_call": Answer._function_call,
    "images": _collect("images"),
    "reasoning": Answer._reasoning,
    "reasoning_content": Answer._reasoning_content,
    "reasoning_details": Answer._reasoning_details,
    "refusal": Answer._refusal,
    "tool_calls": Answer._tool_calls,
}
