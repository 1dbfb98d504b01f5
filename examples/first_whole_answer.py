"""Ask several services at once, and take the first answer that is whole.

    python examples/first_whole_answer.py http://127.0.0.1:8000/ http://127.0.0.1:8001/

An answer that was cut is no answer, however early it came, and neither is a service that
cannot be reached or sends an error page. The services that are still talking when one has
finished are cut off, and their connections closed.

It needs httpx2. To try it, in other terminals (the command line needs the extra `cli`):

    printf 'data: Hello\\n\\ndata: [DONE]\\n\\n' > answer.sse
    untorn serve answer.sse --port 8000 --bytewise --delay 0.1
    untorn serve answer.sse --port 8001 --until 13
"""

import sys

import anyio
import httpx2

from untorn import Completed, collect
from untorn.dialects import TextSse


async def first_whole_answer(urls: list[str]) -> str | None:
    answers: list[str] = []

    async def ask(url: str) -> None:
        answer = await whole_answer(client, url)
        if answer is not None:
            answers.append(answer)
            tasks.cancel_scope.cancel()

    async with httpx2.AsyncClient() as client, anyio.create_task_group() as tasks:
        for url in urls:
            tasks.start_soon(ask, url)
    return answers[0] if answers else None


async def whole_answer(client: httpx2.AsyncClient, url: str) -> str | None:
    try:
        async with client.stream("GET", url) as response:
            response.raise_for_status()
            outcome = await collect(response, TextSse(sentinel="[DONE]"))
    except httpx2.HTTPError as error:
        print(f"{url}: {error}", file=sys.stderr)
        return None
    return outcome.value if isinstance(outcome, Completed) else None


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    answer = anyio.run(first_whole_answer, sys.argv[1:])
    if answer is None:
        sys.exit("no whole answer")
    print(answer)
