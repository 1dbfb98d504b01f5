"""A chaos server: a small HTTP/1.1 server on a loopback socket that misbehaves as told.

It is written on plain sockets, because closing with a RST and never sending a FIN by mistake is
what streams do not offer. It is bounded: when its block is left, every connection is closed.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count, repeat
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
from anyio import sleep
from anyio.abc import TaskGroup

from .checks import check_seconds, check_whole, is_seconds
from .cuts import Cuts, as_cutting
from .response import ContentEncoding, Ending, Response

__all__ = ["HEAD_BYTES", "ChaosServer", "Request", "chaos_server"]

T = TypeVar("T")

HEAD_BYTES = 64 * 1024
"""The longest request head that is read; h11's bound is a quarter of this."""

REQUEST_LINE = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]")


@dataclass(frozen=True, slots=True)
class Request:
    """One request that the server has read."""

    connection: int
    """The number of its connection, counted from 0: the same number is the same socket."""
    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case; of a repeated header, the last."""
    body: bytes


class ChaosServer:
    """Serves one response to every request; made by `chaos_server`, started by `async with`."""

    _tasks: TaskGroup

    def __init__(
        self, response: Response, delays: float | Sequence[float], ping_seconds: float, port: int
    ) -> None:
        _check_delays(delays)
        check_seconds("ping_seconds", ping_seconds)
        check_whole("port", port, 0, 65535)
        self.port = port
        """The port it listens on; known once it is started."""
        self.requests: list[Request] = []
        """The requests so far, in the order in which they came."""
        self._response = response
        self._delays = delays
        self._ping_seconds = ping_seconds
        self._sockets = ExitStack()
        self._numbers = count()

    @property
    def url(self) -> str:
        """The address of its root; every path and query under it is answered alike."""
        return f"http://127.0.0.1:{self.port}/"

    async def __aenter__(self) -> Self:
        """Start to accept connections."""
        listener = self._owned(socket.create_server(("127.0.0.1", self.port)))
        self.port = listener.getsockname()[1]
        # Made here and not before, so that a server can be made where no loop runs yet.
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self._accept, listener)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop, and close all connections.

        The task group is not shown the block's exception, so that it comes out as it was raised
        and not within an exception group.
        """
        with self._sockets:
            self._tasks.cancel_scope.cancel()
            await self._tasks.__aexit__(None, None, None)

    def _owned(self, made: socket.socket) -> socket.socket:
        # Not left to the tasks: one that is cancelled before its first step closes nothing.
        made.setblocking(False)
        return self._sockets.enter_context(made)

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            await anyio.wait_readable(listener)
            with suppress(BlockingIOError, ConnectionError):
                accepted, _ = listener.accept()
                self._tasks.start_soon(self._serve, self._owned(accepted))

    async def _serve(self, accepted: socket.socket) -> None:
        connection = _Connection(accepted, next(self._numbers))
        # A client may leave whenever it likes.
        with accepted, suppress(ConnectionError):
            while request := await connection.request():
                self.requests.append(request)
                await self._respond(connection)
                if self._response.ending is not Ending.LAST_CHUNK:
                    return

    async def _respond(self, connection: _Connection) -> None:
        await connection.send(self._response.head())
        for seconds, piece in zip(self._pauses(), self._response.body(), strict=False):
            await sleep(seconds)
            await connection.send(piece)
        if self._response.ending is Ending.RESET:
            connection.reset_on_close()
        if self._response.ending is Ending.SILENCE:
            await connection.client_left()

    def _pauses(self) -> Iterator[float]:
        """Yield the seconds before each piece of the body, without end."""
        size = len(self._response.pieces)
        given = [self._delays] * size if isinstance(self._delays, int | float) else self._delays
        yield from [*given, *repeat(0.0, size)][:size]
        yield from repeat(self._ping_seconds if self._response.ending is Ending.COMMENTS else 0.0)


