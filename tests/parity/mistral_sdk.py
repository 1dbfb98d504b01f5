"""The streaming call of `mistralai`; the SDK does not accumulate."""

from __future__ import annotations

from typing import Any

from untorn.dialects.mistral import Mistral

from .answer import Answer, Call
from .transport import MESSAGES, client


def sdk(wire: bytes) -> Any:
    import httpx2
    from mistralai.client import Mistral as Client

    return Client(api_key="key", server_url="http://test", client=client(httpx2, wire))


def chunks(wire: bytes) -> Answer:
    """Join the deltas of choice 0 by hand; calls come whole."""
    text = reasoning = ""
    calls: list[tuple[Any, Any, Any]] = []
    reason = counts = None
    for event in sdk(wire).chat.stream(model="m", messages=MESSAGES):
        said = event.data.usage
        counts = said.model_dump(exclude_unset=True) if said else counts
        for choice in event.data.choices:
            reason = choice.finish_reason or reason
            for kind, piece in pieces(choice.delta.content):
                text += piece if kind == "text" else ""
                reasoning += piece if kind == "thinking" else ""
            said_calls = choice.delta.tool_calls or ()
            calls += [(each.id, each.function.name, each.function.arguments) for each in said_calls]
    return Answer(text, tuple(calls), reason and str(reason), counts, reasoning)


def pieces(content: Any) -> list[tuple[str, str]]:
    """Return the texts of a content that is a text, or a list of parts."""
    if not isinstance(content, list):
        return [("text", content or "")]
    found = []
    for part in content:
        if part.type == "thinking":
            found += [("thinking", piece.text) for piece in part.thinking]
        elif part.type == "text":
            found.append(("text", part.text))
    return found


CHUNKS = Call("mistralai", "mistralai.client", "chat.stream", chunks, Mistral(), ("mistral-chat",))
