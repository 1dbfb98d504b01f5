"""The streaming calls of `ollama`; the SDK does not accumulate."""

from __future__ import annotations

from typing import Any

from untorn.dialects.ollama import OllamaChat

from .answer import Answer, Call
from .transport import MESSAGES, transport

USAGE = ("prompt_eval_count", "eval_count", "total_duration")


def sdk(wire: bytes) -> Any:
    import httpx
    from ollama import Client

    return Client(host="http://test", transport=transport(httpx, wire, "application/x-ndjson"))


def chat(wire: bytes) -> Answer:
    """Join the messages by hand."""
    return joined(
        (line, line.message.content, line.message.thinking, line.message.tool_calls)
        for line in sdk(wire).chat("m", MESSAGES, stream=True)
    )


def generate(wire: bytes) -> Answer:
    """Join the responses by hand."""
    return joined(
        (line, line.response, line.thinking, None)
        for line in sdk(wire).generate("m", "Hello", stream=True)
    )


def joined(lines: Any) -> Answer:
    text = reasoning = ""
    calls: list[tuple[Any, Any, Any]] = []
    reason = counts = None
    for line, piece, thought, said in lines:
        text += piece or ""
        reasoning += thought or ""
        calls += [(None, call.function.name, dict(call.function.arguments)) for call in said or ()]
        if line.done:
            reason = line.done_reason
            counts = {
                name: getattr(line, name) for name in USAGE if getattr(line, name, None)
            } or None
    return Answer(text, tuple(calls), reason, counts, reasoning)


CHAT = Call("ollama", "ollama", "chat", chat, OllamaChat(), ("ollama__chat",))
GENERATE = Call("ollama", "ollama", "generate", generate, OllamaChat(), ("ollama__generate",))
