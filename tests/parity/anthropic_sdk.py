"""The streaming calls of `anthropic`, with the SDK's own accumulators."""

from __future__ import annotations

from typing import Any

from untorn.dialects.anthropic import AnthropicMessages

from .answer import Answer, Call
from .transport import MESSAGES, client

REQUEST: dict[str, Any] = {"model": "m", "max_tokens": 1, "messages": MESSAGES}


def sdk(wire: bytes) -> Any:
    import httpx2
    from anthropic import Anthropic

    http = client(httpx2, wire)
    return Anthropic(api_key="key", base_url="http://test", max_retries=0, http_client=http)


def messages(wire: bytes) -> Answer:
    with sdk(wire).messages.stream(**REQUEST) as stream:
        return of_message(stream.get_final_message())


def beta_messages(wire: bytes) -> Answer:
    with sdk(wire).beta.messages.stream(**REQUEST) as stream:
        return of_message(stream.get_final_message())


def events(wire: bytes) -> Answer:
    """Join the text of the events by hand."""
    text, reason = "", None
    for event in sdk(wire).messages.create(**REQUEST, stream=True):
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            text += event.delta.text
        elif event.type == "message_delta":
            reason = event.delta.stop_reason
    return Answer(text, (), reason)


def of_message(message: Any) -> Answer:
    blocks = message.content
    text = "".join(block.text for block in blocks if block.type == "text")
    reasoning = "".join(block.thinking for block in blocks if block.type == "thinking")
    calls = tuple(
        (block.id, block.name, block.input) for block in blocks if block.type.endswith("tool_use")
    )
    return Answer(text, calls, message.stop_reason, message.usage.to_dict(), reasoning)


MESSAGES_STREAM = Call(
    "anthropic",
    "anthropic",
    "messages.stream",
    messages,
    AnthropicMessages(),
    ("anthropic-messages",),
)
BETA = Call(
    "anthropic",
    "anthropic",
    "beta.messages.stream",
    beta_messages,
    AnthropicMessages(),
    ("anthropic-messages",),
)
EVENTS = Call("anthropic", "anthropic", "messages.create", events, AnthropicMessages())
