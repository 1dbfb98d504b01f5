"""A source that a test feeds as it goes, and what readers make of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream
from flow.sources import DIALECT, sse

from untorn import EventStream, open_stream
from untorn.dialects import SseState

__all__ = ["Receiving", "Supply", "now", "numbers", "opened", "taken", "to_numbers"]


class Supply(ByteReceiveStream):
    """Bytes as a test hands them in: nothing, until there is something."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[bytes](100_000)
        self.fed = 0
        self.closed = False

    def feed(self, count: int) -> None:
        """Send so many events, numbered on, in one read."""
        if count:
            self._send.send_nowait(sse(*numbers(self.fed, self.fed + count)))
        self.fed += count

    def end(self, wire: bytes = b"") -> None:
        """Send this and then EOF."""
        if wire:
            self._send.send_nowait(wire)
        self._send.close()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._receive.receive()

    async def aclose(self) -> None:
        self.closed = True
        self._send.close()
        self._receive.close()


def numbers(start: int, stop: int) -> list[str]:
    """Return the data of so many events."""
    return [str(number) for number in range(start, stop)]


@asynccontextmanager
async def opened(*fed: int, wire: bytes | None = None) -> AsyncIterator[tuple[Supply, Any]]:
    """Open a stream on a supply that has been fed, and ended if there is a wire for it."""
    supply = Supply()
    for count in fed:
        supply.feed(count)
    if wire is not None:
        supply.end(wire)
    stream: EventStream[Any, SseState]
    async with open_stream(supply, DIALECT) as stream:
        yield supply, stream


async def taken(reader: Any, count: int) -> list[str]:
    """Receive so many events and return their data."""
    return [(await reader.receive()).data for _ in range(count)]


def to_numbers(seen: list[str]) -> list[int]:
    """Return the numbers of the events, without the last word."""
    return [int(data) for data in seen if data != "END"]


def now(step: Any) -> None:
    """Run a coroutine that does not wait, from wherever one is."""
    try:
        step.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


class Receiving:
    """A task that receives one event, or is cancelled before."""

    def __init__(self, reader: Any, group: Any) -> None:
        self.reader = reader
        self.got: str | None = None
        self.error: BaseException | None = None
        self.over = anyio.Event()
        self.scope = anyio.CancelScope()
        group.start_soon(self._run)

    async def _run(self) -> None:
        try:
            with self.scope:
                self.got = (await self.reader.receive()).data
        except Exception as error:
            self.error = error
        finally:
            self.over.set()

    @property
    def done(self) -> bool:
        return self.over.is_set()