def _check_delays(delays: Any) -> None:
    given = delays if isinstance(delays, Sequence) and not isinstance(delays, str) else [delays]
    for each in given:
        if not is_seconds(each):
            raise ValueError(f"delays: give numbers of seconds, 0 or more, not {each!r}")


class _Connection:
    """One accepted socket: requests out of it, bytes into it."""

    def __init__(self, accepted: socket.socket, number: int) -> None:
        self._socket = accepted
        # Each piece is to leave by itself, without waiting for the next.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._number = number
        self._received = bytearray()

    async def request(self) -> Request | None:
        """Return the next request; `None` if the client left, or sent no HTTP."""
        while (size := self._received.find(b"\r\n\r\n")) < 0:
            if len(self._received) > HEAD_BYTES or not await self._receive():
                return None
        first, *lines = bytes(self._received[:size]).split(b"\r\n")
        line = REQUEST_LINE.fullmatch(first)
        if line is None:
            return None
        headers = dict(map(_header, lines))
        body = await self._body(size + 4, int(headers.get("content-length", "0")))
        method, target = (part.decode("latin-1") for part in line.groups())
        return Request(self._number, method, target, headers, body)

    async def _body(self, start: int, size: int) -> bytes:
        while len(self._received) < start + size and await self._receive():
            pass
        body = bytes(self._received[start : start + size])
        del self._received[: start + size]
        return body

    async def _receive(self) -> int:
        """Receive some more and return how many bytes came; 0 at the end."""
        data = await _when(anyio.wait_readable, self._socket, lambda: self._socket.recv(65536))
        self._received += data
        return len(data)

    async def send(self, data: bytes) -> None:
        """Send all of `data`."""
        left = memoryview(data)
        while left:
            sent = await _when(anyio.wait_writable, self._socket, partial(self._socket.send, left))
            left = left[sent:]

    async def client_left(self) -> None:
        """Wait until the client has closed its side."""
        while await self._receive():
            pass

    def reset_on_close(self) -> None:
        """Make the socket send a RST when it is closed, in place of a FIN."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _when(
    ready: Callable[[socket.socket], Awaitable[None]], on: socket.socket, attempt: Callable[[], T]
) -> T:
    while True:
        try:
            return attempt()
        except BlockingIOError:
            await ready(on)


def _header(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("latin-1").partition(":")
    return name.strip().lower(), value.strip()


def chaos_server(
    wire: bytes,
    *,
    cuts: Cuts | None = None,
    delays: float | Sequence[float] = 0.0,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    content_encoding: ContentEncoding | None = None,
    ending: Ending | str = Ending.LAST_CHUNK,
    ping_seconds: float = 0.1,
    port: int = 0,
) -> ChaosServer:
    """Return a server that answers every request with `wire`; start it with `async with`.

    It runs on asyncio and trio, in real time, and listens on the loopback address only. From a
    program without a loop, start it in a thread with
    `anyio.from_thread.start_blocking_portal().wrap_async_context_manager(chaos_server(...))`;
    the pytest fixture `chaos_server` does that. It reads request bodies with a content-length.

    wire
        The response's body, before any encoding.
    cuts
        Where the body is cut, as offsets or chunks; each piece is one HTTP chunk.
    delays
        The seconds to wait before each piece: one number for all, or one for each of the first
        pieces.
    status
        The response's status code, 100 to 999.
    headers
        Headers to add, or to send in the place of `content-type: text/event-stream`.
    content_encoding
        "gzip" or "deflate"; each piece can be decoded as soon as it is there.
    ending
        How the body ends: an `Ending`, or its value, such as "missing-last-chunk".
    ping_seconds
        The seconds before each comment of `Ending.COMMENTS`.
    port
        The port to listen on; 0 lets the system choose.
    """
    pieces = as_cutting(wire, cuts)
    response = Response(pieces, status, headers or {}, content_encoding, Ending(ending))
    return ChaosServer(response, delays, ping_seconds, port)
