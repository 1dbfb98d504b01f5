"""The UI message stream of the Vercel AI SDK, version 5 and later.

https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol

One message may hold several calls of the model, each a step. Texts are opened
and closed by an id that the next step may use again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from ..event import (
    ChatEvent,
    Disposition,
    Message,
    Other,
    ReasoningDelta,
    Snapshot,
    TextDelta,
)
from ..faults import shortened
from ..limits import Limits
from ..outcome import Cause
from ..payload import is_json, parse_json
from ..reduce import Dialect, Reducer
from ..stage import Cut, Ending
from .kept import Kept
from .message import CallFold
from .typed import Payload, TypedReducer, compact, gap, identifier, service_error, string

__all__ = ["AiSdkUi"]

Kind: TypeAlias = type[TextDelta | ReasoningDelta]

_DISPOSITIONS: Final[dict[str, Disposition]] = {
    "stop": "complete",
    "tool-calls": "tool",
    "length": "truncated",
    "content-filter": "filtered",
}
_TEXTS: Final[dict[str, Kind]] = {"text": TextDelta, "reasoning": ReasoningDelta}
_PARTS: Final = frozenset({"custom", "file", "reasoning-file", "source-document", "source-url"})
_TOOL_STATES: Final = frozenset(
    {
        "tool-approval-request",
        "tool-approval-response",
        "tool-output-available",
        "tool-output-denied",
        "tool-output-error",
    }
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AiSdkUi(Dialect[ChatEvent, Message]):
    """The AI SDK's UI message stream (`x-vercel-ai-ui-message-stream: v1`).

    Completes (marker `"finish"`) at the `[DONE]` behind a `finish`, or where the
    transport ends cleanly behind it; a new `start` or `start-step` takes the
    `finish` back, for a server may join streams. Fails at the first `error`,
    whatever follows, at a `finish` whose reason is `error`, and at a delta for a
    text or a call that is not open. `abort` is `Interrupted(CANCELLED)`, and a
    `[DONE]` without a `finish` an interruption: the server sends it after an
    abort and after an error too.

    The fold is not append-only: `reset-step` takes back all that came since the
    last `start-step`. What is left stands in a `Snapshot`, which replaces
    everything that was handed out before it.

    `ToolCallDone` comes at `tool-input-available`, whose input counts. Where it
    agrees with the deltas, their exact text is kept.

    `extra`: `id`, `metadata` (merged), `parts` (sources, files and data, where
    data of one type and id replaces itself and transient data is left out),
    `tools` (by call id, the latest of each kind of chunk about it), `abort`.
    """

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _UiReducer(limits.value_bytes)


class _UiReducer(TypedReducer):
    def __init__(self, value_bytes: int) -> None:
        super().__init__(value_bytes)
        self._about: Payload = {}
        self._kept = Kept(self._about, self.fold.budget)
        self._finished = False
        # Everything that a step adds is numbered, so that it can be taken back.
        self._number = 0
        self._step = 0
        self._open: dict[tuple[Kind, str], int] = {}
        self._calls: dict[str, int] = {}
        self._parts: dict[Hashable, tuple[int, Payload]] = {}
        self._tools: dict[str, dict[str, Payload]] = {}
        self._handlers: dict[str, Callable[[Payload], Iterable[ChatEvent]]] = {
            "start": self._on_start,
            "start-step": self._on_start_step,
            "finish-step": self._on_finish_step,
            "reset-step": self._on_reset_step,
            "finish": self._on_finish,
            "error": self._on_error,
            "abort": self._on_abort,
            "message-metadata": self._on_metadata,
            "tool-input-start": self._on_input_start,
            "tool-input-delta": self._on_input_delta,
            "tool-input-available": self._on_input_available,
            "tool-input-error": self._on_input_error,
        }

    def extra(self) -> Payload:
        found: Payload = {
            **self._about,
            "parts": [part for _, part in self._parts.values()],
            "tools": {id: dict(states) for id, states in self._tools.items()},
        }
        return {name: value for name, value in found.items() if value not in ({}, [], None)}

    def on_payload(self, kind: str, payload: Payload) -> Iterable[ChatEvent]:
        handler = self._handlers.get(kind)
        if handler is not None:
            return handler(payload)
        name, _, verb = kind.partition("-")
        if name in _TEXTS and verb in ("start", "delta", "end"):
            return self._on_text(name, verb, payload)
        if kind in _TOOL_STATES:
            self._keep_state(kind, payload)
        elif kind in _PARTS:
            self._keep_part(None, payload)
        elif name == "data" and verb and payload.get("transient") is not True:
            id = payload.get("id")
            self._keep_part((kind, id) if isinstance(id, str) else None, payload)
        return (Other(kind, payload),)

    # --- how it ends ----------------------------------------------------------

    def on_done(self) -> Iterable[ChatEvent]:
        return self._complete() if self._finished else super().on_done()

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        if self._finished and isinstance(ending, Cut) and ending.clean:
            return self._complete()
        return super().end(ending)

    def _complete(self) -> Iterator[ChatEvent]:
        yield from self.fold.flush()
        self.complete("finish")
        yield self.fold.finish()

    def _on_finish(self, payload: Payload) -> Iterator[ChatEvent]:
        choice, reason = self.choice, string(payload, "finishReason")
        if reason:
            choice.finish_reason = reason
            choice.disposition = _DISPOSITIONS.get(reason, "unknown")
        if reason == "error":
            raise service_error(None, payload, type=reason)
        yield from self._merge(payload.get("messageMetadata"))
        self._finished = True

    def _on_error(self, payload: Payload) -> Iterable[ChatEvent]:
        self.choice.finish_reason = "error"
        raise service_error(payload.get("errorText"), payload)

    def _on_abort(self, payload: Payload) -> Iterator[ChatEvent]:
        self.choice.finish_reason = "abort"
        self._about["abort"] = payload
        yield from self.fold.flush()
        self.interrupt(Cause.CANCELLED)

    # --- steps ----------------------------------------------------------------

    def _on_start(self, payload: Payload) -> Iterator[ChatEvent]:
        self._finished = False
        if id := string(payload, "messageId"):
            self._about["id"] = id
        yield from self._merge(payload.get("messageMetadata"))

    def _on_start_step(self, payload: Payload) -> Iterable[ChatEvent]:
        self._finished = False
        self._step = self._number
        return ()

    def _on_finish_step(self, payload: Payload) -> Iterator[ChatEvent]:
        yield from self.fold.flush()
        self._open.clear()

    def _on_reset_step(self, payload: Payload) -> Iterator[ChatEvent]:
        choice = self.choice
        for kind in _TEXTS.values():
            for number in [n for n in choice.texts[kind] if n > self._step]:
                choice.drop(kind, number)
        for id in [id for id, number in self._calls.items() if number > self._step]:
            choice.drop_call(self._calls.pop(id))
            self._tools.pop(id, None)
        self._parts = {key: part for key, part in self._parts.items() if part[0] <= self._step}
        self._open.clear()
        yield Snapshot(self.value)

    def _next(self) -> int:
        self._number += 1
        return self._number

    # --- texts ----------------------------------------------------------------

    def _on_text(self, name: str, verb: str, payload: Payload) -> Iterator[ChatEvent]:
        kind, id = _TEXTS[name], identifier(payload, "id")
        if verb == "start":
            self._open[kind, id] = self._next()
            return
        number = self._open.get((kind, id))
        if number is None:
            raise gap(f"There is no open {name} part {shortened(id)!r}")
        if verb == "delta":
            yield from self.choice.add(kind, string(payload, "delta"), number)
            return
        del self._open[kind, id]
        if ready := self.choice.part(kind, number).flush():
            yield kind(ready)

    # --- tools ----------------------------------------------------------------

    def _call(self, payload: Payload) -> CallFold:
        """Return the call that a chunk is about, opened if need be."""
        id = identifier(payload, "toolCallId")
        if id not in self._calls:
            self._calls[id] = self._next()
        return self.choice.call(self._calls[id], id, string(payload, "toolName"))

    def _on_input_start(self, payload: Payload) -> Iterator[ChatEvent]:
        yield from self.choice.add_arguments(self._call(payload), "")

    def _on_input_delta(self, payload: Payload) -> Iterator[ChatEvent]:
        id = identifier(payload, "toolCallId")
        if id not in self._calls or self._call(payload).finished:
            raise gap(f"There is no open tool call {shortened(id)!r}")
        delta = string(payload, "inputTextDelta")
        yield from self.choice.add_arguments(self._call(payload), delta)

    def _on_input_available(self, payload: Payload) -> Iterator[ChatEvent]:
        call = self._call(payload)
        yield from self._settle_input(call, payload)
        yield from self.choice.finish_call(call)

    def _on_input_error(self, payload: Payload) -> Iterator[ChatEvent]:
        # The input does not fit the tool: the call must not be run, so it is never finished.
        yield from self._settle_input(self._call(payload), payload)
        self._keep_state("tool-input-error", payload)
        yield Other("tool-input-error", payload)

    def _settle_input(self, call: CallFold, payload: Payload) -> Iterator[ChatEvent]:
        """Take the snapshot of an input, which is a value: its text is ours if none came."""
        arguments = str(call.arguments)
        if "input" not in payload or (
            is_json(arguments) and parse_json(arguments) == payload["input"]
        ):
            return
        text = compact(payload["input"])
        replaced = yield from self.choice.settle_arguments(call, text)
        if replaced:
            yield Snapshot(self.value)

    def _keep_state(self, kind: str, payload: Payload) -> None:
        states = self._tools.setdefault(identifier(payload, "toolCallId"), {})
        if kind not in states:
            self.charge()
        states[kind] = payload

    # --- beside the answer ----------------------------------------------------

    def _keep_part(self, key: Hashable, payload: Payload) -> None:
        """Keep a part in its place; one without a key has a place of its own."""
        number, _ = self._parts.get(key) or (self._next(), None)
        if key not in self._parts:
            self.charge()
        self._parts[number if key is None else key] = (number, payload)

    def _on_metadata(self, payload: Payload) -> Iterable[ChatEvent]:
        return self._merge(payload.get("messageMetadata"))

    def _merge(self, metadata: Any) -> Iterator[ChatEvent]:
        if metadata is not None:
            self._kept.put("metadata", _merged(self._about.get("metadata"), metadata))
            yield Other("message-metadata", metadata)


def _merged(old: Any, new: Any) -> Any:
    """Merge objects key by key, to the bottom; anything else is replaced."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
