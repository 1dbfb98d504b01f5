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
        ) as events,
    ):
        async for event in events:
            print(event.text)
        print(events.extra(HttpAttribute.status))
        print(events.extra(HttpAttribute.headers)["content-type"])
    print(events.outcome)


with http_service(ANSWER) as url:
    asyncio.run(main(url))
