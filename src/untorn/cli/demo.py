"""`untorn demo`: one answer twice, whole and torn, over a real socket."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Final

import click
import httpx2
from rich.console import Console

from ..dialects.openai_chat import OpenAIChat
from ..event import Message
from ..outcome import Boundary, Completed, Interrupted, Outcome
from ..stream import open_stream
from ..testing.chaos import chaos_server
from ..testing.response import Ending
from .output import console_on
from .show import kept, sentence
from .status import COMPLETED, FAILED, backend_option, run

__all__ = ["demo"]

TEXT: Final = ("It is ", "sunny in ", "北京", "，", "你好", " 🌞", "! I will look up ", "the wind.")
ARGUMENTS: Final = ('{"city": "北', '京", "what"', ': "wind"}')
PAUSE_SECONDS: Final = 0.02

_HELP = """Show what untorn does, in five seconds and without a network.

A server on this machine sends an answer with Chinese text, an emoji and a tool
call, cut inside characters and inside frames. It is read through the pipeline
twice: once whole, and once with the connection cut in the middle.

\b
    untorn demo
    untorn demo --fast --backend trio

Exit status: 0 if both halves came out as they should.
"""


@click.command(help=_HELP)
@backend_option
@click.option("--fast", is_flag=True, help="Do not pause between the pieces.")
def demo(backend: str, fast: bool) -> None:
    """Run both halves and exit with the status of the demonstration."""
    console = console_on(sys.stdout)
    as_it_should = run(partial(_demo, console, 0.0 if fast else PAUSE_SECONDS), backend)
    raise SystemExit(COMPLETED if as_it_should else FAILED)


async def _demo(console: Console, pause: float) -> bool:
    wire = answer()
    torn = torn_at(wire)
    console.print("1. The whole answer, cut inside characters and inside frames", style="bold")
    whole = await _read(console, wire, Ending.LAST_CHUNK, pause)
    console.print("\n2. The same, and the connection breaks inside a character", style="bold")
    part = await _read(console, wire[:torn], Ending.MISSING_LAST_CHUNK, pause)
    console.print(
        "\nA client that takes the end of the connection for the end of the answer "
        "would now run the tool with half its arguments."
    )
    return _is_whole(whole) and _is_torn(part, torn)


async def _read(console: Console, wire: bytes, ending: Ending, pause: float) -> Outcome[Message]:
    """Serve `wire`, read it, and print each event as it comes."""
    cuts = hostile_cuts(wire)
    async with (
        chaos_server(wire, cuts=cuts, delays=pause, ending=ending) as server,
        # A proxy that the environment names has no business between us.
        httpx2.AsyncClient(trust_env=False) as client,
        client.stream("GET", server.url) as response,
        open_stream(response, OpenAIChat()) as stream,
    ):
        async for event in stream.events():
            console.print(f"   {event}")
    assert stream.outcome is not None
    _conclude(console, stream.outcome)
    return stream.outcome


def _conclude(console: Console, outcome: Outcome[Message]) -> None:
    style = "bold green" if isinstance(outcome, Completed) else "bold yellow"
    console.print(sentence(outcome), style=style)
    if isinstance(outcome, Completed):
        console.print(f"The text: {outcome.value.text}")
        return
    console.print(f"Kept: {kept(outcome)}.")
    console.print(f"The text so far: {outcome.partial.text}")
    for call in outcome.partial.tool_calls:
        console.print(f"The call so far, not to be run: {call.name}({call.arguments}")


def _is_whole(outcome: Outcome[Message]) -> bool:
    return (
        isinstance(outcome, Completed)
        and outcome.value.text == "".join(TEXT)
        and [call.arguments for call in outcome.value.tool_calls if call.valid]
        == ["".join(ARGUMENTS)]
    )


def _is_torn(outcome: Outcome[Message], torn: int) -> bool:
    return (
        isinstance(outcome, Interrupted)
        and outcome.torn is Boundary.CHARACTER
        and outcome.position.bytes == torn
        and outcome.partial.text == "".join(TEXT)
        and not any(call.finished for call in outcome.partial.tool_calls)
    )


# --- the wire -----------------------------------------------------------------------


def answer() -> bytes:
    """Return an answer in the shape of OpenAI's chat completions."""
    frames = [json.dumps(_chunk(choice), ensure_ascii=False) for choice in _choices()]
    return "".join(f"data: {data}\n\n" for data in [*frames, "[DONE]"]).encode()


def _chunk(choice: dict[str, Any]) -> dict[str, Any]:
    head = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "model": "demo"}
    return {**head, "choices": [{"index": 0, "finish_reason": None, **choice}]}


def _choices() -> Iterator[dict[str, Any]]:
    for text in TEXT:
        yield {"delta": {"content": text}}
    call = {"index": 0, "id": "call_demo", "type": "function"}
    yield {"delta": {"tool_calls": [{**call, "function": {"name": "weather", "arguments": ""}}]}}
    for piece in ARGUMENTS:
        yield {"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}
    yield {"delta": {}, "finish_reason": "tool_calls"}


def hostile_cuts(wire: bytes) -> list[int]:
    """Return where to cut: in every character of several bytes, every frame, every blank line."""
    in_characters = [k for k, byte in enumerate(wire) if byte & 0b1100_0000 == 0b1000_0000]
    ends = [match.end() for match in re.finditer(rb"\n\n", wire)]
    in_frames = [(start + end) // 2 for start, end in pairwise([0, *ends])]
    return sorted({*in_characters, *in_frames, *(end - 1 for end in ends)})


def torn_at(wire: bytes) -> int:
    """Return the byte at which the connection breaks: inside the call of the tool."""
    return wire.rindex("京".encode()) + 1
