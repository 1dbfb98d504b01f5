"""The same response for Starlette and FastAPI, whose own responses have the methods it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

try:
    from starlette.background import BackgroundTask
    from starlette.responses import Response
except ImportError as missing:
    raise ImportError(
        "untorn.relay.starlette needs starlette: pip install 'untorn[starlette]'"
    ) from missing

from ..event import ServerSentEvent
from ..outcome import Outcome
from .as_sse import as_sse
from .delivery import Relayed
from .ending import end_event
from .leave import Cancel, OnLeave
from .messages import Receive, Scope, Send
from .relay import SECONDS, Relay
from .report import Report

__all__ = ["RelayResponse"]


class RelayResponse(Response):
    """A `Relay` that is a response of Starlette's: takes the same, and a background task.

    Headers and cookies can be set on it, as on any other. The background task runs
    when the relay is over, if nothing was raised.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        upstream: AbstractAsyncContextManager[Relayed],
        *,
        encode: Callable[[Any], ServerSentEvent | None] = as_sse,
        on_leave: OnLeave = Cancel(),
        on_end: Callable[[Report], Awaitable[object] | object] | None = None,
        keepalive: float | None = SECONDS,
        head_wait: float = SECONDS,
        headers: Mapping[str, str] | None = None,
        last: Callable[[Outcome[Any]], ServerSentEvent | None] | None = end_event,
        background: BackgroundTask | None = None,
    ) -> None:
        self.relay = Relay(
            upstream,
            encode=encode,
            on_leave=on_leave,
            on_end=on_end,
            keepalive=keepalive,
            head_wait=head_wait,
            headers=headers,
            last=last,
        )
        self.status_code = 200
        self.background = background
        self.raw_headers = self.relay.raw_headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self.relay.raw_headers = self.raw_headers
        await self.relay(scope, receive, send)
        if self.background is not None:
            await self.background()
