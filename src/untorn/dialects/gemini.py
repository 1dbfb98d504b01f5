"""Google Gemini `:streamGenerateContent?alt=sse`, of AI Studio and Vertex AI.

https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent

Every event is a partial `GenerateContentResponse`. The wire has no end marker,
and older models put `finishReason: "STOP"` on every chunk: whether the answer is
whole is decided at the clean end of the transport, not before.

An error may come as an event, or as bare lines of pretty-printed JSON where a
reader of Server-Sent Events sees only unknown fields; those lines are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

from ..event import (
    ChatEvent,
    Disposition,
    Message,
    Other,
    ReasoningDelta,
    Snapshot,
    TextDelta,
    UsageUpdate,
)
from ..faults import InvalidJson, ProtocolViolation, ServiceError, shortened
from ..frame import Extra, SseFrame, Stray, Tail
from ..limits import Limits
from ..payload import parse_json
from ..reduce import Dialect, Reducer
from ..stage import Cut, Ending
from .kept import Kept, to_json
from .message import Budget, CallFold, ChoiceFold, MessageFold
from .partial_arguments import PartialArguments
from .typed import Payload, as_object, code_of, items, mapping, string

__all__ = ["Gemini"]

_DISPOSITIONS: Final[dict[str, Disposition]] = {
    "MAX_TOKENS": "truncated",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "LANGUAGE": "filtered",
}
_FAILURES: Final = frozenset({"UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"})
# Fields that are folded; all others are kept as they are.
_OF_RESPONSE: Final = frozenset({"candidates", "usageMetadata", "error"})
_OF_CANDIDATE: Final = frozenset({"content", "citationMetadata", "finishReason", "index"})
_OF_FAILURE: Final = _OF_CANDIDATE | {"finishMessage"}
# Fields that say something about a part, and not what it is.
_OF_ANY_PART: Final = frozenset({"thought", "thoughtSignature", "videoMetadata", "partMetadata"})


@final
@dataclass(frozen=True, slots=True)
class Gemini(Dialect[ChatEvent, Message]):
    """Gemini's `GenerateContentResponse` events.

    Completes (marker `"finishReason"`) at a clean end of the transport between
    two frames, if every candidate has given its `finishReason`, the last one of
    which stands; or `"promptFeedback.blockReason"` if the prompt was blocked.
    Fails on an `error`, as an event or as bare JSON lines, on a `finishReason`
    that is one (`MALFORMED_FUNCTION_CALL`, ...), and on other bare lines.

    Where `STOP` stands on every chunk, a connection that the service closes
    early but cleanly cannot be told from the end: the wire does not say.

    `extra` holds the fields of responses and candidates that are not folded
    (`groundingMetadata`, `modelVersion`, ...), the last of each; `citations`; and
    in `parts`, whole, the parts that are more than text: those with a
    `thoughtSignature`, code, images. The id of a call is `None` where the service
    gives none. Where the pieces of its arguments did not come in their order, a
    `Snapshot` with all of them takes the place of those that were handed out.
    """

    asks: ClassVar[frozenset[type[Extra]]] = frozenset({Stray, Tail})

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _GeminiReducer(limits.value_bytes)


class _GeminiReducer(Reducer[ChatEvent, Message]):
    def __init__(self, value_bytes: int) -> None:
        self._fold = MessageFold(value_bytes)
        self._kept = Kept(self._fold.extra, self._fold.budget)
        self._candidates: dict[int, _Candidate] = {}
        self._bare = _BareJson(self._fold.budget)
        self._marker = ""

    @property
    def value(self) -> Message:
        return self._fold.message()

    def feed(self, frame: SseFrame | Stray | Tail) -> Iterable[ChatEvent]:
        if isinstance(frame, tuple):
            self._bare.end()
            return self._on_response(parse_json(frame[1]))
        if isinstance(frame, Stray):
            self._bare.add(frame.line)
        else:
            self._bare.last(frame.line)
        return ()

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        yield from self._fold.flush()
        yield from self._snapshot()
        clean = isinstance(ending, Cut) and ending.clean and not self._bare.open
        choices = self._fold.choices.values()
        if clean and choices and all(choice.finish_reason for choice in choices):
            self.complete(self._marker)
            yield self._fold.finish()

    def _on_response(self, response: Any) -> Iterator[ChatEvent]:
        if isinstance(response, list) and (error := _error(response)):
            raise error
        response = as_object(response)
        for candidate in items(response, "candidates"):
            yield from self._on_candidate(candidate)
        for name, value in response.items():
            if name not in _OF_RESPONSE and self._kept.put(name, value):
                yield Other(name, value)
        if usage := mapping(response, "usageMetadata"):
            self._fold.usage = usage
            yield UsageUpdate(usage)
        self._on_block(response)
        if error := _error(response):
            raise error

    def _on_candidate(self, content: Payload) -> Iterator[ChatEvent]:
        index = content.get("index")
        number = index if type(index) is int and index > 0 else 0
        if number not in self._candidates:
            self._candidates[number] = _Candidate(self._fold.choice(number), self._fold.budget)
        if string(content, "finishReason"):
            self._marker = "finishReason"
        yield from self._candidates[number].feed(content)
        yield from self._snapshot()

    def _snapshot(self) -> Iterator[ChatEvent]:
        """Say that what was handed out does not stand any more, if something was replaced."""
        replaced = [each for each in self._candidates.values() if each.replaced]
        for candidate in replaced:
            candidate.replaced = False
        if replaced:
            yield Snapshot(self.value)

    def _on_block(self, response: Payload) -> None:
        """A blocked prompt has no candidates, and its `blockReason` is the reason for that."""
        reason = string(mapping(response, "promptFeedback"), "blockReason")
        if reason and not response.get("candidates"):
            choice = self._fold.choice()
            choice.finish_reason, choice.disposition = reason, "filtered"
            self._marker = "promptFeedback.blockReason"


class _Candidate:
    """One of the answers, and its calls that lie open, the innermost last."""

    __slots__ = ("_budget", "_choice", "_kept", "_open", "replaced")

    def __init__(self, choice: ChoiceFold, budget: Budget) -> None:
        self._choice = choice
        self._budget = budget
        self._kept = Kept(choice.extra, budget)
        self._open: list[tuple[CallFold, PartialArguments]] = []
        self.replaced = False
        """Whether arguments that were handed out do not stand any more."""

    def feed(self, candidate: Payload) -> Iterator[ChatEvent]:
        """Return the events of one piece; raises `ServiceError` if it gave up."""
        for part in items(mapping(candidate, "content"), "parts"):
            yield from self._on_part(part)
        yield from self._on_citations(mapping(candidate, "citationMetadata"))
        if reason := string(candidate, "finishReason"):
            self._choice.finish_reason = reason
        failure = _failure(reason, candidate)
        yield from self._on_rest(candidate, _OF_FAILURE if failure else _OF_CANDIDATE)
        if failure is not None:
            raise failure
        if self._choice.finish_reason:
            self._choice.disposition = self._disposition(self._choice.finish_reason)

    def _on_rest(self, candidate: Payload, folded: frozenset[str]) -> Iterator[ChatEvent]:
        for name, value in candidate.items():
            if name not in folded and self._kept.put(name, value):
                yield Other(name, value)

    def _disposition(self, reason: str) -> Disposition:
        if reason.startswith("IMAGE_"):
            return "filtered"
        if reason != "STOP":
            return _DISPOSITIONS.get(reason, "unknown")
        if self._open:  # it stopped, and yet a call is not finished
            return "unknown"
        return "tool" if self._choice.calls else "complete"

    def _on_citations(self, metadata: Payload) -> Iterator[ChatEvent]:
        citations = metadata.get("citationSources") or metadata.get("citations")
        if isinstance(citations, list):
            self._kept.append("citations", *citations)
            yield Other("citationMetadata", metadata)

    def _on_part(self, part: Payload) -> Iterator[ChatEvent]:
        call, text = part.get("functionCall"), part.get("text")
        if isinstance(call, dict):
            yield from self._on_call(call)
        elif isinstance(text, str):
            kind = ReasoningDelta if part.get("thought") is True else TextDelta
            yield from self._choice.add(kind, text)
        elif name := next((name for name in part if name not in _OF_ANY_PART), None):
            self._kept.append("parts", part)
            yield Other(name, part)
            return
        if "thoughtSignature" in part:
            self._kept.append("parts", part)
            yield Other("thoughtSignature", part)

    def _on_call(self, call: Payload) -> Iterator[ChatEvent]:
        """Fold a whole call, or a piece of one: one without a name belongs to the innermost."""
        continues = call.get("willContinue") is True
        partial = items(call, "partialArgs")
        if name := string(call, "name"):
            fold = self._choice.call(len(self._choice.calls), string(call, "id"), name)
            if not (continues or partial):
                yield from self._on_whole(fold, call.get("args"))
                return
            self._open.append((fold, PartialArguments(self._budget)))
            yield from self._choice.add_arguments(fold, "")
        if self._open:
            yield from self._on_partial(partial, continues)
        else:
            yield Other("functionCall", call)

    def _on_whole(self, call: CallFold, args: Any) -> Iterator[ChatEvent]:
        yield from self._choice.add_arguments(call, "{}" if args is None else to_json(args))
        yield from self._choice.finish_call(call)

    def _on_partial(self, partial: list[Payload], continues: bool) -> Iterator[ChatEvent]:
        call, arguments = self._open[-1]
        for argument in partial:
            yield from self._choice.add_arguments(call, arguments.add(argument))
        if not continues:
            yield from self._close(*self._open.pop())

    def _close(self, call: CallFold, arguments: PartialArguments) -> Iterator[ChatEvent]:
        if arguments.ordered:
            yield from self._choice.add_arguments(call, arguments.close())
        else:
            call.arguments.replace(arguments.whole())
            self.replaced = True
        yield from self._choice.finish_call(call)


def _failure(reason: str, candidate: Payload) -> ServiceError | None:
    """Return the fault that a finish reason is, if it is one."""
    if reason not in _FAILURES and not reason.startswith("MALFORMED_"):
        return None
    return ServiceError(string(candidate, "finishMessage") or None, type=reason, raw=candidate)


_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?')


class _BareJson:
    """Lines that are no fields, until their brackets are closed; then it is decided."""

    __slots__ = ("_budget", "_depth", "_lines")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lines: list[str] = []
        self._depth = 0

    @property
    def open(self) -> bool:
        """Whether lines came that no verdict was given on."""
        return bool(self._lines)

    def add(self, line: str) -> None:
        """Take a line; raises `ServiceError` or `ProtocolViolation` if it closes the brackets."""
        self._take(line)
        if self._depth <= 0:
            raise self._error() or self._no_field()

    def last(self, line: str) -> None:
        """Take the line that the end of the stream cut: one that closes an error is whole."""
        if line and (self.open or line.lstrip()[:1] in ("{", "[")):
            self._take(line)
            if self._depth <= 0 and (error := self._error()):
                raise error

    def end(self) -> None:
        """The next event is here; raises `ProtocolViolation` if lines lie open."""
        if self.open:
            raise self._no_field()

    def _take(self, line: str) -> None:
        self._budget.spend(line)
        self._lines.append(line)
        bare = _STRING.sub("", line)
        self._depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")

    def _error(self) -> ServiceError | None:
        try:
            return _error(parse_json("\n".join(self._lines)))
        except InvalidJson:
            return None

    def _no_field(self) -> ProtocolViolation:
        return ProtocolViolation(
            f"The line {shortened(self._lines[0])!r} is no field of Server-Sent Events and no JSON "
            "error; ask the service with alt=sse, and check what stands between it and you"
        )


def _error(payload: Any) -> ServiceError | None:
    """Return the error that a response is, an object or a list of one, if it is."""
    if isinstance(payload, list):
        return next(filter(None, map(_error, payload)), None)
    if not isinstance(payload, dict) or not (error := payload.get("error")):
        return None
    said = error if isinstance(error, dict) else {"message": error}
    return ServiceError(
        string(said, "message") or None,
        type=string(said, "status") or None,
        service_code=code_of(said),
        raw=payload,
    )
