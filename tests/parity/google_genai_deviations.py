"""Where `google-genai` differs."""

from __future__ import annotations

from typing import Any

from dialects.chat import data

from .deviation import FOX, Deviation, in_character, in_frame, in_message, raw
from .google_genai_sdk import CHUNKS


def chunk(text: str, reason: str | None = None) -> bytes:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}}
    if reason:
        candidate["finishReason"] = reason
    return data({"candidates": [candidate]})


HELLO = chunk("Hello")
END = chunk("!", "STOP")
WHOLE = raw(HELLO + chunk(f" {FOX}") + END)

DEVIATIONS = [
    Deviation(
        CHUNKS,
        "an answer that ends between two events",
        in_message(WHOLE),
        "'Hello', None",
        "Interrupted in a message: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "an answer that ends inside a character",
        in_character(WHOLE),
        "raises UnknownApiResponseError",
        "Interrupted in a character: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "an answer that ends inside an event",
        in_frame(WHOLE),
        "raises UnknownApiResponseError",
        "Interrupted in a frame: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "a last event without its blank line",
        "gemini__final_chunk_no_parts.sse",
        "'I will generate a 3D ...', STOP, usage",
        "Interrupted in a frame: 'I will generate a 3D ...', None, usage",
    ),
    Deviation(
        CHUNKS,
        "a keep-alive comment",
        HELLO + b": keep-alive\n\n" + END,
        "raises UnknownApiResponseError",
        "Completed: 'Hello!', STOP",
    ),
    Deviation(
        CHUNKS,
        "`data:` without a space behind it",
        (HELLO + END).replace(b": {", b":{", 1),
        "raises UnknownApiResponseError",
        "Completed: 'Hello!', STOP",
    ),
    Deviation(
        CHUNKS,
        "an event with an id",
        b"id: 1\n" + HELLO + END,
        "raises UnknownApiResponseError",
        "Completed: 'Hello!', STOP",
    ),
    Deviation(
        CHUNKS,
        "a BOM before the first event",
        b"\xef\xbb\xbf" + HELLO + END,
        "raises UnknownApiResponseError",
        "Completed: 'Hello!', STOP",
    ),
    Deviation(
        CHUNKS,
        "a call whose arguments are streamed (Vertex AI)",
        "vertex__partial_args_nested.sse",
        "'', STOP, cookRecipe({}), None({}), and 74 more calls, usage",
        'Completed: \'\', STOP, cookRecipe({"recipe": {"ingredients": ...), usage',
    ),
    Deviation(
        CHUNKS,
        "a finish reason that is a failure",
        HELLO + chunk("", "MALFORMED_FUNCTION_CALL"),
        "'Hello', MALFORMED_FUNCTION_CALL",
        "Failed, service-error: 'Hello', MALFORMED_FUNCTION_CALL",
    ),
    Deviation(
        CHUNKS,
        "a character whose two escaped halves come in two events",
        chunk("\ud83e") + chunk("\udd8a", "STOP"),
        "'\\ud83e\\udd8a', STOP",
        "Completed: '🦊', STOP",
    ),
]
