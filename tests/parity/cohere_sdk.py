"""The streaming call of `cohere`; the SDK does not accumulate."""

from __future__ import annotations

from typing import Any

from untorn.dialects.cohere import CohereChat

from .answer import Answer, Call
from .transport import MESSAGES, client


def sdk(wire: bytes) -> Any:
    import httpx
    from cohere import ClientV2

    return ClientV2(api_key="key", base_url="http://test", httpx_client=client(httpx, wire))


def events(wire: bytes) -> Answer:
    """Join the deltas by hand."""
    text = reasoning = ""
    calls: dict[int, list[str]] = {}
    reason = counts = None
    for event in sdk(wire).chat_stream(model="m", messages=MESSAGES):
        if event.type == "content-delta":
            text += event.delta.message.content.text or ""
            reasoning += event.delta.message.content.thinking or ""
        elif event.type == "tool-call-start":
            call = event.delta.message.tool_calls
            calls[event.index] = [call.id, call.function.name, call.function.arguments or ""]
        elif event.type == "tool-call-delta":
            calls[event.index][2] += event.delta.message.tool_calls.function.arguments
        elif event.type == "message-end":
            reason, said = event.delta.finish_reason, event.delta.usage
            counts = said.model_dump(exclude_unset=True) if said else None
    found = tuple((id, name, arguments) for id, name, arguments in calls.values())
    return Answer(text, found, reason, counts, reasoning)


EVENTS = Call("cohere", "cohere", "ClientV2.chat_stream", events, CohereChat(), ("cohere-v2",))
