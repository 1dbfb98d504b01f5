import asyncio

import httpx2
from service import ANSWER, http_service

from untorn import collect
from untorn.dialects import TextSse
from untorn.http import RequestSource


async def main(url: str) -> None:
    async with httpx2.AsyncClient() as client:
        source = RequestSource(client, "GET", url, media_types=["text/event-stream"])
        outcome = await collect(source, TextSse(sentinel="[DONE]"))
    print(outcome.unwrap())


with http_service(ANSWER) as url:
    asyncio.run(main(url))
