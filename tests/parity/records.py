"""All calls that are compared, all deviations that are known, and the SDKs they were seen in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dialects.captures import Capture, captures

from . import (
    anthropic_deviations,
    cohere_deviations,
    google_genai_deviations,
    mistral_deviations,
    ollama_deviations,
    openai_deviations,
)
from .answer import Call
from .anthropic_sdk import BETA, MESSAGES_STREAM
from .cohere_sdk import EVENTS
from .google_genai_sdk import CHUNKS as GEMINI
from .mistral_sdk import CHUNKS as MISTRAL
from .ollama_sdk import CHAT as OLLAMA
from .ollama_sdk import GENERATE
from .openai_sdk import ASSISTANTS, CHAT, CHUNKS, RESPONSES

VERSIONS = {
    "anthropic": "2.14.0",
    "cohere": "7.3.1",
    "google-genai": "3.6.1",
    "mistralai": "3.7.0",
    "ollama": "0.6.3",
    "openai": "3.57.0",
}

CALLS = (
    CHUNKS,
    CHAT,
    RESPONSES,
    ASSISTANTS,
    MESSAGES_STREAM,
    BETA,
    GEMINI,
    OLLAMA,
    GENERATE,
    EVENTS,
    MISTRAL,
)

DEVIATIONS = [
    *openai_deviations.DEVIATIONS,
    *anthropic_deviations.DEVIATIONS,
    *google_genai_deviations.DEVIATIONS,
    *ollama_deviations.DEVIATIONS,
    *cohere_deviations.DEVIATIONS,
    *mistral_deviations.DEVIATIONS,
]

_WIRES = {name.split("__")[0] for call in CALLS for name in call.reads}


def pairs() -> Iterator[tuple[Call, Capture]]:
    """Yield each call with each capture it is made for, but not where a deviation is known."""
    known = {(deviation.call.id, deviation.wire) for deviation in DEVIATIONS}
    for capture in _captures():
        for call in CALLS:
            if _is_made_for(call, capture) and (call.id, capture.file) not in known:
                yield call, capture


def _is_made_for(call: Call, capture: Capture) -> bool:
    return capture.dialect.split(" (")[0] in call.reads or capture.file.startswith(call.reads)


def pair_parameters() -> list[Any]:
    """Return a pytest parameter for each pair, or one that is skipped where captures are absent."""
    found = [
        pytest.param(call, capture, id=f"{call.id}-{capture.file}") for call, capture in pairs()
    ]
    absent = pytest.mark.skip(reason="there is no shared/captures beside the checkout")
    return found or [pytest.param(None, None, id="absent", marks=absent)]


def _captures() -> list[Capture]:
    found = (parameter.values[0] for parameter in captures(*_WIRES))
    return [capture for capture in found if capture is not None]
