import asyncio

import fastapi
import httpx2
from service import http_service

from untorn import Message
from untorn.dialects import OpenAIChat
from untorn.http import stream
from untorn.relay import Report
from untorn.relay.starlette import RelayResponse

ANSWER = b"""\
data: {"choices": [{"index": 0, "delta": {"content": "Hello, "}}]}

data: {"choices": [{"index": 0, "delta": {"content": "world"}, "finish_reason": "stop"}]}

data: {"choices": [], "usage": {"completion_tokens": 2}}

data: [DONE]

"""
SERVICE = httpx2.AsyncClient()

app = fastapi.FastAPI()


def bill(report: Report) -> None:
    message: Message = report.value
    print(f"whole: {report.whole}, usage: {message.usage}")


@app.get("/chat")
async def chat() -> RelayResponse:
    answer = stream(SERVICE, "GET", app.state.url, dialect=OpenAIChat(done="required"))
    return RelayResponse(answer, on_end=bill)


async def ask(url: str) -> None:
    app.state.url = url
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://app") as browser:
        response = await browser.get("/chat")
    print(response.status_code, response.headers["content-type"])
    print(response.text)


async def main() -> None:
    async with SERVICE:
        with http_service(ANSWER) as url:
            await ask(url)
        with http_service(ANSWER[:140]) as url:
            await ask(url)
        with http_service(b"") as url:
            await ask(url)


asyncio.run(main())
