import asyncio
from collections.abc import AsyncIterator

import httpx2

from untorn import ServerSentEvent
from untorn.dialects import Sse
from untorn.http import Backoff, connect, distinct, messages

NEWS = ["id: 1\ndata: one\n\n", "id: 2\ndata: two\n\n", "id: 3\ndata: [DONE]\n\n"]


def service(request: httpx2.Request) -> httpx2.Response:
    """Begin with the last event that was seen, and break off behind two."""
    last = int(request.headers.get("Last-Event-ID", 1))
    body = "".join(NEWS[last - 1 : last + 1])
    return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=body)


async def show(events: AsyncIterator[ServerSentEvent]) -> None:
    print(*[event.data async for event in events])


async def main() -> None:
    url, dialect = "https://news.example/feed", Sse(sentinel="[DONE]")
    soon = Backoff(base=0, reconnection=0.01)
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(service)) as client:
        async with connect(client, url, dialect=dialect, backoff=soon) as feed:
            await show(messages(feed))
        async with connect(client, url, dialect=dialect, backoff=soon) as feed:
            await show(messages(distinct(feed)))


asyncio.run(main())
