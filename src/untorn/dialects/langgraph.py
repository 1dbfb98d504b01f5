"""LangGraph runs, `/threads/{id}/runs/stream`.

https://docs.langchain.com/langsmith/streaming: Server-Sent Events whose type is
the stream mode, with the namespace of a subgraph behind a bar
(`messages|research:6e5c`), and whose data is JSON. Some servers send `event: end`,
many just close.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

from ..event import ChatEvent, Finish, Message, Other, Snapshot, TextDelta
from ..faults import InvalidJson, ServiceError
from ..frame import Cursor, Extra, SseFrame
from ..limits import Limits
from ..payload import parse_json
from ..reduce import Dialect, Reducer
from ..stage import Cut, Ending
from .kept import Kept
from .message import MessageFold
from .options import Eof, check_options
from .typed import Payload, items, string

__all__ = ["LangGraph"]

_MESSAGES: Final = frozenset({"messages/partial", "messages/complete"})
_OF_MODEL: Final = frozenset({"ai", "AIMessageChunk"})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LangGraph(Dialect[ChatEvent, Message]):
    """A run of a LangGraph server.

    Completes at `event: end` (marker `"end"`). `eof="completes"`: at a clean end
    of the transport between two frames as well (marker `"eof"`), for the servers
    that just close; then a run that was cut cannot be told from a whole one.
    Fails at an event whose type begins with `error`.

    `values` and `messages/partial`, `messages/complete` are whole as they are so
    far, and handed out as `Snapshot`; pieces of text of the mode `messages` as
    `TextDelta`; all else as `Other`, under the event's type. `text` is that of all
    messages of models. `extra` has `messages` (the latest of each id), the latest
    of `values` and `metadata`, and `last_event_id` and `retry` (ms) to resume with.
    """

    eof: Eof = "interrupts"
    asks: ClassVar[frozenset[type[Extra]]] = frozenset({Cursor})

    def __post_init__(self) -> None:
        check_options(self)

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _LangGraphReducer(self.eof, limits.value_bytes)


class _LangGraphReducer(Reducer[ChatEvent, Message]):
    def __init__(self, eof: Eof, value_bytes: int) -> None:
        self._eof = eof
        self._fold = MessageFold(value_bytes)
        self._choice = self._fold.choice()
        self._latest: dict[str, Any] = {}
        self._kept = Kept(self._latest, self._fold.budget)
        self._messages: dict[str, Any] = {}
        self._kept_messages = Kept(self._messages, self._fold.budget)
        self._cursor: dict[str, Any] = {"last_event_id": "", "retry": None}

    @property
    def value(self) -> Message:
        messages = list(self._messages.values())
        self._fold.extra = {**self._latest, "messages": messages, **self._cursor}
        return self._fold.message()

    def feed(self, frame: SseFrame | Cursor) -> Iterator[ChatEvent]:
        if isinstance(frame, Cursor):
            moved = {"last_event_id": frame.id, "retry": frame.retry}
            self._cursor |= {key: value for key, value in moved.items() if value is not None}
            return
        event, data, id, _ = frame
        if event.startswith("error"):
            raise _error(event, data)
        payload = None
        if event != "end" and data:
            payload = parse_json(data)
        self._cursor["last_event_id"] = id
        if event == "end":
            yield from self._finish("end")
        else:
            yield from self._on_event(event, payload)

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        if self._eof == "completes" and isinstance(ending, Cut) and ending.clean:
            return self._finish("eof")
        return self._fold.flush()

    def _finish(self, marker: str) -> Iterator[ChatEvent]:
        yield from self._fold.flush()
        self._choice.disposition = "complete"
        self.complete(marker)
        yield Finish(None, "complete")

    def _on_event(self, event: str, payload: Any) -> Iterator[ChatEvent]:
        mode, bar, _ = event.partition("|")
        if mode in _MESSAGES and isinstance(payload, list):
            for message in payload:
                self._on_snapshot(message)
            yield Snapshot(payload)
        elif mode == "values":
            self._kept.put(event, payload)
            yield Snapshot(payload)
        elif mode == "messages" and (piece := _piece(payload)):
            yield from self._choice.add(TextDelta, _text(piece), string(piece, "id"))
            if piece.get("tool_call_chunks"):
                yield Other(event, payload)
        else:
            if mode == "metadata" and not bar:
                self._kept.put("metadata", payload)
            yield Other(event, payload)

    def _on_snapshot(self, message: Any) -> None:
        """Put a whole message in the place of the one with its id."""
        if not isinstance(message, dict):
            return
        id = string(message, "id")
        self._kept_messages.put(id, message)
        if string(message, "type") in _OF_MODEL:
            self._choice.part(TextDelta, id).replace(_text(message))


def _piece(payload: Any) -> Payload | None:
    """Return the message of `[message, metadata]`, if it is a piece of a model's text."""
    message = payload[0] if isinstance(payload, list) and payload else None
    if not isinstance(message, dict) or string(message, "type") not in _OF_MODEL:
        return None
    return message if _text(message) else None


def _text(message: Payload) -> str:
    """Return the text of a message: its content, or the blocks of it that are text."""
    if content := string(message, "content"):
        return content
    blocks = (block for block in items(message, "content") if block.get("type") == "text")
    return "".join(string(block, "text") for block in blocks)


def _error(event: str, data: str) -> ServiceError:
    """Return a fault of `{error, message}`, or of a text."""
    try:
        said = parse_json(data)
    except InvalidJson:
        said = data
    if not isinstance(said, dict):
        return ServiceError(data or None, type=event, raw=said)
    return ServiceError(
        string(said, "message") or string(said, "error") or None,
        type=string(said, "error") or event,
        raw=said,
    )
