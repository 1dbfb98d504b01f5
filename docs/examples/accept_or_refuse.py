import asyncio
from collections.abc import AsyncIterator

from untorn import StreamError, collect, open_stream
from untorn.dialects import TextSse


async def cut() -> AsyncIterator[bytes]:
    yield b"data: half an ans\n\n"


async def refuse() -> str:
    return (await collect(cut(), TextSse(sentinel="[DONE]"))).unwrap()


async def accept() -> str:
    async with open_stream(cut(), TextSse(sentinel="[DONE]")) as stream:
        async for event in stream.events():
            print("shown:", event.text)
    print("outcome:", type(stream.outcome).__name__)
    return stream.value


async def main() -> None:
    try:
        await refuse()
    except StreamError as error:
        print("refused:", error)
        print("still there:", error.outcome.partial)
    print("accepted:", await accept())


asyncio.run(main())
