import asyncio
from collections.abc import AsyncIterator

from untorn import Reader, TextDelta, broadcast, open_stream, tee
from untorn.dialects import TextSse

WORDS = ["Once", "upon", "a", "time", "there", "was", "a", "fox"]


async def service() -> AsyncIterator[bytes]:
    for word in WORDS:
        yield f"data: {word} \n\n".encode()
    yield b"data: [DONE]\n\n"


async def text_of(reader: Reader[TextDelta, str]) -> str:
    async with reader:  # whoever leaves it, also by an exception, frees the others
        return "".join([event.text async for event in reader])


async def the_same_for_two() -> None:
    async with open_stream(service(), TextSse(sentinel="[DONE]")) as stream:
        screen, archive = tee(stream, 2)
        print(await asyncio.gather(text_of(screen), text_of(archive)))
        print(screen.outcome == archive.outcome == stream.outcome)


async def fast_and_slow() -> None:
    async with open_stream(service(), TextSse(sentinel="[DONE]")) as stream:
        shared = broadcast(stream, slow="evict", capacity=3)
        archive = shared.subscribe(slow="block")  # one that must see all
        browser = shared.subscribe()
        progress = shared.subscribe(slow="drop_oldest")

        print((await archive.receive()).text, (await archive.receive()).text)
        late = shared.subscribe()
        print(await asyncio.gather(text_of(archive), text_of(late)), late.skipped)

        print(browser.outcome)
        print([event.text async for event in progress.events()], progress.dropped)
        print(progress.outcome)


asyncio.run(the_same_for_two())
asyncio.run(fast_and_slow())
