"""The messages of one response, as ASGI has them.

https://asgi.readthedocs.io/en/latest/specs/www.html
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from anyio import current_time, sleep
from anyio.lowlevel import checkpoint

__all__ = ["ClientGone", "Message", "Messages", "RawHeaders", "Receive", "Scope", "Send"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
RawHeaders: TypeAlias = list[tuple[bytes, bytes]]

# In seconds: what passes between a client and what we hear of it, where both are quick.
_MOMENT: Final = 0.02
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
        self.finished = False
        """Whether the server has taken it all."""
        # Whether only the end is left; and since when the last of the body has been waiting.
        self._finishing = False
        self._last_since = -math.inf

    @property
    def may_have_it_all(self) -> bool:
        """Whether a client that has just left may have got all but the end.

        So it is where all of the body is taken, and waits for nobody. So it is too where the
        last of the body was handed over a moment ago: a page closes its connection when it has
        read the last event, which can be before the server lets us go on. But one that leaves
        while that waits for it has not read it.
        """
        return self._finishing or current_time() - self._last_since < _MOMENT

    async def write(self, body: bytes) -> None:
        """Send some of the body of a stream; returns when the server has taken it.

        To be cancelled as soon as the client is known to have left.
        """
        await self._start(200, self._headers)
        await self._write(body)

    async def write_last(self, body: bytes) -> None:
        """Send the last of the body of a stream."""
        await self._start(200, self._headers)
        await self._write_last(body)

    async def finish(self) -> None:
        """Send the end of a stream."""
        if self.started:
            # Some servers (uvicorn) take first, and wait before they take more.
            await self._write_last(b"")
        await self._start(200, self._headers)
        await self._finish()

    async def refuse(self, status: int, body: bytes) -> None:
        """Send, in place of a stream, a status and a body of JSON."""
        headers = [header for header in self._headers if header[0] not in _OF_STREAMS]
        headers.append((b"content-type", b"application/json"))
        headers.append((b"content-length", str(len(body)).encode()))
        await self._start(status, headers)
        if body:
            await self._write_last(body)
        await self._finish()

    async def _start(self, status: int, headers: RawHeaders) -> None:
        if not self.started:
            self.started = True
            head = {"type": "http.response.start", "status": status, "headers": headers}
            await self._put_and_hear(head)

    async def _write_last(self, body: bytes) -> None:
        self._last_since = current_time()
        await self._write(body)
        if current_time() - self._last_since >= _MOMENT:
            # It has waited for the client, which may have ended that by leaving; and some
            # (granian) say so only now.
            await sleep(_MOMENT)

    async def _write(self, body: bytes) -> None:
        await self._put_and_hear({"type": "http.response.body", "body": body, "more_body": True})

    async def _finish(self) -> None:
        self._finishing = True
        await self._put({"type": "http.response.body", "body": b"", "more_body": False})
        self.finished = True

    async def _put_and_hear(self, message: Message) -> None:
        await self._put(message)
        # When a client leaves, a send that waits for it returns, on most servers, like one
        # that was taken. They say in the same turn that it has left: so hear that first.
        await checkpoint()

    async def _put(self, message: Message) -> None:
        try:
            await self._send(message)
        except OSError as error:  # what a server may raise since ASGI 2.4
            raise ClientGone from error
