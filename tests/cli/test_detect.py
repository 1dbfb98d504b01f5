"""The dialect is told from the media type and the first frame."""

import json
from typing import Any

import pytest
from dialects.captures import Capture, captures

from untorn.cli.dialects import AUTO, DIALECTS, media_types
from untorn.dialects.bedrock import Bedrock
from untorn.dialects.detect import Detection, detect, media_type
from untorn.dialects.json_lines import JsonLines
from untorn.dialects.sse import Sse

SSE = "text/event-stream; charset=utf-8"

SPEAKS = {
    "a2a": "a2a",
    "anthropic": "anthropic-messages",
    "ai-sdk-ui": "vercel-ui-message-stream",
    "bedrock": "aws-eventstream",
    "cohere": "cohere-v2",
    "gemini": "gemini",
    "langgraph": "langgraph",
    "mcp": "mcp-streamable-http",
    "ollama": "ollama",
    "openai-assistants": "openai-assistants",
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "sse": "whatwg-sse",
}
NAMES = {spoken: name for name, spoken in SPEAKS.items()} | {"mistral-chat": "openai-chat"}


def name_of(dialect: Any) -> str:
    """Return the first name of a dialect of this class."""
    return next(name for name, named in DIALECTS.items() if type(named.dialect()) is type(dialect))


@pytest.mark.parametrize("capture", captures(*NAMES))
def test_a_capture_is_told(capture: Capture) -> None:
    """Every recorded stream is told, with its content type and without, whole and by the byte."""
    expected = NAMES[capture.dialect.split(" (")[0]]
    if capture.content_type == "application/json":
        expected = "json-lines"  # no stream: an error
    assert name_of(detect(capture.content_type, capture.wire)) == expected
    assert name_of(detect(None, capture.wire)) == expected
    detection = Detection(None)
    drip = (detection.feed(capture.wire[k : k + 1]) for k in range(len(capture.wire)))
    assert name_of(next(filter(None, drip), None) or detection.end()) == expected


SHAPES: list[tuple[str, str | None, Any]] = [
    ("openai-responses", None, {"type": "response.queued"}),
    ("openai-responses", None, {"type": "error", "sequence_number": 1, "message": "no"}),
    ("openai-responses", None, {"type": "error", "error": {"message": "no", "param": None}}),
    ("anthropic", None, {"type": "ping"}),
    ("anthropic", "message_start", {"message": {}}),
    ("anthropic", None, {"type": "error", "error": {"type": "overloaded_error"}}),
    ("cohere", None, {"type": "message-start", "id": "1"}),
    ("ai-sdk-ui", None, {"type": "data-weather", "data": 1}),
    ("ai-sdk-ui", None, {"type": "error", "errorText": "no"}),
    ("gemini", None, {"promptFeedback": {"blockReason": "SAFETY"}}),
    ("gemini", None, {"error": {"code": 400, "status": "INVALID_ARGUMENT"}}),
    ("openai-chat", None, {"error": {"message": "no"}}),
    ("a2a", None, {"statusUpdate": {"contextId": "c", "status": {}}}),
    ("mcp", None, {"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "t"}}}),
    ("mcp", None, {"jsonrpc": "2.0", "id": 1, "result": []}),
    ("langgraph", "messages/partial", []),
    ("langgraph", "values|child:1", {"x": 1}),
    ("sse", "messages", {"x": 1}),
    ("sse", "metadata", {"x": 1}),
    ("sse", None, {"message": "hello", "error": None}),
    ("sse", None, 5),
]


@pytest.mark.parametrize(("name", "event", "payload"), SHAPES)
def test_the_shape_of_a_frame_tells(name: str, event: str | None, payload: Any) -> None:
    """Of a frame that carries JSON its shape tells, or the type of its event."""
    head = f"event: {event}\n" if event else ""
    frame = f"{head}data: {json.dumps(payload)}"
    assert name_of(detect(SSE, frame)) == name
    assert name_of(detect(None, frame.encode() + b"\n\ndata: more\n\n")) == name


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("kubernetes", {"type": "ADDED", "object": {}}),
        ("ollama", {"response": "Hi", "done": False}),
        ("ollama", {"error": "no such model"}),
        ("json-lines", {"message": "started", "error": None}),
        ("json-lines", [1, 2]),
    ],
)
@pytest.mark.parametrize("content_type", [None, "application/json", "Application/X-NDJSON; a=b"])
def test_the_shape_of_a_line_tells(name: str, line: Any, content_type: str | None) -> None:
    """So does a line's, where the media type or the first character says that there are lines."""
    assert name_of(detect(content_type, json.dumps(line))) == name


