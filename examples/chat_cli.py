"""Chat with a language model in a terminal, and never take a cut answer for a whole one.

    python examples/chat_cli.py --demo          or --demo cut, --demo down
    OPENAI_API_KEY=... python examples/chat_cli.py \\
        --url https://api.openai.com/v1/chat/completions --model gpt-4o-mini

Any service with the chat completions of OpenAI will do (vLLM, Ollama, OpenRouter, ...). Ctrl-C
stops an answer, and what there is of it stays in the conversation; at the prompt it leaves.
The key is read from OPENAI_API_KEY, and is written nowhere. It needs httpx2.
"""

import argparse
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

from untorn import (
    Cause,
    Clocks,
    Completed,
    Failed,
    Interrupted,
    Message,
    Outcome,
    StreamInterrupted,
)
from untorn.dialects import OpenAIChat
from untorn.event import TextDelta
from untorn.http import stream
from untorn.testing import ChaosServer, Ending, chaos_server

# A model may think for a minute before its first word, and not for one between two.
PATIENCE = Clocks(first_byte=120, idle=60)


class Chat:
    """A conversation with one service."""

    def __init__(self, url: str, model: str, key: str | None = None) -> None:
        self._url = url
        self._model = model
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self.history: list[dict[str, str]] = []

    def say(self, question: str) -> Outcome[Message]:
        """Ask, print the answer as it comes, and keep what came of it."""
        self.history.append({"role": "user", "content": question})
        # A loop for each answer: the prompt waits for a person, and nothing else goes on then.
        outcome = anyio.run(self._answer)
        answer = text_of(outcome)
        if answer:
            self.history.append({"role": "assistant", "content": answer})
        else:
            self.history.pop()  # nobody has answered that
        return outcome

    async def _answer(self) -> Outcome[Message]:
        body = {"model": self._model, "messages": self.history, "stream": True}
        async with (
            httpx2.AsyncClient(headers=self._headers) as client,
            stream(
                client, "POST", self._url, dialect=OpenAIChat(), clocks=PATIENCE, json=body
            ) as answer,
            # Innermost: so Ctrl-C ends the reading, and the stream is left in peace.
            anyio.create_task_group() as reading,
        ):
            reading.start_soon(cancel_at_ctrl_c, reading.cancel_scope)
            async for event in answer.events():
                if isinstance(event, TextDelta):
                    print(event.text, end="", flush=True)
            reading.cancel_scope.cancel()
        assert answer.outcome is not None
        return answer.outcome


async def cancel_at_ctrl_c(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


def text_of(outcome: Outcome[Message]) -> str:
    return outcome.value.text if isinstance(outcome, Completed) else outcome.partial.text


def verdict(outcome: Outcome[Message]) -> str | None:
    """Return what is to be said behind an answer; `None` behind one that is whole."""
    match outcome:
        case Completed(message) if message.disposition in ("complete", "unknown"):
            return None
        case Completed(message):
            return f"the model has stopped early: {message.finish_reason}"
        case Interrupted(Cause.ABANDONED):
            return "stopped; what there is of it stays in the conversation"
        case Interrupted(cause, error=error, retry_safe=True):
            return f"NO ANSWER ({cause.value})" + (f": {error}" if error else "")
        case Interrupted():
            return f"CUT, the answer is not whole: {StreamInterrupted(outcome)}"
        case Failed(error):
            return f"FAILED: {error}"


def ask(chat: Chat, question: str) -> None:
    """Ask, and again for as long as the person wants to, where that is safe."""
    again = True
    while again:
        outcome = chat.say(question)
        print(f"\n[{said}]" if (said := verdict(outcome)) else "")
        again = may_repeat(outcome) and input("Ask again? [Y/n] ").lower() != "n"


def may_repeat(outcome: Outcome[Message]) -> bool:
    """Say whether to offer another attempt: behind the first word it would be another answer."""
    match outcome:
        case Completed() | Interrupted(Cause.ABANDONED):
            return False
        case _:
            return outcome.retry_safe


def talk(chat: Chat) -> None:
    try:
        while True:
            if question := input("> ").strip():
                ask(chat, question)
    except (EOFError, KeyboardInterrupt):
        print()


# --- a service of one's own ------------------------------------------------------

DEMO_ANSWER = "A stream is a promise that is kept in pieces, and 完 is not the last of them."


@contextmanager
def demo(kind: str) -> Iterator[str]:
    """Serve one answer: "whole", "cut" in the middle, or "down" before its first word."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(demo_server(kind)) as server,
    ):
        yield server.url


def demo_server(kind: str, delay: float = 0.1) -> ChaosServer:
    pieces = [chunk({"content": f"{word} "}) for word in DEMO_ANSWER.split()]
    pieces += [chunk({}, finish_reason="stop"), b"data: [DONE]\n\n"]
    if kind == "down":
        return chaos_server(b'{"error": {"message": "Come back later"}}', status=503)
    if kind == "cut":
        # As a proxy does whose upstream has crashed: the response ends as a whole one does.
        pieces = pieces[: len(pieces) // 2]
        return chaos_server(b"".join(pieces), cuts=pieces, delays=delay, ending=Ending.LAST_CHUNK)
    return chaos_server(b"".join(pieces), cuts=pieces, delays=delay)


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help="where the chat completions are")
    parser.add_argument("--model", default="gpt-4o-mini", help="the model to ask for")
    parser.add_argument(
        "--demo",
        nargs="?",
        const="whole",
        choices=["whole", "cut", "down"],
        help="ask a service of its own, whose answers are whole, are cut, or do not come",
    )
    arguments = parser.parse_args()
    if arguments.demo:
        with demo(arguments.demo) as url:
            talk(Chat(url, "demo"))
    elif arguments.url:
        talk(Chat(arguments.url, arguments.model, os.environ.get("OPENAI_API_KEY")))
    else:
        parser.error("give --url, or --demo")


if __name__ == "__main__":
    main()
