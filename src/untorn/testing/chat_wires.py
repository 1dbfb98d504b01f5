"""Answers as two services stream them, and the places in which an ending can tear them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Any, Final

__all__ = ["ANTHROPIC", "CHAT_WIRES", "OPENAI_CHAT", "ChatWire", "Torn"]


class Torn(Enum):
    """What an ending tears; the first three are those of `untorn.Boundary`."""

    NOTHING = "nothing"
    """The answer is whole: the control."""
    CHARACTER = "character"
    """Inside a UTF-8 sequence of the text."""
    FRAME = "frame"
    """Inside the JSON of a frame."""
    MESSAGE = "message"
    """Between two frames, with text yet to come."""
    FINISH = "finish"
    """Between two frames, behind the finish reason and before the completion marker."""


@dataclass(frozen=True, slots=True)
class ChatWire:
    """An answer as a service streams it."""

    name: str
    frames: tuple[bytes, ...]
    """The frames, each with its blank line; the last is the completion marker, and what is
    before it says the finish reason."""
    text: int
    """The index of a frame whose text has a character of several bytes."""

    def until(self, torn: Torn) -> bytes:
        """Return the bytes up to the place at which `torn` is torn."""
        before, frame = b"".join(self.frames[: self.text]), self.frames[self.text]
        match torn:
            case Torn.NOTHING:
                return b"".join(self.frames)
            case Torn.CHARACTER:
                return before + frame[: next(k for k, byte in enumerate(frame) if byte > 127) + 1]
            case Torn.FRAME:
                return before + frame[: frame.index(b'{"') + 5]
            case Torn.MESSAGE:
                return before + frame
            case Torn.FINISH:  # pragma: no branch - there is no sixth, and mypy says so
                return b"".join(self.frames[:-1])

    def cuts(self, torn: Torn) -> list[int]:
        """Return where its frames end within these bytes: services send them one by one."""
        size = len(self.until(torn))
        return [end for end in accumulate(map(len, self.frames)) if end < size]


def _chat_frames() -> Iterator[bytes]:
    """Yield an answer of OpenAI's chat completions."""
    for delta, reason in (
        ({"role": "assistant", "content": ""}, None),
        ({"content": "It is sunny in "}, None),
        ({"content": "北京"}, None),
        ({"content": " today."}, None),
        ({}, "stop"),
    ):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        yield b"data: %s\n\n" % _json({**head, "choices": [choice]})
    yield b"data: [DONE]\n\n"


def _messages_frames() -> Iterator[bytes]:
    """Yield an answer of Anthropic's Messages."""
    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    ends: dict[str, str | None] = {"stop_reason": None, "stop_sequence": None}
    yield _typed("message_start", message={**message, **ends, "usage": usage})
    yield _typed("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for text in ("It is sunny in ", "北京", " today."):
        yield _typed("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    yield _typed("content_block_stop", index=0)
    ends["stop_reason"] = "end_turn"
    yield _typed("message_delta", delta=ends, usage={"output_tokens": 7})
    yield _typed("message_stop")


def _typed(kind: str, **fields: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), _json({"type": kind, **fields}))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


OPENAI_CHAT: Final = ChatWire("openai-chat", tuple(_chat_frames()), text=2)
ANTHROPIC: Final = ChatWire("anthropic", tuple(_messages_frames()), text=3)

CHAT_WIRES: Final = {wire.name: wire for wire in (OPENAI_CHAT, ANTHROPIC)}
"""The wires by the names of their dialects."""
