"""A gateway: a page asks, a language model answers, and what it said is kept, whole or cut.

    python examples/gateway.py --demo               then open http://127.0.0.1:8000/
    OPENAI_API_KEY=... python examples/gateway.py \\
        --url https://api.openai.com/v1/chat/completions --model gpt-4o-mini

The key stays here: the page never sees it, and it is written nowhere. When somebody closes the
tab, the upstream is closed at once, so that nobody pays for words that nobody reads; what had
come by then is in the database, as "cut". Ask in the page, close the tab in the middle, and see
http://127.0.0.1:8000/answers.

It needs fastapi, httpx2 and uvicorn. `EventSource` can only GET: so the question is in the URL,
and in the logs of whatever is in between. Where that matters, let the page POST with `fetch`.
Whoever reaches this server reads all answers and spends your money: put a login in front of it.
"""

import argparse
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import fastapi
import httpx2
import uvicorn
from fastapi.responses import FileResponse

from untorn import Clocks, Completed, Failed, Interrupted, Message, Outcome
from untorn.dialects import OpenAIChat
from untorn.http import stream
from untorn.relay import Report
from untorn.relay.starlette import RelayResponse
from untorn.testing import chaos_server

PAGE = Path(__file__).with_suffix(".html")
# A model may think for a minute before its first word, and not for one between two.
PATIENCE = Clocks(first_byte=120, idle=60)
# How long a relay may take to report when it is cancelled: the closing of its upstream.
PATIENCE_AT_THE_END = 5.0


@dataclass(frozen=True)
class Service:
    """Who answers: chat completions as OpenAI has them."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)

    def client(self) -> httpx2.AsyncClient:
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        return httpx2.AsyncClient(headers=headers)

    def ask(self, client: httpx2.AsyncClient, question: str) -> Any:
        """Return the answer to a question, not asked yet: that is for the response to do."""
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": question}],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        # "required": behind a proxy, the end of a response says nothing.
        dialect = OpenAIChat(done="required")
        return stream(client, "POST", self.url, dialect=dialect, clocks=PATIENCE, json=body)


class Answers:
    """What was asked and answered, in a database."""

    COLUMNS = ("question", "answer", "status", "ended", "delivered", "usage")

    def __init__(self, file: Path) -> None:
        self._open, self._kept = 0, anyio.Event()
        self._db = sqlite3.connect(file)
        self._db.execute(f"create table if not exists answers ({', '.join(self.COLUMNS)})")

    def asked(self, question: str) -> Callable[[Report], None]:
        """Return what keeps the answer to a question, once it is known."""
        self._open += 1
        return partial(self._keep, question)

    def _keep(self, question: str, report: Report) -> None:
        """Keep what came of a question; a row here is quick enough to write in the loop."""
        self._open -= 1
        self._kept.set()
        message: Message | None = report.value  # `None` of an upstream that was never open
        row = (
            question,
            message.text if message else "",
            how_much(report.outcome),
            how(report.outcome),
            report.delivered,
            json.dumps(message.usage) if message and message.usage else None,
        )
        with self._db:
            self._db.execute("insert into answers values (?, ?, ?, ?, ?, ?)", row)

    def all(self) -> list[dict[str, Any]]:
        rows = self._db.execute("select * from answers").fetchall()
        return [dict(zip(self.COLUMNS, row, strict=True)) for row in rows]

    async def close(self) -> None:
        """Wait for the answers that are open, and close the database.

        A server that has to stop now cancels its requests and us at the same time.
        """
        with anyio.CancelScope(shield=True), anyio.move_on_after(PATIENCE_AT_THE_END):
            while self._open:
                self._kept = anyio.Event()
                await self._kept.wait()
        self._db.close()


def how_much(outcome: Outcome[Message]) -> str:
    """Return how much of an answer there is: "whole", "cut", or "none"."""
    if isinstance(outcome, Completed):
        return "whole"
    return "none" if outcome.retry_safe else "cut"


def how(outcome: Outcome[Message]) -> str | None:
    """Return how an answer ended, in a word: "stop", "abandoned", "eof", "http-status", ..."""
    match outcome:
        case Completed(message):
            return message.finish_reason
        case Interrupted(cause):
            return cause.value
        case Failed(error):
            return error.code


def make_app(service: Service | None, file: Path) -> fastapi.FastAPI:
    """Return the application; without a service it asks one of its own."""

    @asynccontextmanager
    async def lifespan(app: fastapi.FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.answers = answers = Answers(file)
            stack.push_async_callback(answers.close)
            app.state.service = service or await stack.enter_async_context(demo_service())
            app.state.client = await stack.enter_async_context(app.state.service.client())
            yield

    app = fastapi.FastAPI(lifespan=lifespan)

    @app.get("/")
    async def page() -> FileResponse:
        return FileResponse(PAGE)

    @app.get("/ask")
    async def ask(question: str) -> RelayResponse:
        answer = app.state.service.ask(app.state.client, question)
        # `on_end` is called once, whatever happens. To have the usage of what was cut, too, let
        # on_leave=Drain() read on for it; the default, Cancel(), closes the upstream at once.
        return RelayResponse(answer, on_end=app.state.answers.asked(question))

    @app.get("/answers")
    async def answers() -> list[dict[str, Any]]:
        kept: list[dict[str, Any]] = app.state.answers.all()
        return kept

    return app


# --- a service of one's own ------------------------------------------------------

DEMO_ANSWER = "Whoever closes this tab now will find half an answer in the database, marked as cut."


@asynccontextmanager
async def demo_service() -> AsyncIterator[Service]:
    pieces = demo_pieces()
    async with chaos_server(b"".join(pieces), cuts=pieces, delays=0.2) as server:
        yield Service(server.url, "demo")


def demo_pieces() -> list[bytes]:
    """Return one answer as services send it, a word at a time."""
    words = [{"choices": [choice({"content": f"{word} "})]} for word in DEMO_ANSWER.split()]
    end = {"choices": [choice({}, "stop")]}
    usage = {"choices": [], "usage": {"completion_tokens": len(words)}}
    chunks = [json.dumps(chunk) for chunk in (*words, end, usage)]
    return [f"data: {data}\n\n".encode() for data in (*chunks, "[DONE]")]


def choice(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help="where the chat completions are")
    parser.add_argument("--model", default="gpt-4o-mini", help="the model to ask for")
    parser.add_argument("--demo", action="store_true", help="ask a service of its own")
    parser.add_argument("--db", type=Path, default=Path("answers.sqlite3"), help="the database")
    parser.add_argument("--port", type=int, default=8000, help="where to listen")
    arguments = parser.parse_args()
    if not arguments.demo and arguments.url is None:
        parser.error("give --url, or --demo")
    key = os.environ.get("OPENAI_API_KEY")
    service = None if arguments.demo else Service(arguments.url, arguments.model, key)
    uvicorn.run(make_app(service, arguments.db), port=arguments.port)


if __name__ == "__main__":
    main()