def test_what_carries_nothing_is_passed_over() -> None:
    """Comments, events without data and blank lines come before the frame that tells."""
    wire = '\ufeff\n \n: hi\n\nid: 1\ndata:\n\ndata: {"jsonrpc": "2.0", "method": "m"}\n\n'
    assert name_of(detect(None, wire)) == "mcp"
    assert name_of(detect(None, ' \n\n{"done": false}')) == "ollama"


@pytest.mark.parametrize("wire", ["", " \n", ": hi\n\n", "data: hello\n\n", "event: a\n", b"\xff"])
def test_what_fits_no_rule_is_plain(wire: str | bytes) -> None:
    """Everything else is Server-Sent Events, of which nothing is assumed."""
    assert detect(None, wire) == Sse()
    assert detect(SSE, wire) == Sse()


def test_a_lone_sentinel_is_a_chat() -> None:
    """`[DONE]` and nothing before it is how some servers end what has failed."""
    assert name_of(detect(SSE, "data: [DONE]")) == "openai-chat"


@pytest.mark.parametrize("wire", ["{", "{}x", "[1", '{"a": "\ud83d"}'])
def test_lines_that_tell_nothing_are_lines(wire: str) -> None:
    """The first character decides the framing, whatever follows."""
    assert detect(None, wire) == JsonLines()


def test_a_frame_beyond_the_limit_tells_nothing() -> None:
    """Looking stops where reading would fail."""
    detection = Detection(SSE)
    found = [detection.feed(b"data: " + b"x" * 2**20) for _ in range(18)]
    assert found[0] is None
    assert Sse() in found


def binary(event: str, payload: bytes) -> bytes:
    """Return one message of AWS's event stream."""
    from zlib import crc32

    headers = b"".join(
        bytes([len(name)]) + name + b"\x07" + len(value).to_bytes(2, "big") + value
        for name, value in ((b":message-type", b"event"), (b":event-type", event.encode()))
    )
    prelude = (len(headers) + len(payload) + 16).to_bytes(4, "big")
    prelude += len(headers).to_bytes(4, "big")
    body = prelude + crc32(prelude).to_bytes(4, "big") + headers + payload
    return body + crc32(body).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bedrock", binary("messageStart", b"{}")),
        ("bedrock-titan", binary("chunk", b'{"bytes": "eyJvdXRwdXRUZXh0IjogIiJ9"}')),
        ("bedrock-anthropic", binary("chunk", b'{"bytes": "e30="}')),
        ("bedrock-anthropic", binary("chunk", b"?")),
        ("bedrock-anthropic", binary("chunk", b'{"bytes": "?"}')),
        ("bedrock", b"\0\0"),
        ("bedrock", b"\0" * 16),
    ],
)
def test_a_binary_stream_is_told_by_its_first_message(name: str, message: bytes) -> None:
    """A NUL begins AWS's event stream; its first message says whose events are inside."""
    assert detect(None, message) == DIALECTS[name].dialect()
    assert detect("application/vnd.amazon.eventstream", message) == DIALECTS[name].dialect()
    assert isinstance(detect("application/vnd.amazon.eventstream", b"x"), Bedrock)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (None, None),
        ("", None),
        (" ;x", None),
        ("Text/Event-Stream ;charset=x", "text/event-stream"),
    ],
)
def test_a_media_type_has_no_parameters(content_type: str | None, expected: str | None) -> None:
    """Parameters and case do not count."""
    assert media_type(content_type) == expected


def test_json_is_a_stream_to_who_asked_for_a_watch() -> None:
    """Under `application/json` come errors and whole answers, but for Kubernetes."""
    assert "application/json" in media_types("kubernetes")
    assert "application/json" not in media_types(AUTO)
    assert media_types("openai-chat") < media_types(AUTO)
