import asyncio

import httpx2

from untorn import Completed, Failed, Interrupted, UnexpectedResponse
from untorn.dialects import OpenAIChat
from untorn.http import stream
from untorn.testing import ChaosServer, chaos_server


async def ask(client: httpx2.AsyncClient, url: str) -> str:
    request = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    async with stream(client, "POST", url, dialect=OpenAIChat(), json=request) as answer:
        async for _ in answer.events():
            pass
    match answer.outcome:
        case Completed(message):
            return message.text
        case Failed(UnexpectedResponse(retry_after=float(seconds))):
            return f"[try again in {seconds:g} s]"
        case Failed(error):
            return f"[{error}]"
        case Interrupted(cause, error=error):
            retry = "safe" if answer.outcome.retry_safe else "not safe"
            return f"[{cause.value}: {error}; to retry is {retry}]"
    raise AssertionError


def refused(body: bytes, status: int = 200, **headers: str) -> ChaosServer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return chaos_server(body, status=status, headers=named)


async def main() -> None:
    overloaded = b'{"error": {"message": "Too many requests"}}'
    wrong = b'{"error": {"message": "There is no model m"}}'
    page = b"<html><title>Please log in</title>..."
    async with (
        httpx2.AsyncClient() as client,
        refused(overloaded, 429, content_type="application/json", retry_after="20") as first,
        refused(wrong, content_type="application/json") as second,
        refused(page, content_type="text/html; charset=utf-8") as third,
    ):
        for server in (first, second, third):
            print(await ask(client, server.url))
        print(await ask(client, "http://127.0.0.1:1/"))


asyncio.run(main())
