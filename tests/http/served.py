"""A small HTTP/1.1 server on loopback, each answer of which a test writes itself."""

from __future__ import annotations

import pickle
import re
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
from anyio.abc import SocketAttribute, SocketStream

from untorn import Completed, Failed, Interrupted, StreamError, StreamFault
from untorn.dialects import Sse
from untorn.faults import UnexpectedResponse

DIALECT = Sse(sentinel="END")
"""Events end with the data END."""


def sse(*data: str) -> bytes:
    """Return one event for each of `data`."""
    return "".join(f"data: {part}\n\n" for part in data).encode()


def chunk(data: bytes) -> bytes:
    """Return an HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


class Peer:
    """One connection, seen from the server."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self.request = b""
        """The last request, head and body."""

    async def receive_request(self) -> bool:
        """Read the next request; say whether one came."""
        self.request = b""
        try:
            while not self._is_whole():
                self.request += await self._stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return False
        return True

    def _is_whole(self) -> bool:
        head, end, body = self.request.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        return bool(end) and len(body) >= int(length[1] if length else 0)

    async def head(self, status: str = "200 OK", *fields: str, type: str = "") -> None:
        """Send the head of a chunked response."""
        kind = type or "text/event-stream"
        lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", "transfer-encoding: chunked"]
        await self.send("\r\n".join([*lines, *fields, "", ""]).encode())

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self._stream.send(data)

    async def chunks(self, *parts: bytes) -> None:
        """Send each part as a chunk."""
        for part in parts:
            await self.send(chunk(part))

    async def last(self) -> None:
        """Send the last chunk."""
        await self.send(b"0\r\n\r\n")

    async def close(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def left(self) -> None:
        """Wait until the client has closed its side."""
        while True:
            try:
                await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return


Answer: TypeAlias = Callable[[Peer], Awaitable[object]]


class Served:
    """What a server has seen so far."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connections = 0
        self.requests: list[bytes] = []
        self.open = 0

    async def all_closed(self) -> None:
        """Wait until no connection is open any more."""
        with anyio.fail_after(5):
            while self.open:  # noqa: ASYNC110 - a counter has no event to wait for
                await anyio.sleep(0.001)


@asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[Served]:
    """Serve with `answer`, which is called once for each request."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    seen = Served(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/")

    async def handle(stream: SocketStream) -> None:
        seen.connections += 1
        seen.open += 1
        peer = Peer(stream)
        try:
            async with stream:
                while await peer.receive_request():
                    seen.requests.append(peer.request)
                    await answer(peer)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            seen.open -= 1

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handle)
        yield seen
        group.cancel_scope.cancel()


async def read(opened: Any) -> tuple[list[str], Any]:
    """Return the data of all events of a stream that is not entered yet, and the outcome."""
    async with opened as events:
        data = [event.data async for event in events.events()]
    return data, events.outcome


def unexpected(outcome: Completed[Any] | Failed[Any] | Interrupted[Any]) -> UnexpectedResponse:
    """Return the fault of a stream that failed for its response."""
    assert isinstance(outcome, Failed), outcome
    fault: StreamFault = outcome.error
    assert isinstance(fault, UnexpectedResponse), fault
    return fault


def everything_said(outcome: Failed[Any] | Interrupted[Any]) -> str:
    """Return all the texts that an outcome can come to."""
    said = [repr(outcome), str(outcome.error), repr(outcome.error)]
    try:
        outcome.unwrap()
    except StreamError as error:
        said += [repr(error), str(error), "".join(traceback.format_exception(error))]
        said.append(pickle.dumps(error).decode("latin-1"))
    said.append(pickle.dumps(outcome).decode("latin-1"))
    said.append(pickle.dumps(outcome.error).decode("latin-1"))
    return "\n".join(said)
