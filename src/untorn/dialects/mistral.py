"""Mistral's chat completions.

https://docs.mistral.ai/api/#tag/chat
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from .openai_chat import OpenAIChat

__all__ = ["Mistral"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mistral(OpenAIChat):
    """The wire of `OpenAIChat`, used in full; there is nothing that only Mistral does.

    `content` is a text or a list of typed parts, and may change from one to the other
    within a stream: `thinking` parts are reasoning, parts that are neither text nor
    thinking are kept in `extra["parts"]`. Tool calls come whole and without `index`,
    the id may be `"null"` and the arguments an object. Gateways pass all of this on,
    so `OpenAIChat` reads it too.
    """
