"""Anthropic Messages.

https://docs.anthropic.com/en/docs/build-with-claude/streaming

An answer is a list of blocks. One is open at an `index` from its start to its
stop, and a delta belongs to the open block of its index.
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
from ..faults import ProtocolViolation, shortened
from ..limits import Limits
from ..payload import is_json, parse_json
from ..reduce import Dialect, Reducer
from ..stage import Cut, Ending
from .kept import Kept
from .message import CallFold, TextFold
from .options import Eof, check_options
from .typed import (
    Payload,
    TypedReducer,
    compact,
    gap,
    items,
    mapping,
    position,
    service_error,
    string,
)

__all__ = ["AnthropicMessages"]

_DISPOSITIONS: Final[dict[str, Disposition]] = {
    "end_turn": "complete",
    "stop_sequence": "complete",
    "tool_use": "tool",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "filtered",
    "pause_turn": "paused",
    "compaction": "paused",
}
# The texts of blocks: the delta that grows one, the field it grows, and what it is to us.
_TEXTS: Final[dict[str, tuple[str, type[TextDelta | ReasoningDelta]]]] = {
    "text_delta": ("text", TextDelta),
    "thinking_delta": ("thinking", ReasoningDelta),
}
# What is said of a message beside its blocks.
_ABOUT: Final = ("id", "model", "role", "container", "context_management")
_STOP: Final = ("stop_sequence", "stop_details", "container")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicMessages(Dialect[ChatEvent, Message]):
    """Anthropic `/v1/messages`.

    Completes at `message_stop` (the marker); `finish_reason` is the last
    `stop_reason`. Fails at `error`, at a delta for a block that is not open, and
    at a second `message_start` with another id. The end of the transport before
    the marker is an interruption; a `stop_reason` that came stands in `partial`.

    eof
        `"completes"`: a clean end of the transport, or a `[DONE]`, after a
        `stop_reason` completes, with the marker `"stop_reason"`. For gateways
        that leave `message_stop` out.

    `ToolCallDone` comes at `content_block_stop`. A call whose block the service
    left open is finished at the marker if the `stop_reason` is `tool_use`, and
    never otherwise. A call without arguments in a message that a limit truncates
    may have had its arguments cut off: though its block was closed, and
    `ToolCallDone` handed out, it is neither `finished` nor `valid` in the message.
    Tools the service runs itself (`server_tool_use`,
    `mcp_tool_use`) are calls too; `extra["blocks"]` tells them apart.

    `extra`: `blocks` (all, in order, with signatures, citations, results; what
    the next request has to send back), `id`, `model`, `role`, `stop_sequence`,
    `stop_details`, `container`, `context_management`.
    """

    eof: Eof = "interrupts"

    def __post_init__(self) -> None:
        check_options(self)

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _MessagesReducer(limits.value_bytes, self.eof == "completes")


class _Block:
    """One block: as it was opened, and what its deltas made of it."""

    __slots__ = ("call", "citations", "fields", "place", "texts")

    def __init__(self, place: int, opened: Payload) -> None:
        self.place = place
        self.fields = opened
        self.texts: dict[str, TextFold] = {}
        self.citations: list[Any] = []
        self.call: CallFold | None = None

    def set(self, fields: Payload) -> None:
        """Replace fields; what the service sent is not changed, for it was handed out."""
        self.fields = {**self.fields, **fields}

    def snapshot(self) -> Payload:
        """Return the block in the service's own words."""
        texts = {field: str(text) for field, text in self.texts.items()}
        if self.citations:
            return {**self.fields, **texts, "citations": list(self.citations)}
        return {**self.fields, **texts}


