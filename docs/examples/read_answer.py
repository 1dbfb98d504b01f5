import asyncio

import httpx2
from service import ANSWER, http_service

from untorn import open_stream
from untorn.dialects import TextSse


async def main(url: str) -> None:
    async with (
        httpx2.AsyncClient() as client,
        client.stream("GET", url) as response,
        open_stream(response, TextSse(sentinel="[DONE]")) as stream,
    ):
        async for event in stream:
            print(repr(event.text))
    print(stream.outcome)


with http_service(ANSWER) as url:
    asyncio.run(main(url))
