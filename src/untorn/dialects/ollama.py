"""Ollama's `/api/chat` and `/api/generate`; also `/api/pull` and `/api/create`.

https://docs.ollama.com/api/streaming: NDJSON, one object per line. The object
with `"done": true` is the last, and has the counts and times. Pulling and
creating a model tell their progress; the object with `"status": "success"` is
the last (https://docs.ollama.com/api/pull).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, final

from ..event import (
    ChatEvent,
    Disposition,
    Message,
    Other,
    ReasoningDelta,
    TextDelta,
    UsageUpdate,
)
from ..limits import Limits
from ..ndjson import LineFramer
from ..payload import parse_json
from ..reduce import Dialect, Framer, Reducer
from ..stage import Ending
from .kept import Kept, to_json
from .message import MessageFold
from .typed import Payload, as_object, items, mapping, service_error, string

__all__ = ["OllamaChat"]

_USAGE: Final = ("prompt_eval_count", "eval_count", "total_duration")
# Fields that are folded, of a line or of its message; all others are kept as they are.
# `created_at` is another one on every line, and says nothing.
_FOLDED: Final = frozenset(
    {"message", "response", "content", "thinking", "tool_calls", "images", "logprobs"}
    | {"done", "done_reason", "created_at", "error"}
)


@final
@dataclass(frozen=True, slots=True)
class OllamaChat(Dialect[ChatEvent, Message]):
    """Ollama's chat and generate streams, and the progress of pull and create.

    Completes at the line with `"done": true` (marker `"done"`); the finish reason
    is its `done_reason`. Where no line has a `message` or `response`, completes at
    the line with `"status": "success"` (marker and finish reason `"success"`).
    Fails at a line with `error`, which comes under HTTP 200 once a line was sent,
    and at one that is no JSON object. The end of the transport is no end of the
    answer.

    Tool calls arrive whole, their arguments as an object, written here as JSON.
    `usage` has the counts of tokens and `total_duration` (ns); `extra` all fields
    beside the answer (`model`, `role`, `context`, `load_duration`, `status`, ...;
    those of `usage` are among them), `images` and `logprobs`.
    """

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return LineFramer(limits.frame_bytes)

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _OllamaReducer(limits.value_bytes)


class _OllamaReducer(Reducer[ChatEvent, Message]):
    def __init__(self, value_bytes: int) -> None:
        self._fold = MessageFold(value_bytes)
        self._choice = self._fold.choice()
        self._kept = Kept(self._fold.extra, self._fold.budget)
        self._answers = False

    @property
    def value(self) -> Message:
        return self._fold.message()

    def feed(self, frame: str) -> Iterator[ChatEvent]:
        line = as_object(parse_json(frame))
        self._answers |= "message" in line or "response" in line
        yield from self._on_message(line, "response")
        yield from self._on_message(mapping(line, "message"), "content")
        yield from self._on_rest({**mapping(line, "message"), **line})
        if line.get("error"):
            raise service_error(line["error"], line)
        if line.get("done") is True:
            yield from self._on_done(line)
        elif line.get("status") == "success" and not self._answers:
            yield from self._finish("success", "success", "complete")

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        return self._fold.flush()

    def _on_message(self, message: Payload, text: str) -> Iterator[ChatEvent]:
        """Fold the fields that grow; those of `/api/generate` stand on the line itself."""
        yield from self._choice.add(ReasoningDelta, string(message, "thinking"))
        yield from self._choice.add(TextDelta, string(message, text))
        for call in items(message, "tool_calls"):
            yield from self._on_call(call)
        for name in ("images", "logprobs"):
            if isinstance(found := message.get(name), list):
                self._kept.append(name, *found)
                yield Other(name, found)

    def _on_call(self, call: Payload) -> Iterator[ChatEvent]:
        function = mapping(call, "function")
        arguments = function.get("arguments")
        written = arguments if isinstance(arguments, str) else to_json(arguments or {})
        key = len(self._choice.calls)
        fold = self._choice.call(key, string(call, "id"), string(function, "name"))
        yield from self._choice.add_arguments(fold, written)
        yield from self._choice.finish_call(fold)

    def _on_rest(self, fields: Payload) -> Iterator[ChatEvent]:
        for name, value in fields.items():
            if name not in _FOLDED and self._kept.put(name, value):
                yield Other(name, value)

    def _on_done(self, line: Payload) -> Iterator[ChatEvent]:
        if usage := {name: line[name] for name in _USAGE if name in line}:
            self._fold.usage = usage
            yield UsageUpdate(usage)
        reason = string(line, "done_reason") or None
        yield from self._finish("done", reason, self._disposition(reason))

    def _finish(
        self, marker: str, reason: str | None, disposition: Disposition
    ) -> Iterator[ChatEvent]:
        yield from self._fold.flush()
        self._choice.finish_reason, self._choice.disposition = reason, disposition
        self.complete(marker)
        yield self._fold.finish()

    def _disposition(self, reason: str | None) -> Disposition:
        if reason == "stop":
            return "tool" if self._choice.calls else "complete"
        return "truncated" if reason == "length" else "unknown"
