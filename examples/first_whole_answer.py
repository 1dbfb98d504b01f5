"""Ask several services at once, and take the first answer that is whole.

    python examples/first_whole_answer.py http://127.0.0.1:8000/ http://127.0.0.1:8001/

An answer that was cut is no answer, however early it came; the services that are still
talking when one has finished are cut off, and their connections closed.
"""

import sys

import anyio
import httpx2

from untorn import Completed, collect
from untorn.dialects import TextSse


async def first_whole_answer(urls: list[str]) -> str | None:
    answers: list[str] = []

    async def ask(url: str) -> None:
        async with client.stream("GET", url) as response:
            outcome = await collect(response, TextSse(sentinel="[DONE]"))
        if isinstance(outcome, Completed):
            answers.append(outcome.value)
            tasks.cancel_scope.cancel()

    async with httpx2.AsyncClient() as client, anyio.create_task_group() as tasks:
        for url in urls:
            tasks.start_soon(ask, url)
    return answers[0] if answers else None


if __name__ == "__main__":
    print(anyio.run(first_whole_answer, sys.argv[1:]))
