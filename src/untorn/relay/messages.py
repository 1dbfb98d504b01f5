"""The messages of one response, as ASGI has them.

https://asgi.readthedocs.io/en/latest/specs/www.html
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

__all__ = ["ClientGone", "Message", "Messages", "RawHeaders", "Receive", "Scope", "Send"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
RawHeaders: TypeAlias = list[tuple[bytes, bytes]]

# What describes a stream, and no other body.
_OF_STREAMS = {b"content-type", b"content-length", b"x-accel-buffering"}


class ClientGone(Exception):
    """The server says, in its own way, that the client has left."""


class Messages:
    """Sends one response; its head goes out with the first of its body."""

    def __init__(self, send: Send, headers: RawHeaders) -> None:
        self._send = send
        self._headers = headers
        self.started = False
        """Whether the head was handed over, or is being so."""
        self.finishing = False
        """Whether the last of the body was handed over, or is being so."""
        self.finished = False
        """Whether the server has taken it."""

    async def write(self, body: bytes) -> None:
        """Send some of the body of a stream."""
        await self._start(200, self._headers)
        await self._put({"type": "http.response.body", "body": body, "more_body": True})

    async def finish(self, body: bytes) -> None:
        """Send the last of the body of a stream."""
        await self._start(200, self._headers)
        await self._finish(body)

    async def refuse(self, status: int, body: bytes) -> None:
        """Send, in place of a stream, a status and a body of JSON."""
        headers = [header for header in self._headers if header[0] not in _OF_STREAMS]
        headers.append((b"content-type", b"application/json"))
        headers.append((b"content-length", str(len(body)).encode()))
        await self._start(status, headers)
        await self._finish(body)

    async def _start(self, status: int, headers: RawHeaders) -> None:
        if not self.started:
            self.started = True
            await self._put({"type": "http.response.start", "status": status, "headers": headers})

    async def _finish(self, body: bytes) -> None:
        self.finishing = True
        await self._put({"type": "http.response.body", "body": body, "more_body": False})
        self.finished = True

    async def _put(self, message: Message) -> None:
        try:
            await self._send(message)
        except OSError as error:  # what a server may raise since ASGI 2.4
            raise ClientGone from error
