import asyncio

import httpx2
from service import ANSWER, http_service

from untorn import StreamInterrupted, open_stream
from untorn.dialects import TextSse


async def main(url: str) -> None:
    async with (
        httpx2.AsyncClient() as client,
        client.stream("GET", url) as response,
        open_stream(response, TextSse(sentinel="[DONE]")) as stream,
    ):
        async for event in stream:
            print(repr(event.text))


with http_service(ANSWER[:63]) as url:
    try:
        asyncio.run(main(url))
    except StreamInterrupted as error:
        print(error)
