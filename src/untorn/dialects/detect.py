"""What a stream is: the dialect, told from the media type and the first frame.

1. The media type decides the framing. Where there is none, the first byte does: a
   NUL begins AWS's binary event stream, `{` or `[` a line of JSON, and anything
   else Server-Sent Events.
2. The first frame that carries anything decides the dialect, by the shape of its
   JSON or by the type of its event; `_SSE_SHAPES` and `_LINE_SHAPES` are the rules,
   the first that fits counts. Events with empty data (MCP sends them to hand out an
   id) and comments are passed over.
3. What fits no rule is `Sse()` or `JsonLines()`, which know no completion of their
   own: their end of transport is an interruption.

A guess is made for people at a terminal. A program knows its service, and says so.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

from ..event import ChatEvent, Message
from ..eventstream import BytesDecoder, EventStreamFramer, EventStreamMessage
from ..faults import InvalidJson, StreamFault
from ..limits import Limits
from ..ndjson import LineFramer
from ..payload import parse_json
from ..reduce import Decoder, Dialect, Framer
from ..sse import SseFramer
from ..text import Utf8Decoder
from .a2a import A2A
from .ai_sdk_ui import AiSdkUi
from .anthropic import AnthropicMessages
from .bedrock import Bedrock
from .cohere import CohereChat
from .gemini import Gemini
from .json_lines import JsonLines
from .kubernetes import KubernetesWatch
from .langgraph import LangGraph
from .mcp import Mcp
from .ollama import OllamaChat
from .openai_assistants import OpenAIAssistants
from .openai_chat import OpenAIChat
from .openai_responses import OpenAIResponses
from .sse import Sse
from .titan import TitanText
from .typed import Payload, string

__all__ = ["Detection", "detect", "media_type"]

AnyDialect: TypeAlias = Dialect[Any, Any]
Shape: TypeAlias = Callable[[str, Payload], bool]
"""Says whether a frame fits: the type of its event, and its JSON object (`{}` for others)."""


# A value between commas, which may stand inside quotes, too; and a type that is one.
_VALUE: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+')
_TYPE: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+")


def media_type(content_type: str | None) -> str | None:
    """Return the media type of a `Content-Type` header, without parameters, in lower case.

    Of several (a field that was sent twice, or one with a comma behind it) it is the
    last that is valid; Fetch Standard, "extract a MIME type". Where none is, the first.
    """
    values = _VALUE.findall(content_type or "")
    kinds = [value.partition(";")[0].strip().lower() for value in values]
    valid = [kind for kind in kinds if _TYPE.fullmatch(kind) and kind != "*/*"]
    return valid[-1] if valid else next(filter(None, kinds), None)


def detect(content_type: str | None, first_frame: str | bytes) -> AnyDialect:
    """Return the dialect of a stream that begins with `first_frame`.

    content_type
        The response's `Content-Type`, if there is one.
    first_frame
        The beginning of the body, up to the end of the first frame that carries
        anything, or more. Whether its blank line is there does not matter.
    """
    data = first_frame if isinstance(first_frame, bytes) else first_frame.encode("utf-8", "replace")
    detection = Detection(content_type)
    return detection.feed(data) or detection.feed(b"\n\n") or detection.end()


class Detection:
    """The same for a body that comes in chunks: feed it until it knows."""

    def __init__(self, content_type: str | None) -> None:
        self._media_type = media_type(content_type)
        self._decoder: Decoder | None = None
        self._framer: Framer | None = None
        self._blank: list[Any] = []  # pieces before the first character that says anything

    def feed(self, chunk: bytes) -> AnyDialect | None:
        """Return the dialect if the bytes so far tell it."""
        if self._decoder is None and chunk:
            self._begin(chunk)
        try:
            for piece in self._decoder.feed(chunk) if self._decoder else ():
                if (found := self._read(piece)) is not None:
                    return found
        except StreamFault:  # which the reader of the stream will meet, too
            return self.end()
        return None

    def end(self) -> AnyDialect:
        """Return the dialect if nothing more comes."""
        if isinstance(self._framer, EventStreamFramer):
            return Bedrock()
        return JsonLines() if isinstance(self._framer, LineFramer) else Sse()

    def _begin(self, chunk: bytes) -> None:
        if self._media_type == "application/vnd.amazon.eventstream" or chunk[0] == 0:
            self._decoder = BytesDecoder()
            self._framer = EventStreamFramer(Bedrock().limits.frame_bytes)
        else:
            self._decoder = Utf8Decoder()

    def _read(self, piece: Any) -> AnyDialect | None:
        self._blank.append(piece)
        if self._framer is None:
            self._framer = self._framing(piece[0].strip()[:1])
        if self._framer is None:
            return None
        pieces, self._blank = self._blank, []
        for piece in pieces:
            for frames, _, _ in self._framer.feed(piece):
                for frame in frames:
                    if (found := _look(frame)) is not None:
                        return found
        return None

    def _framing(self, first: str) -> Framer | None:
        most = Limits().frame_bytes
        if self._media_type == "text/event-stream":
            return SseFramer(most)
        if self._media_type is not None and "json" in self._media_type:
            return LineFramer(most)
        if not first:
            return None
        return LineFramer(most) if first in "{[" else SseFramer(most)


# --- the rules --------------------------------------------------------------------


def _look(frame: Any) -> AnyDialect | None:
    """Return the dialect that a frame tells; `None` if it carries nothing."""
    if isinstance(frame, EventStreamMessage):
        return Bedrock(_inner(frame))
    in_lines = isinstance(frame, str)
    event, data = ("", frame) if in_lines else frame[:2]
    if not data.strip():
        return None
    if data.startswith("[DONE]"):
        return OpenAIChat()
    try:
        payload = parse_json(data)
    except InvalidJson:
        return JsonLines() if in_lines else Sse()
    payload = payload if isinstance(payload, dict) else {}
    for fits, dialect in _LINE_SHAPES if in_lines else _SSE_SHAPES:
        if fits(event, payload):
            return dialect()
    return JsonLines() if in_lines else Sse()


def _inner(message: EventStreamMessage) -> Dialect[ChatEvent, Message] | None:
    """Return the dialect inside a stream of chunks; `None` for a stream of other events."""
    if message.header(":event-type") != "chunk":
        return None
    with suppress(InvalidJson, ValueError):
        payload = parse_json(message.payload.decode())
        if b"outputText" in b64decode(string(payload, "bytes")):
            return TitanText()
    return AnthropicMessages()


def _word(event: str, payload: Payload) -> str:
    """Return the name that the payload gives itself, or else the type of its event."""
    return string(payload, "type") or event


def _typed(*words: str) -> Shape:
    """Fit payloads of a type; a word with a trailing `*` stands for all that begin with it."""
    whole = frozenset(word for word in words if not word.endswith("*"))
    begins = tuple(word[:-1] for word in words if word.endswith("*"))

    def fits(event: str, payload: Payload) -> bool:
        word = _word(event, payload)
        return word in whole or word.startswith(begins)

    return fits


def _has(*keys: str) -> Shape:
    """Fit payloads that have one of the keys."""
    return lambda event, payload: any(key in payload for key in keys)


def _of_event(*prefixes: str) -> Shape:
    """Fit events whose type begins with one of the prefixes."""
    return lambda event, payload: event.startswith(prefixes)


def _is_run(event: str, payload: Payload) -> bool:
    return event == "metadata" and "run_id" in payload


def _is_a2a(event: str, payload: Payload) -> bool:
    """Fit a task, a message, or news of a task, bare or as the result of a call."""
    result = payload.get("result") if "jsonrpc" in payload else payload
    if not isinstance(result, dict):
        return False
    found = [result.get(key) for key in ("task", "message", "statusUpdate", "artifactUpdate")]
    return any(
        isinstance(item, dict) and ("contextId" in item or "messageId" in item) for item in found
    )


def _error(*keys: str) -> Shape:
    """Fit errors; if there are keys, those that have one of them beside or inside `error`."""

    def fits(event: str, payload: Payload) -> bool:
        error = payload.get("error")
        inner = error if isinstance(error, dict) else {}
        is_error = bool(error) or _word(event, payload) == "error"
        return is_error and (not keys or any(key in payload or key in inner for key in keys))

    return fits


_SSE_SHAPES: Final[tuple[tuple[Shape, Callable[[], AnyDialect]], ...]] = (
    (_typed("response.*"), OpenAIResponses),
    (_typed("message_*", "content_block_*", "ping"), AnthropicMessages),
    (_typed("message-start", "content-*", "tool-plan-delta", "tool-call-*"), CohereChat),
    (_typed("start", "start-step", "text-*", "reasoning-*", "tool-input-*", "data-*"), AiSdkUi),
    (_has("choices"), OpenAIChat),
    (_has("candidates", "promptFeedback", "usageMetadata"), Gemini),
    (_is_a2a, A2A),
    (_has("jsonrpc"), Mcp),
    (_of_event("thread."), OpenAIAssistants),
    (_is_run, LangGraph),
    (_of_event("messages/", "messages|", "updates|", "values|"), LangGraph),
    # What fails at once still says who speaks.
    (_error("errorText"), AiSdkUi),
    (_error("sequence_number", "param"), OpenAIResponses),
    (_typed("error"), AnthropicMessages),
    (_error("status"), Gemini),
    (_error(), OpenAIChat),
)

_LINE_SHAPES: Final[tuple[tuple[Shape, Callable[[], AnyDialect]], ...]] = (
    (_typed("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"), KubernetesWatch),
    (_has("done"), OllamaChat),
    (_error(), OllamaChat),
)
