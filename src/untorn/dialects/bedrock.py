"""Amazon Bedrock: `ConverseStream`, and `InvokeModelWithResponseStream`.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html.
Both are binary, see `untorn.eventstream`. ConverseStream has events of its own;
the other carries the events of the model's own wire, in base64.
"""

from __future__ import annotations

from abc import abstractmethod
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, final

from ..around import require_dialect
from ..event import (
    ChatEvent,
    Disposition,
    Message,
    Other,
    ReasoningDelta,
    TextDelta,
    UsageUpdate,
)
from ..eventstream import BytesDecoder, EventStreamFramer, EventStreamMessage
from ..faults import InvalidJson, ProtocolViolation, ServiceError, shortened
from ..frame import SseFrame
from ..limits import KIB, MIB, Limits
from ..payload import parse_json
from ..reduce import Decoder, Dialect, Framer, Reducer
from ..sse_walk import SseWalk
from ..stage import Cut, Ending
from .kept import Kept
from .message import MessageFold
from .options import check_options
from .typed import Payload, as_object, gap, mapping, misfit, position, string

__all__ = ["Bedrock"]

_DISPOSITIONS: Final[dict[str, Disposition]] = {
    "end_turn": "complete",
    "stop_sequence": "complete",
    "tool_use": "tool",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
}
# The padding `p` hides how long an event is; it is no content.
_PADDING: Final = "p"


@final
@dataclass(frozen=True, slots=True)
class Bedrock(Dialect[ChatEvent, Message]):
    """Bedrock's ConverseStream; with `inner`, InvokeModelWithResponseStream.

    ConverseStream: `messageStop` says that the answer is whole, and is the marker;
    `metadata` with the usage follows. So it completes at `metadata`, or at a clean
    end of the transport between two messages behind `messageStop`. An answer that
    breaks off elsewhere behind it is interrupted, its finish reason kept.

    `inner` is the dialect of the model's own events (`AnthropicMessages()`,
    `TitanText()`, ...), one of Server-Sent Events that folds a `Message`: each chunk
    is handed to it as the data of an event without a type of its own. What completes
    and what fails is for it to say.

    Fails at an `exception` or `error` message, at a `malformed_...` stop reason, at a
    piece of a call that is not open, and at a message that is damaged. `extra` has
    `metrics`, `trace` and other fields of `metadata`, `citations`, and `reasoning`:
    signatures and redacted content as they came.
    """

    inner: Dialect[ChatEvent, Message] | None = None
    # botocore's bounds: a payload of 24 MiB, headers of 128 KiB.
    limits: Limits = Limits(frame_bytes=24 * MIB + 128 * KIB + 16)

    def __post_init__(self) -> None:
        check_options(self)
        if self.inner is not None:
            _check_inner(self.inner)

    def decoder(self, limits: Limits) -> Decoder:
        """Return the first stage of one stream: the wire is no text."""
        return BytesDecoder(limits.total_bytes)

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return EventStreamFramer(limits.frame_bytes)

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        if self.inner is None:
            return _ConverseReducer(limits.value_bytes)
        return _InvokeReducer(self.inner.reducer(limits))


def _check_inner(inner: Dialect[ChatEvent, Message]) -> None:
    """Refuse what cannot read a chunk as the data of an event, or folds no message."""
    require_dialect(inner)
    limits = inner.limits
    reads_events = isinstance(inner.framer(limits), SseWalk)
    if not (reads_events and isinstance(inner.reducer(limits).value, Message)):
        raise TypeError(
            f"{type(inner).__name__} does not read Server-Sent Events that fold into a Message; "
            "give the dialect of the model, such as AnthropicMessages()"
        )


class _MessageReducer(Reducer[ChatEvent, Message]):
    """What both have in common: faults, and a payload that is an object."""

    def feed(self, frame: EventStreamMessage) -> Iterable[ChatEvent]:
        kind = frame.header(":message-type")
        if kind in ("exception", "error"):
            raise _error(frame, kind)
        name = frame.header(":event-type")
        if not frame.header(":content-type").startswith("application/json"):
            return (Other(name, frame.payload),)
        payload = as_object(parse_json(_text(frame.payload)))
        payload.pop(_PADDING, None)
        return self.on_event(name, payload)

    @abstractmethod
    def on_event(self, name: str, payload: Payload) -> Iterable[ChatEvent]:
        """Return the events of one payload."""


