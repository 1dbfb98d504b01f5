"""A service in virtual time, behind a real client: what it answers is a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import anyio
import httpx2

from untorn.dialects import Sse
from untorn.http import Backoff, Connected, Reconnecting, connect

URL = "http://service.test/feed?key=secret"
EVEN = Backoff(base=0)
"""Delays as the service names them, with nothing random on top."""

Step: TypeAlias = bytes | float | BaseException
"""What a body does next: send, wait so many seconds, or break."""
Answer: TypeAlias = httpx2.Response | Exception


class Body:
    """A body that follows a script and then ends; it knows whether it was closed."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.begun = self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.begun = True
        try:
            for step in self.steps:
                if isinstance(step, bytes):
                    yield step
                elif isinstance(step, BaseException):
                    raise step
                else:
                    await anyio.sleep(step)
        finally:
            self.closed = True


def answer(*steps: Step, status: int = 200, **headers: str) -> httpx2.Response:
    """Return a response of Server-Sent Events."""
    fields = {"content-type": "text/event-stream"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, headers=fields, content=Body(*steps))


class Service(httpx2.AsyncBaseTransport):
    """Gives one answer after the other; an exception is raised in place of one."""

    def __init__(self, *answers: Answer | Callable[[], Answer], seconds: float = 0.0) -> None:
        self.answers = list(answers)
        self.seconds = seconds
        self.requests: list[httpx2.Request] = []
        self.times: list[float] = []
        self.given: list[httpx2.Response] = []
        self.client = httpx2.AsyncClient(transport=self)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.requests.append(request)
        self.times.append(anyio.current_time())
        if self.seconds >= 0:
            await anyio.sleep(self.seconds)
        given = self.answers.pop(0)
        given = given() if callable(given) else given
        if isinstance(given, Exception):
            raise given
        self.given.append(given)
        return given

    @property
    def asked_for(self) -> list[str | None]:
        """The `Last-Event-ID` of each request."""
        named = [dict(request.headers.raw).get(b"Last-Event-ID") for request in self.requests]
        return [None if id is None else id.decode() for id in named]

    def waits(self) -> list[float]:
        """Return the seconds between one request and the next."""
        pairs = zip(self.times, self.times[1:], strict=False)
        return [round(after - before, 6) for before, after in pairs]

    def connect(self, **options: Any) -> Any:
        """Return a feed of this service that is not entered yet."""
        defaults: dict[str, Any] = {"dialect": Sse(sentinel="END"), "backoff": EVEN}
        return connect(self.client, URL, **{**defaults, **options})


def short(event: Any) -> str:
    """Return an event, or what happened, in a word."""
    match event:
        case Connected(attempt, resumed_from):
            return f"<{attempt}" + (f" from {resumed_from}>" if resumed_from is not None else ">")
        case Reconnecting(attempt, delay):
            return f"<{attempt} in {delay:g}>"
    return str(event.data)


async def read(service: Service, **options: Any) -> tuple[list[str], Any]:
    """Read a feed to its end; return all of it in words, and the feed."""
    async with service.connect(**options) as feed:
        seen = [short(event) async for event in feed.events()]
    return seen, feed
