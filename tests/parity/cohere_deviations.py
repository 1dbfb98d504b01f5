"""Where `cohere` differs."""

from __future__ import annotations

from typing import Any

from dialects.chat import DONE, data

from .cohere_sdk import EVENTS
from .deviation import FOX, Deviation, in_character, in_frame, in_message, raw


def event(kind: str, **fields: Any) -> bytes:
    return data({"type": kind, **fields}, kind)


def text(piece: str) -> bytes:
    content = {"message": {"content": {"text": piece}}}
    return event("content-delta", index=0, delta=content)


def end(reason: str = "COMPLETE", **fields: Any) -> bytes:
    return event("message-end", delta={"finish_reason": reason, **fields}) + DONE


HELLO = event("message-start", id="1", delta={"message": {"role": "assistant"}}) + text("Hello")
WHOLE = raw(HELLO + text(f" {FOX}!") + end())

DEVIATIONS = [
    Deviation(
        EVENTS,
        "an answer that ends inside a character",
        in_character(WHOLE),
        "'Hello', None",
        "Interrupted in a character: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "an answer that ends inside an event",
        in_frame(WHOLE),
        "'Hello', None",
        "Interrupted in a frame: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "an answer that ends between two events",
        in_message(WHOLE),
        "'Hello', None",
        "Interrupted in a message: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "`[DONE]` without `message-end`",
        HELLO + DONE,
        "'Hello', None",
        "Interrupted in a message: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "an event whose data is no JSON",
        HELLO
        + data('{"type": "content-delta", "delta": {"mess', "content-delta")
        + text("!")
        + end(),
        "'Hello!', COMPLETE",
        "Failed, invalid-json: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "the finish reason `ERROR`",
        HELLO + end("ERROR"),
        "'Hello', ERROR",
        "Failed, service-error: 'Hello', ERROR",
    ),
    Deviation(
        EVENTS,
        "an `error` in `message-end`",
        HELLO + end("COMPLETE", error="Overloaded"),
        "'Hello', COMPLETE",
        "Failed, service-error: 'Hello', COMPLETE",
    ),
    Deviation(
        EVENTS,
        "a character whose two escaped halves come in two events",
        HELLO + text("\ud83e") + text("\udd8a") + end(),
        "'Hello\\ud83e\\udd8a', COMPLETE",
        "Completed: 'Hello🦊', COMPLETE",
    ),
]
