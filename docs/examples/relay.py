import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from untorn import open_stream
from untorn.dialects import TextSse


async def service() -> AsyncGenerator[bytes, None]:
    yield b"data: one\n\ndata: two\n\ndata: [DONE]\n\n"


async def texts() -> AsyncGenerator[str, None]:
    async with open_stream(service(), TextSse(sentinel="[DONE]")) as stream:
        async for event in stream:
            yield event.text


async def main() -> None:
    async with aclosing(texts()) as answer:
        async for text in answer:
            print(text)
            break  # leaves the generator, which leaves the stream: nothing is corrupted


asyncio.run(main())