class _MessagesReducer(TypedReducer):
    def __init__(self, value_bytes: int, stop_reason_completes: bool) -> None:
        super().__init__(value_bytes)
        self._stop_reason_completes = stop_reason_completes
        self._about: Payload = {}
        self._usage: Payload = {}
        self._kept_usage = Kept(self._usage, self.fold.budget)
        self._blocks: list[_Block] = []
        self._open: dict[int, _Block] = {}
        self._handlers: dict[str, Callable[[Payload], Iterable[ChatEvent]]] = {
            "message_start": self._on_message_start,
            "content_block_start": self._on_block_start,
            "content_block_delta": self._on_block_delta,
            "content_block_stop": self._on_block_stop,
            "message_delta": self._on_message_delta,
            "message_stop": self._on_message_stop,
            "error": self._on_error,
        }

    def extra(self) -> Payload:
        blocks = [block.snapshot() for block in self._blocks]
        return {**self._about, "blocks": blocks} if blocks else dict(self._about)

    def on_payload(self, kind: str, payload: Payload) -> Iterable[ChatEvent]:
        handler = self._handlers.get(kind)
        if handler is not None:
            return handler(payload)
        if payload.get("error"):
            return self._on_error(payload)
        return (Other(kind, payload),)

    def on_done(self) -> Iterable[ChatEvent]:
        return self._complete("stop_reason") if self._may_complete else super().on_done()

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        if self._may_complete and isinstance(ending, Cut) and ending.clean:
            return self._complete("stop_reason")
        return super().end(ending)

    @property
    def _may_complete(self) -> bool:
        return self._stop_reason_completes and self.choice.finish_reason is not None

    # --- the message ----------------------------------------------------------

    def _on_message_start(self, payload: Payload) -> Iterator[ChatEvent]:
        message = mapping(payload, "message")
        known, id = self._about.get("id"), string(message, "id")
        if known is not None:
            if id and id != known:
                other, first = shortened(repr(id)), shortened(repr(known))
                raise ProtocolViolation(
                    f"The message {other} starts while {first} is open; "
                    "find the hop between the service and you that joins two answers"
                )
            return  # sent twice
        self._tell(message, _ABOUT)
        blocks = items(message, "content")
        if blocks:
            self.charge()
        for index, block in enumerate(blocks):
            yield from self._start(index, block)
            yield from self._stop(index)
        yield from self._stopped(message)

    def _on_message_delta(self, payload: Payload) -> Iterator[ChatEvent]:
        delta = mapping(payload, "delta")
        self._tell(delta, _STOP)
        self._tell(payload, ("context_management",))
        yield from self._stopped({**delta, "usage": payload.get("usage")})

    def _tell(self, of: Payload, names: Iterable[str]) -> None:
        """Keep what is said about the message; the last word that says anything stands."""
        said = {name: of[name] for name in names if of.get(name) is not None}
        self._about = {**self._about, **said}

    def _stopped(self, of: Payload) -> Iterator[ChatEvent]:
        """Take the reason and the usage; the counts are of all so far, and never added."""
        if reason := string(of, "stop_reason"):
            self.choice.finish_reason = reason
            self.choice.disposition = _DISPOSITIONS.get(reason, "unknown")
            self._doubt_empty_calls()
        counts = {name: count for name, count in mapping(of, "usage").items() if count is not None}
        for name, count in counts.items():
            self._kept_usage.put(name, count)
        if counts:
            self.fold.usage = dict(self._usage)
            yield UsageUpdate(self.fold.usage)

    def _doubt_empty_calls(self) -> None:
        """Take it back that calls are finished whose arguments a limit may have cut off."""
        if self.choice.disposition == "truncated":
            for call in self.choice.calls.values():
                call.finished = call.finished and bool(call.arguments)

    def _on_message_stop(self, payload: Payload) -> Iterable[ChatEvent]:
        return self._complete("message_stop")

    def _complete(self, marker: str) -> Iterator[ChatEvent]:
        if self.choice.finish_reason == "tool_use":
            for index in tuple(self._open):
                yield from self._stop(index)
        self._doubt_empty_calls()  # a block may have been closed behind the reason
        yield from self.fold.flush()
        self.complete(marker)
        yield self.fold.finish()

    def _on_error(self, payload: Payload) -> Iterable[ChatEvent]:
        # Documented as an object of its own; some gateways send it flat.
        raise service_error(payload.get("error") or payload, payload)

    # --- its blocks -----------------------------------------------------------

    def _on_block_start(self, payload: Payload) -> Iterator[ChatEvent]:
        block = mapping(payload, "content_block")
        self.charge()
        yield from self._start(position(payload, "index"), block)
        if string(block, "type") not in ("text", "thinking") and not _is_call(block):
            yield Other("content_block_start", payload)

    def _start(self, index: int, opened: Payload) -> Iterator[ChatEvent]:
        block = self._open[index] = _Block(len(self._blocks), opened)
        self._blocks.append(block)
        for field, kind in _TEXTS.values():
            if text := string(opened, field):
                yield from self._grow(block, field, kind, text)
        if _is_call(opened):
            id, name = string(opened, "id"), string(opened, "name")
            block.call = self.choice.call(block.place, id, name)
            yield from self.choice.add_arguments(block.call, "")

    def _grow(
        self, block: _Block, field: str, kind: type[TextDelta | ReasoningDelta], text: str
    ) -> Iterator[ChatEvent]:
        block.texts[field] = self.choice.part(kind, block.place)
        yield from self.choice.add(kind, text, block.place)

    def _on_block_delta(self, payload: Payload) -> Iterator[ChatEvent]:
        block, delta = self._opened(payload), mapping(payload, "delta")
        kind = string(delta, "type")
        if kind in _TEXTS:
            field, event = _TEXTS[kind]
            if text := string(delta, field):
                yield from self._grow(block, field, event, text)
        elif kind == "input_json_delta" and block.call is not None:
            yield from self.choice.add_arguments(block.call, string(delta, "partial_json"))
        else:
            self._set(block, kind, delta)
            yield Other(kind or "content_block_delta", payload)

    def _set(self, block: _Block, kind: str, delta: Payload) -> None:
        """Fold a delta that has no name of ours."""
        if kind not in ("signature_delta", "citations_delta", "compaction_delta"):
            return
        self.charge()
        if kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        else:
            block.set({name: value for name, value in delta.items() if name != "type"})

    def _on_block_stop(self, payload: Payload) -> Iterable[ChatEvent]:
        self._opened(payload)
        return self._stop(position(payload, "index"))

    def _opened(self, payload: Payload) -> _Block:
        index = position(payload, "index")
        block = self._open.get(index)
        if block is None:
            raise gap(f"The block {shortened(repr(index))} is not open")
        return block

    def _stop(self, index: int) -> Iterator[ChatEvent]:
        block = self._open.pop(index)
        for field, kind in _TEXTS.values():
            if field in block.texts and (ready := block.texts[field].flush()):
                yield kind(ready)
        if block.call is not None:
            yield from self._finish_call(block, block.call)

    def _finish_call(self, block: _Block, call: CallFold) -> Iterator[ChatEvent]:
        given = block.fields.get("input")
        if given and call.arguments.agrees(""):
            # No delta followed, so the input the block was opened with is final.
            yield from self.choice.add_arguments(call, compact(given))
        yield from self.choice.finish_call(call)
        arguments = str(call.arguments)
        if is_json(arguments):
            block.set({"input": parse_json(arguments)})


def _is_call(block: Payload) -> bool:
    return string(block, "type").endswith("tool_use")
