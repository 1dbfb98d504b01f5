"""Cohere `/v2/chat`.

https://docs.cohere.com/v2/docs/streaming
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from ..event import (
    ChatEvent,
    Disposition,
    Message,
    Other,
    ReasoningDelta,
    TextDelta,
    UsageUpdate,
)
from ..faults import shortened
from ..limits import Limits
from ..reduce import Dialect, Reducer
from .message import CallFold, TextFold
from .typed import Payload, TypedReducer, gap, mapping, position, service_error, string

__all__ = ["CohereChat"]

_DISPOSITIONS: Final[dict[str, Disposition]] = {
    "COMPLETE": "complete",
    "STOP_SEQUENCE": "complete",
    "TOOL_CALL": "tool",
    "MAX_TOKENS": "truncated",
}
_FAILURES: Final = ("ERROR", "TIMEOUT")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CohereChat(Dialect[ChatEvent, Message]):
    """Cohere chat, version 2.

    Completes at `message-end` (the marker). Fails where that carries an `error`,
    or says `ERROR` or `TIMEOUT`, and at a delta or an end of a call that did not begin.
    The end of the transport, and a `[DONE]`, before it are interruptions.

    `ToolCallDone` comes at `tool-call-end`. What the service says aloud before
    it calls tools is its `tool_plan`, which it keeps apart from its thinking: the
    pieces pass through as `Other("tool-plan-delta", ...)`, halves of a character
    put together.

    `extra`: `id`, `tool_plan`, `citations` (by their index), `logprobs`.
    """

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _CohereReducer(limits.value_bytes)


class _CohereReducer(TypedReducer):
    def __init__(self, value_bytes: int) -> None:
        super().__init__(value_bytes)
        self._id = ""
        self._tool_plan = TextFold(self.fold.budget)
        self._citations: dict[int, Any] = {}
        self._logprobs: list[Any] = []
        self._handlers: dict[str, Callable[[Payload], Iterable[ChatEvent]]] = {
            "message-start": self._on_message_start,
            "content-start": self._on_content,
            "content-delta": self._on_content,
            "content-end": self._on_content_end,
            "tool-plan-delta": self._on_tool_plan,
            "tool-call-start": self._on_tool_call_start,
            "tool-call-delta": self._on_tool_call_delta,
            "tool-call-end": self._on_tool_call_end,
            "citation-start": self._on_citation,
            "message-end": self._on_message_end,
        }

    def extra(self) -> Payload:
        found: Payload = {
            "id": self._id,
            "tool_plan": str(self._tool_plan),
            "citations": [self._citations[index] for index in sorted(self._citations)],
            "logprobs": list(self._logprobs),
        }
        return {name: value for name, value in found.items() if value}

    def flush(self) -> Iterator[ChatEvent]:
        if ready := self._tool_plan.flush():
            yield _plan_delta({"type": "tool-plan-delta"}, ready)
        yield from super().flush()

    def on_payload(self, kind: str, payload: Payload) -> Iterable[ChatEvent]:
        handler = self._handlers.get(kind)
        if handler is not None:
            return handler(payload)
        if kind == "error" or payload.get("error"):
            raise service_error(payload.get("error") or payload, payload)
        return (Other(kind, payload),)

    def _on_message_start(self, payload: Payload) -> Iterable[ChatEvent]:
        self._id = self._id or string(payload, "id")
        return ()

    def _on_content(self, payload: Payload) -> Iterator[ChatEvent]:
        index, content = position(payload, "index"), mapping(_message(payload), "content")
        if text := string(content, "thinking"):
            yield from self.choice.add(ReasoningDelta, text, index)
        if text := string(content, "text"):
            yield from self.choice.add(TextDelta, text, index)
        if (logprobs := payload.get("logprobs")) is not None:
            self.charge()
            self._logprobs.append(logprobs)
            yield Other("logprobs", logprobs)

    def _on_content_end(self, payload: Payload) -> Iterator[ChatEvent]:
        index = position(payload, "index")
        for kind in (ReasoningDelta, TextDelta):
            text = self.choice.texts[kind].get(index)
            if text is not None and (ready := text.flush()):
                yield kind(ready)

    def _on_tool_plan(self, payload: Payload) -> Iterator[ChatEvent]:
        said = string(_message(payload), "tool_plan")
        ready = self._tool_plan.add(said)
        if ready == said:
            yield Other("tool-plan-delta", payload)
        elif ready:
            yield _plan_delta(payload, ready)

    def _on_tool_call_start(self, payload: Payload) -> Iterator[ChatEvent]:
        said = _call(payload)
        name = string(mapping(said, "function"), "name")
        self.choice.call(position(payload, "index"), string(said, "id"), name)
        yield from self._on_tool_call_delta(payload)

    def _on_tool_call_delta(self, payload: Payload) -> Iterator[ChatEvent]:
        arguments = string(mapping(_call(payload), "function"), "arguments")
        call = self._call(payload)
        if call.finished:
            raise gap(f"The call {call.index} has ended")
        yield from self.choice.add_arguments(call, arguments)

    def _on_tool_call_end(self, payload: Payload) -> Iterator[ChatEvent]:
        yield from self.choice.finish_call(self._call(payload))

    def _call(self, payload: Payload) -> CallFold:
        index = position(payload, "index")
        if index not in self.choice.calls:
            raise gap(f"The call {shortened(repr(index))} has not begun")
        return self.choice.call(index)

    def _on_citation(self, payload: Payload) -> Iterator[ChatEvent]:
        self.charge()
        self._citations[position(payload, "index")] = _message(payload).get("citations")
        yield Other("citation-start", payload)

    def _on_message_end(self, payload: Payload) -> Iterator[ChatEvent]:
        delta = mapping(payload, "delta")
        if (usage := delta.get("usage")) is not None:
            self.fold.usage = usage
            yield UsageUpdate(usage)
        reason, error = string(delta, "finish_reason"), delta.get("error")
        self.choice.finish_reason = reason or None
        if error or reason.startswith(_FAILURES):
            raise service_error(error, payload, type=reason)
        if reason == "TOOL_CALL":
            yield from self.fold.finish_calls()
        yield from self.flush()
        self.choice.disposition = _DISPOSITIONS.get(reason, "unknown")
        self.complete("message-end")
        yield self.fold.finish()


def _message(payload: Payload) -> Payload:
    return mapping(mapping(payload, "delta"), "message")


def _plan_delta(payload: Payload, plan: str) -> Other:
    """Return the event of a piece of the plan that is not what the service wrote."""
    message = {**_message(payload), "tool_plan": plan}
    delta = {**mapping(payload, "delta"), "message": message}
    return Other("tool-plan-delta", {**payload, "delta": delta})


def _call(payload: Payload) -> Payload:
    """Return the call: one object, in spite of the name of its field."""
    return mapping(_message(payload), "tool_calls")
