import asyncio
import json

import httpx2

from untorn.dialects import Mcp
from untorn.http import Backoff, Reconnecting, connect

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "weather"}}
SESSION = {"Mcp-Session-Id": "1868a90c", "MCP-Protocol-Version": "2025-11-25"}


async def call(client: httpx2.AsyncClient, url: str) -> str:
    """Return the text of a tool's result, on however many connections it comes."""
    opening = {
        "method": "POST",
        "json": CALL,
        "headers": {**SESSION, "Accept": "application/json, text/event-stream"},
    }
    async with connect(
        client,
        url,
        dialect=Mcp(request_id=7),
        first=opening,
        headers=SESSION,
        backoff=Backoff(base=0),
    ) as feed:
        async for event in feed.events():
            if isinstance(event, Reconnecting):
                print(f"again in {event.delay} s, behind {event.last_event_id}")
    assert feed.outcome is not None  # behind the block it is set
    return feed.outcome.unwrap().text


def service(request: httpx2.Request) -> httpx2.Response:
    """Answer the call with an id and a time to wait, and the request behind it with the result."""
    print(request.method, "behind", request.headers.get("Last-Event-ID"))
    body = "id: 1\nretry: 20\ndata:\n\n"
    if request.method == "GET":
        result = {"content": [{"type": "text", "text": "rain"}]}
        answer = {"jsonrpc": "2.0", "id": 7, "result": result}
        body = f"id: 2\ndata: {json.dumps(answer)}\n\n"
    return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=body)


async def main() -> None:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(service)) as client:
        print(await call(client, "https://tools.example/mcp"))


asyncio.run(main())
