import asyncio
from collections.abc import AsyncIterator

from untorn import EventStream, TextDelta, open_stream
from untorn.dialects import TextSse


async def service_that_hangs() -> AsyncIterator[bytes]:
    try:
        yield b"data: Hello\n\n"
        await asyncio.Event().wait()
    finally:
        print("the source is closed")


async def next_or_nothing(stream: EventStream[TextDelta, str]) -> TextDelta | None:
    try:
        async with asyncio.timeout(0.01):
            return await stream.receive()  # a timeout takes nothing: call it again
    except TimeoutError:
        return None


async def read(opened: "asyncio.Future[EventStream[TextDelta, str]]") -> None:
    async with open_stream(service_that_hangs(), TextSse()) as stream:
        async for event in stream:
            print(event.text)
            opened.set_result(stream)


async def main() -> None:
    async with open_stream(service_that_hangs(), TextSse()) as stream:
        print(await stream.receive())
        print(await next_or_nothing(stream))
    print(stream.outcome)

    opened = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(read(opened))
    stream = await opened
    task.cancel()
    await asyncio.wait([task])
    print("cancelled:", task.cancelled())
    print(stream.outcome)


asyncio.run(main())
