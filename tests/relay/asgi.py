"""A scripted ASGI server: one request, in whatever time the clock has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
from anyio import CancelScope, current_time

from untorn import Outcome, parse
from untorn.dialects import Sse
from untorn.relay import Report

__all__ = ["SCOPE", "Played", "Server", "play"]

SCOPE: dict[str, Any] = {"type": "http", "method": "GET", "headers": []}


@dataclass
class Server:
    """Receives what an application sends, and says when its client leaves.

    leave_at
        When the client leaves, in seconds.
    send_seconds
        How long it takes for each message.
    raises
        What a send raises once the client has left; `None`: it is ignored.
    gone
        What becomes of a send to a client that has left, or leaves meanwhile: it `"returns"`
        (as uvicorn has it) or `"blocks"` (as hypercorn has it over HTTP/2); `None`: it is
        taken, if it is not cancelled.
    body
        The parts of a request body that nobody has read.
    """

    leave_at: float | None = None
    send_seconds: float = 0.0
    raises: Exception | None = None
    gone: Literal["returns", "blocks"] | None = None
    body: int = 1
    messages: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    sending: int = 0
    began: float = field(default_factory=current_time)

    @property
    def now(self) -> float:
        return current_time() - self.began

    async def receive(self) -> dict[str, Any]:
        if self.body:
            self.body -= 1
            return {"type": "http.request", "body": b"x", "more_body": self.body > 0}
        if self.leave_at is None:
            await anyio.sleep_forever()
        else:
            await anyio.sleep(self.leave_at - self.now)
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        assert not self.sending, "two sends at once"
        self.sending += 1
        try:
            left = self.leave_at is not None and self.now > self.leave_at - 1e-6
            if left and self.raises is not None:
                raise self.raises
            if self.gone is not None:
                await self._send_until_gone(message)
                return
            await anyio.sleep(0 if left else self.send_seconds)
            self.messages.append((self.now, message))
        finally:
            self.sending -= 1

    async def _send_until_gone(self, message: Any) -> None:
        left_at = float("inf") if self.leave_at is None else self.leave_at
        if self.now + self.send_seconds < left_at:
            await anyio.sleep(self.send_seconds)
            self.messages.append((self.now, message))
        elif self.gone == "blocks":
            await anyio.sleep_forever()
        else:
            await anyio.sleep(max(0, left_at - self.now))


@dataclass
class Played:
    """What came of it."""

    server: Server
    reports: list[Report] = field(default_factory=list)
    reported_at: float = 0.0
    over_at: float = 0.0
    cancelled: bool = False

    @property
    def report(self) -> Report:
        (report,) = self.reports
        return report

    @property
    def outcome(self) -> Outcome[Any]:
        return self.report.outcome

    @property
    def status(self) -> int:
        return int(self.server.messages[0][1]["status"])

    @property
    def headers(self) -> dict[str, str]:
        pairs = self.server.messages[0][1]["headers"]
        return {name.decode(): value.decode() for name, value in pairs}

    @property
    def bodies(self) -> list[tuple[float, bytes]]:
        """The parts of the body that are not empty, with the times at which they were taken."""
        return [
            (at, message["body"]) for at, message in self.server.messages[1:] if message["body"]
        ]

    @property
    def body(self) -> bytes:
        return b"".join(part for _, part in self.bodies)

    @property
    def finished(self) -> bool:
        return bool(self.server.messages) and self.server.messages[-1][1].get("more_body") is False

    @property
    def data(self) -> list[str]:
        """The data of the events, as a reader gets them."""
        return [event.data for event in parse([self.body], Sse()).events()]

    def note(self, report: Report) -> None:
        self.reports.append(report)
        self.reported_at = self.server.now


async def play(
    make: Callable[[Callable[[Report], object]], Callable[..., Awaitable[None]]],
    server: Server | None = None,
    *,
    cancel_at: float | None = None,
    scope: dict[str, Any] = SCOPE,
) -> Played:
    """Have a server call what `make` returns for an `on_end`, and return what came of it."""
    server = server or Server()
    played = Played(server)
    app = make(played.note)
    deadline = float("inf") if cancel_at is None else server.began + cancel_at
    with CancelScope(deadline=deadline) as cancelled:
        await app(scope, server.receive, server.send)
    played.cancelled = cancelled.cancelled_caught
    played.over_at = server.now
    return played
