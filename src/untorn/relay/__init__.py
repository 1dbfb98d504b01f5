"""Hand a stream on to a browser: an ASGI response of Server-Sent Events.

    upstream -> EventStream -> encode -> ASGI messages -> browser
                               Relay: who stays until when, and what becomes known of it

It needs no framework. `untorn.relay.starlette` has the same as a response of
Starlette, which FastAPI returns as it is.
"""

from .as_sse import as_sse
from .delivery import Relayed
from .encode import SseEncoder
from .ending import end_event, says_completed
from .leave import Cancel, Detach, Drain, OnLeave
from .relay import Relay, last_event_id
from .report import Report

__all__ = [
    "Cancel",
    "Detach",
    "Drain",
    "OnLeave",
    "Relay",
    "Relayed",
    "Report",
    "SseEncoder",
    "as_sse",
    "end_event",
    "last_event_id",
    "says_completed",
]
