"""The events of untorn for the responses of others, which yield events of their own.

Neither says, as `SseEncoder` does, that an ID which was in force is so no longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .as_sse import as_sse

if TYPE_CHECKING:
    import fastapi.sse

__all__ = ["for_fastapi", "for_sse_starlette"]


def for_fastapi(event: Any) -> fastapi.sse.ServerSentEvent:
    """Return what an endpoint yields whose `response_class` is FastAPI's `EventSourceResponse`.

    Takes what `as_sse` takes. The data is handed on as it is, and is not made JSON once more.
    """
    from fastapi.sse import ServerSentEvent

    shown = as_sse(event)
    name = None if shown.event == "message" else shown.event
    return ServerSentEvent(raw_data=shown.data, event=name, id=shown.id or None, retry=shown.retry)


def for_sse_starlette(event: Any) -> dict[str, Any]:
    """Return what is yielded to the `EventSourceResponse` of sse-starlette; takes the same."""
    shown = as_sse(event)
    parts = {"data": shown.data, "event": shown.event, "id": shown.id, "retry": shown.retry}
    plain = {"event": "message", "id": "", "retry": None}
    return {name: part for name, part in parts.items() if name not in plain or part != plain[name]}
