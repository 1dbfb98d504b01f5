"""OpenAI Assistants (v2) runs.

https://platform.openai.com/docs/api-reference/assistants-streaming/events:
Server-Sent Events of types `thread.*`; the last is `done`, its data `[DONE]`.
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
    Snapshot,
    TextDelta,
    UsageUpdate,
)
from ..faults import InvalidJson, ServiceError
from ..frame import SseFrame
from ..limits import Limits
from ..payload import parse_json
from ..reduce import Dialect, Reducer
from ..stage import Ending
from .kept import Kept
from .message import MessageFold
from .typed import Payload, as_object, gap, items, mapping, position, service_error, string

__all__ = ["OpenAIAssistants"]

# Such a run is no event: what it says is in the fault.
_FAILS: Final = frozenset(
    f"thread.run.{status}" for status in ("failed", "expired", "cancelled", "incomplete")
)
_DISPOSITIONS: Final[dict[str, Disposition]] = {"completed": "complete", "requires_action": "tool"}


@final
@dataclass(frozen=True, slots=True)
class OpenAIAssistants(Dialect[ChatEvent, Message]):
    """A run of OpenAI Assistants.

    Completes at `event: done` (marker `"[DONE]"`); the finish reason is the status
    of the run, `completed` or `requires_action`. Fails at `thread.run.failed`,
    `.expired`, `.cancelled`, `.incomplete` and at `error`.

    Calls of functions are finished by `thread.run.requires_action`; tools that the
    service runs itself, and all other events, are handed out as `Other`, a
    completed message as `Snapshot`. `text` is that of all messages, `usage` that
    of the run; `extra` has the `run` and the completed `messages` by id.
    """

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _AssistantsReducer(limits.value_bytes)


class _AssistantsReducer(Reducer[ChatEvent, Message]):
    def __init__(self, value_bytes: int) -> None:
        self._fold = MessageFold(value_bytes)
        self._choice = self._fold.choice()
        self._run: dict[str, Any] = {}
        self._kept = Kept(self._run, self._fold.budget)
        self._messages: dict[str, Any] = {}
        self._kept_messages = Kept(self._messages, self._fold.budget)
        self._handlers: dict[str, Callable[[Payload], Iterator[ChatEvent]]] = {
            "thread.message.delta": self._on_message_delta,
            "thread.message.completed": self._on_message,
            "thread.message.incomplete": self._on_message,
            "thread.run.step.delta": self._on_step_delta,
            "thread.run.requires_action": self._on_action,
        }

    @property
    def value(self) -> Message:
        self._fold.extra = {**self._run, "messages": dict(self._messages)}
        return self._fold.message()

    def feed(self, frame: SseFrame) -> Iterator[ChatEvent]:
        event, data, _, _ = frame
        if event == "done" or data == "[DONE]":
            yield from self._finish()
            return
        if event == "error":
            raise _error(data)
        payload = as_object(parse_json(data))
        if event in self._handlers:
            yield from self._handlers[event](payload)
        elif event not in _FAILS:
            yield Other(event, payload)
        if event.startswith("thread.run.") and not event.startswith("thread.run.step."):
            yield from self._on_run(event, payload)

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        return self._fold.flush()

    def _finish(self) -> Iterator[ChatEvent]:
        yield from self._fold.flush()
        self.complete("[DONE]")
        yield self._fold.finish()

    def _on_message_delta(self, payload: Payload) -> Iterator[ChatEvent]:
        id = string(payload, "id")
        for content in items(mapping(payload, "delta"), "content"):
            place = (id, position(content, "index"))
            text = mapping(content, "text")
            yield from self._choice.add(TextDelta, string(text, "value"), place)
            if text.get("annotations") or content.get("type") not in (None, "text"):
                yield Other("thread.message.delta", payload)

    def _on_message(self, message: Payload) -> Iterator[ChatEvent]:
        """Put a whole message in the place of its pieces."""
        id = string(message, "id")
        self._kept_messages.put(id, message)
        for index, content in enumerate(items(message, "content")):
            if text := string(mapping(content, "text"), "value"):
                self._choice.part(TextDelta, (id, index)).replace(text)
        yield Snapshot(message)

    def _on_step_delta(self, payload: Payload) -> Iterator[ChatEvent]:
        details = mapping(mapping(payload, "delta"), "step_details")
        calls = items(details, "tool_calls")
        for call in calls:
            if call.get("type") == "function":
                function = mapping(call, "function")
                place = (string(payload, "id"), position(call, "index"))
                fold = self._choice.call(place, string(call, "id"), string(function, "name"))
                if fold.finished:
                    raise gap("A piece of a call came after the end of the call")
                yield from self._choice.add_arguments(fold, string(function, "arguments"))
        if any(call.get("type") != "function" for call in calls):
            yield Other("thread.run.step.delta", payload)

    def _on_action(self, run: Payload) -> Iterator[ChatEvent]:
        """The run waits for the results of its calls, which are whole now."""
        action = mapping(mapping(run, "required_action"), "submit_tool_outputs")
        known = {call.id: call for call in self._choice.calls.values()}
        for call in items(action, "tool_calls"):
            id, function = string(call, "id"), mapping(call, "function")
            fold = known.get(id) or self._choice.call(id, id, string(function, "name"))
            yield from self._choice.settle_arguments(fold, string(function, "arguments"))
            yield from self._choice.finish_call(fold)

    def _on_run(self, event: str, run: Payload) -> Iterator[ChatEvent]:
        if usage := mapping(run, "usage"):
            self._fold.usage = usage
            yield UsageUpdate(usage)
        status = event.removeprefix("thread.run.")
        if event in _FAILS:
            raise _failure(status, run)
        self._kept.put("run", run)
        if status in _DISPOSITIONS:
            self._choice.finish_reason = status
            self._choice.disposition = _DISPOSITIONS[status]


def _failure(status: str, run: Payload) -> ServiceError:
    error = mapping(run, "last_error") or mapping(run, "incomplete_details")
    return ServiceError(
        string(error, "message") or string(error, "reason") or None,
        type=string(error, "code") or status,
        raw=run,
    )


def _error(data: str) -> ServiceError:
    try:
        said = parse_json(data)
    except InvalidJson:
        said = data
    raw = said if isinstance(said, dict) else {"error": said}
    return service_error(raw.get("error", raw), raw)
