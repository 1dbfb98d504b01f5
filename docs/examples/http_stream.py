import asyncio

import httpx2
from service import ANSWER, http_service

from untorn import Clocks
from untorn.dialects import TextSse
from untorn.http import HttpAttribute, stream


async def main(url: str) -> None:
    async with (
        httpx2.AsyncClient() as client,
        stream(
            client,
            "GET",
            url,
            dialect=TextSse(sentinel="[DONE]"),
            clocks=Clocks(first_byte=60, idle=30),
            headers={"Authorization": "Bearer sk-..."},
        ) as answer,
    ):
        async for event in answer:
            print(event.text)
        print(answer.extra(HttpAttribute.status))
        print(answer.extra(HttpAttribute.headers)["content-type"])
    print(answer.outcome)


with http_service(ANSWER) as url:
    asyncio.run(main(url))
