"""Where `mistralai` differs."""

from __future__ import annotations

from typing import Any

from dialects.chat import DONE, data
from dialects.chat import chunk as openai_chunk

from .deviation import FOX, Deviation, in_character, in_frame, in_message, raw
from .mistral_sdk import CHUNKS


def chunk(text: str, reason: str | None = None) -> bytes:
    return openai_chunk({"content": text}, reason=reason, id="1", model="m")


def error(**fields: Any) -> bytes:
    return data({"object": "error", "message": "Overloaded", **fields})


HELLO = chunk("Hello")
STOP = chunk("", "stop")
WHOLE = raw(HELLO + chunk(f" {FOX}!") + STOP + DONE)

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
        "raises UnicodeDecodeError",
        "Interrupted in a character: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "an answer that ends inside an event",
        in_frame(WHOLE),
        "raises ResponseValidationError",
        "Interrupted in a frame: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "a last event without its blank line",
        (HELLO + chunk(" again"))[:-2],
        "'Hello again', None",
        "Interrupted in a frame: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "an error object",
        HELLO + error() + DONE,
        "raises ResponseValidationError",
        "Failed, service-error: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "the finish reason `error`",
        HELLO + chunk("", "error") + DONE,
        "'Hello', error",
        "Failed, service-error: 'Hello', error",
    ),
    Deviation(
        CHUNKS,
        "a `retry:` of `²`",
        "retry: ²\n".encode() + WHOLE,
        "raises ValueError",
        "Completed: 'Hello 🦊!', stop",
    ),
    Deviation(
        CHUNKS,
        "a character whose two escaped halves come in two events",
        chunk("\ud83e") + chunk("\udd8a", "stop") + DONE,
        "raises ResponseValidationError",
        "Completed: '🦊', stop",
    ),
]
