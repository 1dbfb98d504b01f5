"""The dialects by the names they have on the command line: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ..dialects import (
    A2A,
    AiSdkUi,
    AnthropicMessages,
    Bedrock,
    CohereChat,
    Gemini,
    JsonLines,
    JsonSse,
    KubernetesWatch,
    LangGraph,
    Mcp,
    Mistral,
    OllamaChat,
    OpenAIAssistants,
    OpenAIChat,
    OpenAIResponses,
    Sse,
    StrictSse,
    TextSse,
    TitanText,
)
from ..reduce import Dialect

__all__ = ["AUTO", "DIALECTS", "Named", "media_types"]

AUTO: Final = "auto"

_SSE: Final = ("text/event-stream",)
_LINES: Final = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/json-lines",
    "application/stream+json",
)
_BINARY: Final = ("application/vnd.amazon.eventstream",)
_JSON: Final = ("application/json",)


@dataclass(frozen=True, slots=True)
class Named:
    """A dialect, and the media types that its streams are served with."""

    dialect: Callable[[], Dialect[Any, Any]]
    media_types: tuple[str, ...]


DIALECTS: Final = {
    "a2a": Named(A2A, _SSE),
    "ai-sdk-ui": Named(AiSdkUi, _SSE),
    "anthropic": Named(AnthropicMessages, _SSE),
    "bedrock": Named(Bedrock, _BINARY),
    "bedrock-anthropic": Named(lambda: Bedrock(AnthropicMessages()), _BINARY),
    "bedrock-titan": Named(lambda: Bedrock(TitanText()), _BINARY),
    "cohere": Named(CohereChat, _SSE),
    "gemini": Named(Gemini, _SSE),
    "json-lines": Named(JsonLines, _LINES),
    "json-sse": Named(JsonSse, _SSE),
    "kubernetes": Named(KubernetesWatch, _JSON),
    "langgraph": Named(LangGraph, _SSE),
    "mcp": Named(Mcp, _SSE),
    "mistral": Named(Mistral, _SSE),
    "ollama": Named(OllamaChat, _LINES),
    "openai-assistants": Named(OpenAIAssistants, _SSE),
    "openai-chat": Named(OpenAIChat, _SSE),
    "openai-responses": Named(OpenAIResponses, _SSE),
    "sse": Named(Sse, _SSE),
    "strict-sse": Named(StrictSse, _SSE),
    "text-sse": Named(TextSse, _SSE),
}


def media_types(name: str) -> frozenset[str]:
    """Return the media types under which the dialect of this name, or `AUTO`, is served.

    Under `application/json` services send errors and whole answers: it is a
    stream only to those who asked for a watch.
    """
    if name != AUTO:
        return frozenset(DIALECTS[name].media_types)
    every = frozenset(kind for named in DIALECTS.values() for kind in named.media_types)
    return every - frozenset(_JSON)
