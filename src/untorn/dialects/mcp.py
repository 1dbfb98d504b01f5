"""Model Context Protocol, Streamable HTTP: the answer to one request.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports: a POST
is answered by Server-Sent Events whose data are JSON-RPC messages. Notifications
and requests of the server come first, then the response. A stream may break off
before it, even on purpose, and be resumed with `Last-Event-ID`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, final

from ..event import JsonEvent, Other
from ..faults import ServiceError
from ..frame import Cursor, Extra, SseFrame
from ..limits import Limits
from ..payload import parse_json
from ..reduce import Dialect, Framer, Reducer
from ..sse import SseFramer
from .options import check_options
from .typed import Payload, as_object, code_of, items, string

__all__ = ["Mcp", "McpEvent", "McpState"]

McpEvent: TypeAlias = JsonEvent | Other
"""A JSON-RPC message, or an SSE event of another type than `message`."""


@final
@dataclass(frozen=True, slots=True)
class McpState:
    """The result, and what resumes a stream that broke off before it.

    `result` is that of the response, `None` before. `last_event_id` goes into
    `Last-Event-ID` of the next GET, `retry` ms later (`None`: the service named
    no time; clients wait 1,000).
    """

    last_event_id: str = ""
    retry: int | None = None
    result: Any = None

    @property
    def resumable(self) -> bool:
        """Whether an event id was received, so that the rest can be asked for."""
        return bool(self.last_event_id)

    @property
    def text(self) -> str:
        """The text of a tool's result: of its `content`, the parts that are text."""
        result = self.result if isinstance(self.result, dict) else {}
        return "".join(string(part, "text") for part in items(result, "content"))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mcp(Dialect[McpEvent, McpState]):
    """One request's stream of MCP's Streamable HTTP.

    The response to `request_id` (`None`: the first response) completes it (marker
    `"result"`), also with `isError`, which is a failure of the tool; its `error`
    fails it, as does an error with the id `null`: the request could not be read.
    All messages are handed out as `JsonEvent`, the response as the last one;
    events that are not of type `message` (`ping`, `endpoint`) as `Other`.

    An event without data is a priming event and no message. Only ids of blocks
    that arrived whole move the cursor. At the end of the transport the stream is
    interrupted, and `outcome.partial.resumable` says whether to ask for the rest.
    `last_event_id` is the id in force before the first event, of such a rest.
    """

    request_id: str | int | None = None
    last_event_id: str = ""
    asks: ClassVar[frozenset[type[Extra]]] = frozenset({Cursor})
    reconnection_ms: ClassVar[int] = 1000

    def __post_init__(self) -> None:
        check_options(self)

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return SseFramer(limits.frame_bytes, self.asks, self.last_event_id)

    def reducer(self, limits: Limits) -> Reducer[McpEvent, McpState]:
        """Return the state for one stream."""
        return _McpReducer(self)

    def resumed_from(self, last_event_id: str) -> Mcp:
        """Return this dialect for a stream that goes on behind an event."""
        return replace(self, last_event_id=last_event_id)


class _McpReducer(Reducer[McpEvent, McpState]):
    def __init__(self, dialect: Mcp) -> None:
        self._request_id = dialect.request_id
        self._last_event_id = dialect.last_event_id
        self._retry: int | None = None
        self._result: Any = None

    @property
    def value(self) -> McpState:
        return McpState(self._last_event_id, self._retry, self._result)

    def feed(self, frame: SseFrame | Cursor) -> Iterator[McpEvent]:
        if isinstance(frame, Cursor):
            self._last_event_id = self._last_event_id if frame.id is None else frame.id
            self._retry = self._retry if frame.retry is None else frame.retry
            return
        event, data, id, _ = frame
        messages: list[Any] = []
        if event == "message" and data:
            payload = parse_json(data)
            # The revision of 2025-03-26 allowed batches.
            messages = payload if isinstance(payload, list) else [payload]
        self._last_event_id = id
        if event != "message":
            yield Other(event, data)
        for message in messages:
            yield from self._on_message(id, message)
            if self.ended is not None:
                return

    def _on_message(self, id: str, message: Any) -> Iterator[McpEvent]:
        message = as_object(message)
        ours = self._is_ours(message.get("id"))
        if message.get("error") is not None and (ours or message.get("id") is None):
            raise _error(message["error"], message)
        if ours and "result" in message:
            self._result = message["result"]
            self.complete("result")
        yield JsonEvent(id, message)

    def _is_ours(self, id: Any) -> bool:
        if isinstance(id, bool) or not isinstance(id, (str, int, float)):
            return False
        return self._request_id is None or id == self._request_id

    def is_keepalive(self, event: McpEvent) -> bool:
        return isinstance(event, Other) and event.name == "ping"


def _error(error: Any, message: Payload) -> ServiceError:
    """Return a JSON-RPC error `{code, message, data}` as a fault."""
    said = error if isinstance(error, dict) else {"message": error}
    return ServiceError(
        string(said, "message") or None,
        service_code=code_of(said),
        raw=message,
    )
