import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from untorn import ServerSentEvent, TextDelta, open_stream
from untorn.dialects import TextSse
from untorn.relay import Drain, Relay


async def service() -> AsyncIterator[bytes]:
    yield b"data: one\n\n"
    yield b"data: two\n\ndata: [DONE]\n\n"


def as_words(event: TextDelta) -> ServerSentEvent:
    return ServerSentEvent("word", event.text, id="")


async def app(scope: Any, receive: Any, send: Any) -> None:
    relay = Relay(
        open_stream(service(), TextSse(sentinel="[DONE]")),
        encode=as_words,
        on_leave=Drain(max_bytes=100_000, seconds=30),
    )
    await relay(scope, receive, send)


async def main() -> None:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://app") as browser:
        print((await browser.get("/")).text)


asyncio.run(main())