class _ConverseReducer(_MessageReducer):
    def __init__(self, value_bytes: int) -> None:
        self._fold = MessageFold(value_bytes)
        self._choice = self._fold.choice()
        self._kept = Kept(self._fold.extra, self._fold.budget)
        self._stopped = False

    @property
    def value(self) -> Message:
        return self._fold.message()

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        if self._stopped and isinstance(ending, Cut) and ending.clean:
            return self._finish()
        return self._fold.flush()

    def on_event(self, name: str, payload: Payload) -> Iterator[ChatEvent]:
        if name == "contentBlockStart":
            yield from self._on_start(payload)
        elif name == "contentBlockDelta":
            yield from self._on_delta(payload)
        elif name == "contentBlockStop":
            if call := self._choice.calls.get(position(payload, "contentBlockIndex")):
                yield from self._choice.finish_call(call)
        elif name == "messageStop":
            self._on_stop(payload)
            yield Other(name, payload)
        elif name == "metadata":
            yield from self._on_metadata(payload)
        elif name == "chunk":
            raise ProtocolViolation(
                "This is a stream of InvokeModel; say Bedrock(inner=...) with the model's dialect"
            )
        else:
            yield Other(name, payload)

    def _on_start(self, payload: Payload) -> Iterator[ChatEvent]:
        start = mapping(payload, "start")
        if tool := mapping(start, "toolUse"):
            index = position(payload, "contentBlockIndex")
            call = self._choice.call(index, string(tool, "toolUseId"), string(tool, "name"))
            yield from self._choice.add_arguments(call, "")
        else:
            yield Other("contentBlockStart", payload)

    def _on_delta(self, payload: Payload) -> Iterator[ChatEvent]:
        index = position(payload, "contentBlockIndex")
        for name, value in mapping(payload, "delta").items():
            if name == "text" and isinstance(value, str):
                yield from self._choice.add(TextDelta, value, index)
            elif name == "toolUse" and isinstance(value, dict):
                yield from self._on_input(index, string(value, "input"))
            elif name == "reasoningContent" and isinstance(value, dict):
                yield from self._on_reasoning(index, value)
            elif name == "citation":
                self._kept.append("citations", value)
                yield Other(name, value)
            else:
                yield Other(name, payload)

    def _on_input(self, index: int, fragment: str) -> Iterator[ChatEvent]:
        call = self._choice.calls.get(index)
        if call is None or call.finished:
            raise gap(f"The block {shortened(repr(index))} is not open")
        yield from self._choice.add_arguments(call, fragment)

    def _on_reasoning(self, index: int, content: Payload) -> Iterator[ChatEvent]:
        yield from self._choice.add(ReasoningDelta, string(content, "text"), index)
        if rest := {name: value for name, value in content.items() if name != "text"}:
            self._kept.append("reasoning", {"contentBlockIndex": index, **rest})
            yield Other("reasoningContent", rest)

    def _on_stop(self, payload: Payload) -> None:
        reason = string(payload, "stopReason")
        if reason.startswith("malformed_"):
            raise ServiceError(None, type=reason, raw=payload)
        self._choice.finish_reason = reason or None
        self._choice.disposition = _DISPOSITIONS.get(reason, "unknown")
        self._stopped = True
        for name, value in payload.items():
            if name != "stopReason":
                self._kept.put(name, value)

    def _on_metadata(self, payload: Payload) -> Iterator[ChatEvent]:
        for name, value in payload.items():
            if name != "usage" and self._kept.put(name, value):
                yield Other(name, value)
        if usage := mapping(payload, "usage"):
            self._fold.usage = usage
            yield UsageUpdate(usage)
        if self._stopped:
            yield from self._finish()

    def _finish(self) -> Iterator[ChatEvent]:
        yield from self._fold.flush()
        self.complete("messageStop")
        yield self._fold.finish()


class _InvokeReducer(_MessageReducer):
    """Hands the chunks to the reducer of the model's own wire."""

    def __init__(self, inner: Reducer[ChatEvent, Message]) -> None:
        self._inner = inner

    @property
    def value(self) -> Message:
        return self._inner.value

    def on_event(self, name: str, payload: Payload) -> Iterator[ChatEvent]:
        if name != "chunk":
            yield Other(name, payload)
            return
        try:
            data = b64decode(string(payload, "bytes"), validate=True)
        except ValueError:
            raise misfit("The bytes of a chunk are not base64") from None
        frame: SseFrame = ("message", _text(data), "", None)
        yield from self._inner.feed(frame)
        self.ended = self._inner.ended

    def end(self, ending: Ending) -> Iterator[ChatEvent]:
        yield from self._inner.end(ending)
        self.ended = self._inner.ended

    def is_keepalive(self, event: ChatEvent) -> bool:
        return self._inner.is_keepalive(event)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise misfit("The payload of an event is not UTF-8") from None


def _error(frame: EventStreamMessage, kind: str) -> ServiceError:
    """Return an `exception`, whose payload says more, or an `error`, whose headers say all."""
    if kind == "error":
        name, message = frame.header(":error-code"), frame.header(":error-message")
        return ServiceError(message or None, type=name or None, raw=dict(frame.headers))
    name, text = frame.header(":exception-type"), frame.payload.decode(errors="replace")
    try:
        said = parse_json(text)
    except InvalidJson:
        said = text
    message = string(said, "message") if isinstance(said, dict) else text
    return ServiceError(message or None, type=name or None, raw=said)
