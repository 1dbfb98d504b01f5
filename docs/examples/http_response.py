import asyncio

import httpx2
from service import ANSWER, http_service

from untorn.dialects import TextSse
from untorn.http import open_response


async def main(url: str) -> None:
    async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
        async with open_response(response, TextSse(sentinel="[DONE]")) as answer:
            async for event in answer:
                print(event.text)
        print(answer.outcome)


with http_service(ANSWER) as url:
    asyncio.run(main(url))
