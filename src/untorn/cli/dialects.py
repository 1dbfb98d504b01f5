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
from ..http.media_types import media_types_of
from ..reduce import Dialect

__all__ = ["AUTO", "DIALECTS", "Named", "media_types"]

AUTO: Final = "auto"

_JSON: Final = frozenset({"application/json"})


@dataclass(frozen=True, slots=True)
class Named:
    """A dialect, and the media types that its streams are served as."""

    dialect: Callable[[], Dialect[Any, Any]]

    @property
    def media_types(self) -> frozenset[str]:
        """Those of the dialect."""
        return media_types_of(self.dialect())


DIALECTS: Final = {
    "a2a": Named(A2A),
    "ai-sdk-ui": Named(AiSdkUi),
    "anthropic": Named(AnthropicMessages),
    "bedrock": Named(Bedrock),
    "bedrock-anthropic": Named(lambda: Bedrock(AnthropicMessages())),
    "bedrock-titan": Named(lambda: Bedrock(TitanText())),
    "cohere": Named(CohereChat),
    "gemini": Named(Gemini),
    "json-lines": Named(JsonLines),
    "json-sse": Named(JsonSse),
    "kubernetes": Named(KubernetesWatch),
    "langgraph": Named(LangGraph),
    "mcp": Named(Mcp),
    "mistral": Named(Mistral),
    "ollama": Named(OllamaChat),
    "openai-assistants": Named(OpenAIAssistants),
    "openai-chat": Named(OpenAIChat),
    "openai-responses": Named(OpenAIResponses),
    "sse": Named(Sse),
    "strict-sse": Named(StrictSse),
    "text-sse": Named(TextSse),
}


def media_types(name: str) -> frozenset[str]:
    """Return the media types under which the dialect of this name, or `AUTO`, is served.

    Under `application/json` services send errors and whole answers: it is a
    stream only to those who asked for a watch.
    """
    if name != AUTO:
        return DIALECTS[name].media_types
    every = frozenset(kind for named in DIALECTS.values() for kind in named.media_types)
    return every - _JSON
