"""Payloads that name their own type: one object per event, `{"type": ..., ...}`.

What comes from a service may be of any shape. A field that is missing or of
another kind than its contract says is read as empty, for services add kinds
without notice; only where a piece has no place without it is it a fault.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, TypeAlias

from ..event import ChatEvent, Message, Other
from ..faults import InvalidJson, ProtocolViolation, ServiceError, shortened
from ..frame import SseFrame
from ..outcome import Cause
from ..payload import parse_json
from ..reduce import Reducer
from ..stage import Ending
from .message import ChoiceFold, MessageFold

__all__ = [
    "Payload",
    "TypedReducer",
    "as_object",
    "code_of",
    "compact",
    "gap",
    "identifier",
    "items",
    "mapping",
    "misfit",
    "object_of",
    "position",
    "service_error",
    "string",
]

Payload: TypeAlias = dict[str, Any]

_KEEPALIVES = frozenset({"keepalive", "ping"})


class TypedReducer(Reducer[ChatEvent, Message]):
    """Folds typed payloads into a message.

    Write `on_payload(kind, payload)`, and `extra()` for what the wire carries beyond
    the shared vocabulary. `kind` is the payload's own `type`; where it has
    none, the type of the SSE event, which some gateways drop, rename or misplace.
    """

    def __init__(self, value_bytes: int) -> None:
        self.fold = MessageFold(value_bytes)
        self._data = ""

    @abstractmethod
    def on_payload(self, kind: str, payload: Payload) -> Iterable[ChatEvent]:
        """Return the events of one payload."""

    @abstractmethod
    def extra(self) -> Payload:
        """Return what goes into `Message.extra`; containers that still grow are copied."""

    def on_done(self) -> Iterable[ChatEvent]:
        """Return the events of a `[DONE]` that came before the marker: there will be no marker."""
        yield from self.flush()
        self.interrupt(Cause.EOF)

    def flush(self) -> Iterable[ChatEvent]:
        """Return the events of what is held back: halves whose partner will not come."""
        return self.fold.flush()

    @property
    def choice(self) -> ChoiceFold:
        """The one answer of a wire that knows no other."""
        return self.fold.choice()

    @property
    def value(self) -> Message:
        """The message as folded so far."""
        self.fold.extra = self.extra()
        return self.fold.message()

    def feed(self, frame: SseFrame) -> Iterable[ChatEvent]:
        """Parse the payload of a frame; raises what `object_of` does."""
        event, self._data, _, _ = frame
        # White space around it cannot mean anything else: it would be no JSON.
        if self._data.strip() == "[DONE]":
            return self.on_done()
        payload = object_of(event, self._data)
        return self.on_payload(string(payload, "type") or event, payload)

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        """Return what was held back."""
        return self.flush()

    def is_keepalive(self, event: ChatEvent) -> bool:
        """Say whether `event` proves the transport and not progress."""
        return isinstance(event, Other) and event.name in _KEEPALIVES

    def charge(self) -> None:
        """Count the payload at hand as part of the value, for it is kept in `extra`."""
        self.fold.budget.spend(self._data)


def object_of(event: str, data: str) -> Payload:
    """Return the object that is the data of an event.

    Raises `InvalidJson` and `ProtocolViolation`; `ServiceError` where the type of
    the event is `error` and its data says why without being an object.
    """
    try:
        payload = parse_json(data)
    except InvalidJson:
        if event != "error":
            raise
        payload = data
    if event == "error" and not isinstance(payload, dict):
        raise service_error(payload, {"error": payload})
    return as_object(payload)


def as_object(payload: Any) -> Payload:
    """Return a payload that is an object; raises `ProtocolViolation` for another."""
    if isinstance(payload, dict):
        return payload
    raise misfit(f"The payload {shortened(repr(payload))} is not a JSON object")


def misfit(sentence: str) -> ProtocolViolation:
    """Return the fault of a payload that its contract does not allow."""
    return ProtocolViolation(f"{sentence}; check that the dialect fits the service")


def gap(sentence: str) -> ProtocolViolation:
    """Return the fault of a piece that has no place without another, which did not come."""
    return ProtocolViolation(
        f"{sentence}, so a part of the stream is missing; "
        "check the hops between the service and you"
    )


def string(of: Payload, key: str) -> str:
    """Return the string at `key`, the empty one where there is none."""
    value = of.get(key)
    return value if isinstance(value, str) else ""


def mapping(of: Payload, key: str) -> Payload:
    """Return the object at `key`, an empty one where there is none."""
    value = of.get(key)
    return value if isinstance(value, dict) else {}


def items(of: Payload, key: str) -> list[Payload]:
    """Return the list at `key`, an empty object in the place of what is none."""
    value = of.get(key)
    if not isinstance(value, list):
        return []
    return [item if isinstance(item, dict) else {} for item in value]


def position(of: Payload, key: str) -> int:
    """Return the position at `key`, 0 where there is none; raises `ProtocolViolation`."""
    value = of.get(key)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise misfit(f"The field {key!r} is {shortened(repr(value))}, not a position")
    return value


def identifier(of: Payload, key: str) -> str:
    """Return the id at `key`; raises `ProtocolViolation` where there is none."""
    value = of.get(key)
    if not isinstance(value, str):
        raise misfit(f"The field {key!r} is {shortened(repr(value))}, not an id")
    return value


def service_error(error: Any, raw: Payload, *, type: str | None = None) -> ServiceError:
    """Return a fault in the service's own words: an object `{type, message, code}`, or a text.

    `type` stands where the words name none.
    """
    said = error if isinstance(error, dict) else {"message": error}
    return ServiceError(
        string(said, "message") or None,
        type=string(said, "type") or type or None,
        service_code=code_of(said),
        request_id=string(raw, "request_id") or None,
        raw=raw,
    )


def code_of(said: Payload) -> str | int | None:
    """Return the code of an error, `None` where there is none."""
    code = said.get("code")
    return code if isinstance(code, (str, int)) else None


def compact(value: Any) -> str:
    """Return a value as JSON, as a service would write it; for arguments sent as a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
