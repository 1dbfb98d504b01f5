"""Server-Sent Events as such, and two plain uses of them: raw text, and JSON.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, TypeVar, final

from ..event import JsonEvent, ServerSentEvent, TextDelta
from ..faults import LimitExceeded
from ..frame import Cursor, Extra, SseFrame
from ..limits import Limits
from ..payload import parse_json
from ..reduce import Dialect, Framer, Reducer
from ..sse import SseFramer
from ..stage import Cut, Ending
from ..text import Errors
from .options import Eof, check_options

__all__ = ["JsonSse", "Sse", "SseState", "TextSse"]

E = TypeVar("E")

# The standard leaves it to the client: "probably in the region of a few seconds".
RECONNECTION_MS: Final = 3000


@final
@dataclass(frozen=True, slots=True)
class SseState:
    """What a reconnecting client needs.

    `last_event_id` goes into `Last-Event-ID`; `retry` is the reconnection time
    in ms that the service has set, `None` if it has set none.
    """

    last_event_id: str = ""
    retry: int | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sse(Dialect[ServerSentEvent, SseState]):
    """Server-Sent Events of the HTML Standard, whatever they carry.

    The standard knows no completion. Name one, or the end of the transport is
    always an interruption:

    sentinel
        The data of the event that completes, for instance `"[DONE]"`.
    complete_when
        The type of the event that completes, or a predicate of the event.
    eof
        `"completes"`: a clean end of the transport between two frames completes.

    The event that completes is handed out too. `errors` is `"replace"` because
    the standard says so; a stream whose text you must trust wants `"strict"`.
    `last_event_id` is the id in force before the first event, of a feed that is
    resumed: an event has it until the stream sets another.
    """

    eof: Eof = "interrupts"
    sentinel: str | None = None
    complete_when: str | Callable[[ServerSentEvent], bool] | None = None
    errors: Errors = "replace"
    last_event_id: str = ""
    asks: ClassVar[frozenset[type[Extra]]] = frozenset({Cursor})
    reconnection_ms: ClassVar[int] = RECONNECTION_MS

    def __post_init__(self) -> None:
        check_options(self)

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return SseFramer(limits.frame_bytes, self.asks, self.last_event_id)

    def reducer(self, limits: Limits) -> Reducer[ServerSentEvent, SseState]:
        """Return the state for one stream."""
        return _SseReducer(self)

    def resumed_from(self, last_event_id: str) -> Sse:
        """Return this dialect for a stream that goes on behind an event."""
        return replace(self, last_event_id=last_event_id)


class _StateReducer(Reducer[E, SseState]):
    """Folds what a reconnecting client needs."""

    def __init__(self, last_event_id: str) -> None:
        self._last_event_id = last_event_id
        self._retry: int | None = None

    @property
    def value(self) -> SseState:
        return SseState(self._last_event_id, self._retry)

    def _move(self, cursor: Cursor) -> None:
        if cursor.id is not None:
            self._last_event_id = cursor.id
        if cursor.retry is not None:
            self._retry = cursor.retry


class _SseReducer(_StateReducer[ServerSentEvent]):
    def __init__(self, dialect: Sse) -> None:
        super().__init__(dialect.last_event_id)
        self._sentinel = dialect.sentinel
        self._complete_when = dialect.complete_when
        self._eof = dialect.eof
        self._completes = dialect.sentinel is not None or dialect.complete_when is not None

    def feed(self, frame: SseFrame | Cursor) -> Iterable[ServerSentEvent]:
        if isinstance(frame, Cursor):
            self._move(frame)
            return ()
        event = ServerSentEvent(*frame)
        self._last_event_id = event.id
        if self._completes:
            self._check(event)
        return (event,)

    def feed_all(self, frames: list[SseFrame | Cursor]) -> list[ServerSentEvent] | None:
        if self._completes or not frames:
            return None
        try:
            # A frame is as long as an event has fields.
            events = [ServerSentEvent(*frame) for frame in frames]  # type: ignore[misc]
        except TypeError:  # some move the cursor in between, and are no tuples
            return None
        self._last_event_id = events[-1].id
        return events

    def _check(self, event: ServerSentEvent) -> None:
        when = self._complete_when
        if event.data == self._sentinel:
            self.complete(event.data)
        elif isinstance(when, str):
            if event.event == when:
                self.complete(when)
        elif when is not None and when(event):
            self.complete("complete_when")

    def end(self, ending: Ending) -> Iterable[ServerSentEvent]:
        if self._eof == "completes" and isinstance(ending, Cut) and ending.clean:
            self.complete("eof")
        return ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TextSse(Dialect[TextDelta, str]):
    """Server-Sent Events whose data is the text itself, spaces and line ends kept.

    `sentinel` is the data of the event that completes; it is no text. The value
    is all the text.
    """

    eof: Eof = "interrupts"
    sentinel: str | None = None
    errors: Errors = "strict"

    def __post_init__(self) -> None:
        check_options(self)

    def reducer(self, limits: Limits) -> Reducer[TextDelta, str]:
        """Return the state for one stream."""
        return _TextReducer(self, limits.value_bytes)


class _TextReducer(Reducer[TextDelta, str]):
    def __init__(self, dialect: TextSse, most: int) -> None:
        self._dialect = dialect
        self._most = most
        self._size = 0
        self._parts: list[str] = []

    @property
    def value(self) -> str:
        return "".join(self._parts)

    def feed(self, frame: SseFrame) -> Iterable[TextDelta]:
        text = frame[1]
        if text == self._dialect.sentinel:
            self.complete(text)
            return ()
        self._size += len(text.encode())
        if self._size > self._most:
            raise LimitExceeded("value_bytes", self._most)
        self._parts.append(text)
        return (TextDelta(text),)

    def end(self, ending: Ending) -> Iterable[TextDelta]:
        if self._dialect.eof == "completes" and isinstance(ending, Cut) and ending.clean:
            self.complete("eof")
        return ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSse(Dialect[JsonEvent, SseState]):
    """Server-Sent Events whose data is JSON.

    sentinel
        The data that completes; it need not be JSON, and is no event.
    complete_when
        The type of the SSE event that completes, or a predicate of the JSON
        value. The event that completes is handed out too.
    eof
        `"completes"`: a clean end of the transport between two frames completes.
    last_event_id
        The id in force before the first event, of a feed that is resumed.
    """

    eof: Eof = "interrupts"
    sentinel: str | None = None
    complete_when: str | Callable[[Any], bool] | None = None
    errors: Errors = "strict"
    last_event_id: str = ""
    asks: ClassVar[frozenset[type[Extra]]] = frozenset({Cursor})
    reconnection_ms: ClassVar[int] = RECONNECTION_MS

    def __post_init__(self) -> None:
        check_options(self)

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return SseFramer(limits.frame_bytes, self.asks, self.last_event_id)

    def reducer(self, limits: Limits) -> Reducer[JsonEvent, SseState]:
        """Return the state for one stream."""
        return _JsonSseReducer(self)

    def resumed_from(self, last_event_id: str) -> JsonSse:
        """Return this dialect for a stream that goes on behind an event."""
        return replace(self, last_event_id=last_event_id)


class _JsonSseReducer(_StateReducer[JsonEvent]):
    def __init__(self, dialect: JsonSse) -> None:
        super().__init__(dialect.last_event_id)
        self._dialect = dialect

    def feed(self, frame: SseFrame | Cursor) -> Iterable[JsonEvent]:
        if isinstance(frame, Cursor):
            self._move(frame)
            return ()
        event, data, id, _ = frame
        if data == self._dialect.sentinel:
            self._last_event_id = id
            self.complete(data)
            return ()
        value = parse_json(data)
        self._last_event_id = id
        self._check(event, value)
        return (JsonEvent(id, value),)

    def _check(self, event: str, value: Any) -> None:
        when = self._dialect.complete_when
        if isinstance(when, str):
            if event == when:
                self.complete(when)
        elif when is not None and when(value):
            self.complete("complete_when")

    def end(self, ending: Ending) -> Iterable[JsonEvent]:
        if self._dialect.eof == "completes" and isinstance(ending, Cut) and ending.clean:
            self.complete("eof")
        return ()
