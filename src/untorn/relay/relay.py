"""The response: an ASGI application for one request."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from ..event import ServerSentEvent
from ..outcome import Outcome
from .as_sse import as_sse
from .delivery import Relayed, Terms
from .detach import run_detached
from .ending import end_event
from .exchange import Exchange
from .leave import Cancel, Detach, OnLeave
from .messages import Messages, RawHeaders, Receive, Scope, Send
from .report import Report

__all__ = ["SECONDS", "Relay", "last_event_id"]

# charset: a stream of events is UTF-8 whatever is said, but readers of text/* that know
# nothing of it take ISO-8859-1 where nothing is. no-store: an answer is nobody else's.
# no-transform: what compresses collects. X-Accel-Buffering: nginx, and those who follow it.
HEADERS: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
}
# "every 15 seconds or so": HTML Standard, 9.2.7; proxies give up after 30 to 60.
SECONDS: Final = 15.0
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Relay:
    """Hands the events of a stream on to whoever asked, as Server-Sent Events.

    An ASGI application for one request; single use.

    upstream
        What `open_stream(...)` or `untorn.http.stream(...)` returns: an async context
        manager, not entered, that gives an `EventStream` (or what behaves like one).
        It is entered and left while the request runs, by the task that runs it. How
        long untorn's own take to be left is bounded; one of yours is waited for, as
        long as it takes, with the report and (but for `Detach`) the request.
    encode
        From an event to a `ServerSentEvent`, or `None` for an event that is not handed
        on; not an async function. What it raises ends the response without an end.
    on_leave
        What becomes of the upstream when the client leaves: `Cancel()`, `Drain(...)` or
        `Detach(...)`.
    on_end
        Called once with a `Report`, when all is over, whatever happened; a function or
        an async one. It may take five seconds, and is shielded from cancellation.
    keepalive
        The seconds of silence after which a comment is sent; `None`: never.
    head_wait
        The seconds for which the head of the response waits for the first event. Where
        the upstream ends badly before that, the client gets a status (502, 504) in
        place of a stream. After them it gets a 200, and a comment.
    headers
        More headers of the response, or others in place of its own.
    last
        From the outcome to the event behind the last one, or `None` for no such event;
        `None` in its place: never. An id of `""` keeps the one in force.
    """

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
    ) -> None:
        if not hasattr(upstream, "__aenter__"):
            raise TypeError(
                f"Not an upstream: {upstream!r}; give what open_stream(...) returns, "
                "without entering it"
            )
        if not isinstance(on_leave, OnLeave):
            raise TypeError(f"Not a policy: {on_leave!r}; give Cancel(), Drain() or Detach(...)")
        _check_callable("encode", encode)
        if on_end is not None:
            _check_callable("on_end", on_end)
        if last is not None:
            _check_callable("last", last)
        if keepalive is not None:
            _check_seconds(
                "keepalive", keepalive, least=0.001, otherwise=", or None for no comments"
            )
        _check_seconds("head_wait", head_wait, least=0)
        self.raw_headers = _raw(HEADERS | _checked(headers or {}))
        """The headers of the response, as ASGI has them."""
        self._terms = Terms(upstream, encode, on_leave, on_end, keepalive, head_wait, last)
        self._called = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"A Relay answers HTTP requests, and this is {scope['type']!r}")
        if self._called:
            raise RuntimeError("This Relay was called before; make one for each request")
        self._called = True
        messages = Messages(send, self.raw_headers)
        exchange = Exchange(self._terms, scope["method"], receive, messages, last_event_id(scope))
        policy = self._terms.on_leave
        if isinstance(policy, Detach):
            await run_detached(exchange, policy.task_group)
        else:
            await exchange.run()


def last_event_id(scope: Scope) -> str:
    """Return the `Last-Event-ID` of a request, `""` if it has none: where to go on from."""
    for name, value in scope["headers"]:
        if name.lower() == b"last-event-id":
            return str(bytes(value).decode("utf-8", "replace"))
    return ""


def _checked(headers: object) -> dict[str, str]:
    """Return the headers of a user's, their names in lower case."""
    if not isinstance(headers, Mapping):
        raise TypeError(f"Not headers: {headers!r}; give a mapping of names to values")
    for name, value in headers.items():
        _check_name(name)
        _check_value(name, value)
    return {name.lower(): value for name, value in headers.items()}


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"Not a header name: {name!r}; give a str")
    if not _NAME.fullmatch(name):
        raise ValueError(f"Not a header name: {name!r}; use letters, digits and -")


def _check_value(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"Not the value of a header: {value!r} for {name!r}; give a str")
    if re.search(r"[\r\n\0]", value):
        raise ValueError(f"The header {name!r} holds a line end or NUL: {value!r}; leave it out")
    if any(ord(character) > 0xFF for character in value):
        raise ValueError(
            f"The header {name!r} holds what ISO-8859-1 has not: {value!r}; percent-encode it"
        )


def _raw(headers: dict[str, str]) -> RawHeaders:
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


def _check_callable(name: str, given: object) -> None:
    if not callable(given):
        raise TypeError(f"{name}={given!r}: give a function")


def _check_seconds(name: str, seconds: object, *, least: float, otherwise: str = "") -> None:
    if not isinstance(seconds, (int, float)) or not seconds >= least:
        raise ValueError(
            f"{name}={seconds!r}: give a number of seconds, {least:g} or more{otherwise}"
        )
