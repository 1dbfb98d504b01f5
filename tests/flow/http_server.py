"""A small HTTP/1.1 server on loopback that counts its connections, for tests alone."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import SocketAttribute, SocketStream

from .sources import sse

ANSWER = sse("你好", " 🦊", "END")


class Server:
    """What it answers depends on the path; see `_body`."""

    def __init__(self) -> None:
        self.url = ""
        self.connections = 0
        self.requests = 0
        self.closed = 0

    async def handle(self, stream: SocketStream) -> None:
        self.connections += 1
        try:
            async with stream:
                while head := await _head(stream):
                    self.requests += 1
                    await self._answer(stream, head.split()[1].decode())
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            pass
        finally:
            self.closed += 1

    async def _answer(self, stream: SocketStream, path: str) -> None:
        coding = b"Content-Encoding: gzip\r\n" if path == "/gzip" else b""
        await stream.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            + coding
            + b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for part in _body(path):
            await stream.send(b"%x\r\n%s\r\n" % (len(part), part))
        if path == "/endless":
            await stream.receive()  # until the client closes
            return
        if path == "/broken":
            await stream.aclose()
            return
        if path == "/late":  # the end of the body comes in a packet of its own
            await anyio.wait_all_tasks_blocked()
        await stream.send(b"0\r\n\r\n")


def _body(path: str) -> list[bytes]:
    match path:
        case "/gzip":
            packed = gzip.compress(ANSWER)
            return [packed[:9], packed[9:30], packed[30:]]
        case "/broken":
            return [sse("a"), b"data: b"]
        case _:
            return [ANSWER[:8], ANSWER[8:]]


async def _head(stream: SocketStream) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += await stream.receive()
    return head


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    """Run a server while the block runs."""
    server = Server()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, server.handle)
        yield server
        group.cancel_scope.cancel()
