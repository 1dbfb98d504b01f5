import asyncio

import httpx2

from untorn import Clocks, Completed, Failed, Interrupted
from untorn.dialects import Sse
from untorn.http import Backoff, Connected, Reconnecting, connect

# A service that sends a comment every 15 seconds is alive; one that is silent for three of
# those is not.
ALIVE = Clocks(idle=45)


async def follow(client: httpx2.AsyncClient, url: str) -> None:
    dialect = Sse(complete_when="closing")
    async with connect(client, url, dialect=dialect, clocks=ALIVE, backoff=Backoff(base=0)) as feed:
        async for event in feed.events():
            match event:
                case Connected(resumed_from=None):
                    print("connected")
                case Connected(resumed_from=id):
                    print(f"connected, behind {id}")
                case Reconnecting():
                    print(f"again in {event.delay} s: {event.reason}")
                case _:
                    print(f"{event.id} {event.event}: {event.data}")
    match feed.outcome:
        case Completed(marker=marker):
            print(f"completed by {marker}")
        case Failed(error):
            print(f"failed: {error}")
        case Interrupted(cause, error=error):
            print(f"cut: {error or cause.value}")


NEWS = [
    "retry: 10\nid: 1\ndata: one\n\n",
    "id: 2\ndata: two 从前\n\n",
    "id: 3\nevent: closing\ndata: three\n\n",
]


def service(request: httpx2.Request) -> httpx2.Response:
    """Send what follows the event that is named; the first time, break off inside the second."""
    after = request.headers.get("Last-Event-ID")
    body = "".join(NEWS[int(after or 0) :])
    return httpx2.Response(
        200,
        headers={"Content-Type": "text/event-stream"},
        content=body.encode() if after else body.encode()[:50],
    )


async def main() -> None:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(service)) as client:
        await follow(client, "https://news.example/feed")


asyncio.run(main())
