import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from untorn import EventStream, TextDelta, open_stream
from untorn.dialects import TextSse
from untorn.relay import Relay

RUNNING: set[EventStream[TextDelta, str]] = set()


async def service() -> AsyncIterator[bytes]:
    yield b"data: one\n\n"
    await asyncio.Event().wait()


@asynccontextmanager
async def upstream() -> AsyncIterator[EventStream[TextDelta, str]]:
    async with open_stream(service(), TextSse(sentinel="[DONE]")) as stream:
        RUNNING.add(stream)
        try:
            yield stream
        finally:
            RUNNING.remove(stream)


async def app(scope: Any, receive: Any, send: Any) -> None:
    await Relay(upstream())(scope, receive, send)


async def end_relays() -> None:
    for stream in list(RUNNING):
        await stream.aclose()


async def main() -> None:
    shown = asyncio.Event()

    async def receive() -> Any:
        await asyncio.Event().wait()  # the client stays

    async def send(message: Any) -> None:
        print(message.get("body", b"").decode(), end="")
        shown.set()

    request = {"type": "http", "method": "GET", "headers": []}
    answering = asyncio.create_task(app(request, receive, send))
    await shown.wait()
    await end_relays()
    await answering


asyncio.run(main())
