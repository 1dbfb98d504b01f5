"""One wire each: what its payloads mean, what completes it, what fails it."""

from .a2a import A2A
from .ai_sdk_ui import AiSdkUi
from .anthropic import AnthropicMessages
from .bedrock import Bedrock
from .cohere import CohereChat
from .detect import detect
from .gemini import Gemini
from .json_lines import JsonLines
from .kubernetes import KubernetesWatch, WatchEvent, WatchState
from .langgraph import LangGraph
from .mcp import Mcp, McpState
from .mistral import Mistral
from .ollama import OllamaChat
from .openai_assistants import OpenAIAssistants
from .openai_chat import OpenAIChat
from .openai_responses import OpenAIResponses
from .sse import JsonSse, Sse, SseState, TextSse
from .strict_sse import StrictSse
from .titan import TitanText

__all__ = [
    "A2A",
    "AiSdkUi",
    "AnthropicMessages",
    "Bedrock",
    "CohereChat",
    "Gemini",
    "JsonLines",
    "JsonSse",
    "KubernetesWatch",
    "LangGraph",
    "Mcp",
    "McpState",
    "Mistral",
    "OllamaChat",
    "OpenAIAssistants",
    "OpenAIChat",
    "OpenAIResponses",
    "Sse",
    "SseState",
    "StrictSse",
    "TextSse",
    "TitanText",
    "WatchEvent",
    "WatchState",
    "detect",
]
