import asyncio

import httpx2
from service import ANSWER, http_service

from untorn import Completed, Failed, Interrupted, collect
from untorn.dialects import TextSse


async def ask(url: str) -> str:
    async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
        outcome = await collect(response, TextSse(sentinel="[DONE]"))
    match outcome:
        case Completed(text):
            return text
        case Interrupted(cause, torn, _, partial):
            return f"{partial} [cut inside a {torn.value}: {cause.value}]"
        case Failed(error):
            return f"[{error}]"


with http_service(ANSWER) as url:
    print(asyncio.run(ask(url)))
with http_service(ANSWER[:63]) as url:
    print(asyncio.run(ask(url)))
with http_service(b"data: \xff\n\n") as url:
    print(asyncio.run(ask(url)))
