import asyncio

import httpx2
from service import ANSWER, http_service

from untorn import collect
from untorn.dialects import TextSse


async def main(url: str) -> None:
    async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
        response.raise_for_status()
        outcome = await collect(response, TextSse(sentinel="[DONE]"))
    print(outcome.unwrap())


with http_service(ANSWER) as url:
    asyncio.run(main(url))
