"""Where `anthropic` differs."""

from __future__ import annotations

from typing import Any

from dialects.chat import data

from .anthropic_sdk import BETA, EVENTS, MESSAGES_STREAM
from .deviation import FOX, Deviation, in_character, in_frame, in_message, raw


def event(kind: str, **fields: Any) -> bytes:
    return data({"type": kind, **fields}, kind)


def text(piece: str, index: int = 0) -> bytes:
    return event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})


def json_piece(piece: str) -> bytes:
    said = {"type": "input_json_delta", "partial_json": piece}
    return event("content_block_delta", index=0, delta=said)


MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
START = event("message_start", message=MESSAGE)
OPEN = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
TOOL = {"type": "tool_use", "id": "toolu_1", "name": "remove", "input": {}}
CLOSE = event("content_block_stop", index=0)
DELTA = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3})
STOP = event("message_stop")
HELLO = START + OPEN + text("Hello")
WHOLE = raw(HELLO + text(f" {FOX}!") + CLOSE + DELTA + STOP)


def nameless(wire: bytes) -> bytes:
    """Return the same events without their `event:` lines."""
    return b"".join(line for line in wire.splitlines(True) if not line.startswith(b"event"))


DEVIATIONS = [
    Deviation(
        MESSAGES_STREAM,
        "an answer that ends inside a character",
        in_character(WHOLE),
        "raises UnicodeDecodeError",
        "Interrupted in a character: 'Hello', None, usage",
    ),
    Deviation(
        MESSAGES_STREAM,
        "an answer that ends inside an event",
        in_frame(WHOLE),
        "'Hello', None, usage",
        "Interrupted in a frame: 'Hello', None, usage",
    ),
    Deviation(
        MESSAGES_STREAM,
        "an answer that ends between two events",
        in_message(WHOLE),
        "'Hello', None, usage",
        "Interrupted in a message: 'Hello', None, usage",
    ),
    Deviation(
        MESSAGES_STREAM,
        "a tool call that ends inside its input",
        START
        + event("content_block_start", index=0, content_block=TOOL)
        + json_piece('{"path": "/a')
        + json_piece('/b", "all": tr'),
        '\'\', None, toolu_1: remove({"path": "/a/b"}), usage',
        'Interrupted in a message: \'\', None, toolu_1: remove({"path": "/a/b", "all": tr), usage',
    ),
    Deviation(
        MESSAGES_STREAM,
        "a stop reason, and then the end without `message_stop`",
        HELLO + CLOSE + DELTA,
        "'Hello', end_turn, usage",
        "Interrupted in a message: 'Hello', end_turn, usage",
    ),
    Deviation(
        MESSAGES_STREAM,
        "`message_stop` without its blank line",
        (HELLO + CLOSE + DELTA + STOP)[:-1],
        "'Hello', end_turn, usage",
        "Interrupted in a frame: 'Hello', end_turn, usage",
    ),
    Deviation(
        EVENTS,
        "events without `event:` lines, as some gateways send them",
        nameless(WHOLE),
        "'', None",
        "Completed: 'Hello 🦊!', end_turn, usage",
    ),
    Deviation(
        MESSAGES_STREAM,
        "events without `event:` lines, as some gateways send them",
        nameless(WHOLE),
        "raises AssertionError",
        "Completed: 'Hello 🦊!', end_turn, usage",
    ),
    Deviation(
        MESSAGES_STREAM,
        "a BOM before the first event",
        b"\xef\xbb\xbf" + WHOLE,
        "raises AssertionError",
        "Completed: 'Hello 🦊!', end_turn, usage",
    ),
    Deviation(
        MESSAGES_STREAM,
        "a second message spliced into the first",
        "anthropic__spliced_second_message_start.sse",
        '\'\', tool_use, toolu_f: test-tool({"value": "Spark{"}), toolu_s: test-tool({}), usage',
        'Failed, protocol: \'\', None, toolu_f: test-tool({"value":"Spark), usage',
    ),
    Deviation(
        BETA,
        "a second message spliced into the first",
        "anthropic__spliced_second_message_start.sse",
        '\'\', tool_use, toolu_f: test-tool({"value": "Spark{"}), toolu_s: test-tool({}), usage',
        'Failed, protocol: \'\', None, toolu_f: test-tool({"value":"Spark), usage',
    ),
    Deviation(
        MESSAGES_STREAM,
        "the input of an MCP tool, which the beta call reads",
        "anthropic__mcp_tool_use.sse",
        "'**Pydantic-AI** is a ...', end_turn, mcptool: ask_question({}), usage",
        "Completed: '**Pydantic-AI** is a ...', end_turn, "
        'mcptool: ask_question({"repoName": "pydantic/pyd ...), usage',
    ),
    Deviation(
        MESSAGES_STREAM,
        "a character whose two escaped halves come in two events",
        START + OPEN + text("\ud83e") + text("\udd8a") + CLOSE + DELTA + STOP,
        "'\\ud83e\\udd8a', end_turn, usage",
        "Completed: '🦊', end_turn, usage",
    ),
    Deviation(
        MESSAGES_STREAM,
        "text for a block that is closed",
        HELLO + CLOSE + text("?") + DELTA + STOP,
        "'Hello?', end_turn, usage",
        "Failed, protocol: 'Hello', None, usage",
    ),
]
