"""Where `openai` differs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from dialects.chat import DONE, call, data
from dialects.chat import chunk as bare_chunk

from untorn.dialects.openai_chat import OpenAIChat

from .deviation import FOX, Deviation, in_character, in_frame, in_message, raw
from .openai_sdk import CHAT, CHUNKS, EVENTS, RESPONSES, RESUMED, TYPED_CHUNKS

STRICT = replace(CHUNKS, dialect=OpenAIChat(done="required"))
IDENTITY = {"object": "chat.completion.chunk", "id": "1", "created": 1, "model": "m"}


def chunk(delta: Any, **fields: Any) -> bytes:
    return bare_chunk(delta, **IDENTITY, **fields)


def calls(*entries: dict[str, Any], **fields: Any) -> bytes:
    return chunk({"tool_calls": list(entries)}, **fields)


HELLO = chunk({"role": "assistant", "content": "Hello"})
STOP = chunk({}, reason="stop")
WHOLE = raw(HELLO + chunk({"content": f" {FOX}!"}) + STOP + DONE)


def response(status: str, **fields: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": status, "output": [], **fields}


def event(kind: str, number: int, **fields: Any) -> bytes:
    return data({"type": kind, "sequence_number": number, **fields}, kind)


def delta(text: str, number: int) -> bytes:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return event("response.output_text.delta", number, delta=text, logprobs=[], **place)


def message(*parts: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in parts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content}


OPENED = (
    event("response.created", 0, response=response("in_progress"))
    + event("response.output_item.added", 1, output_index=0, item=message())
    + event(
        "response.content_part.added",
        2,
        output_index=0,
        content_index=0,
        item_id="msg_1",
        part={"type": "output_text", "text": "", "annotations": []},
    )
    + delta("Hello", 3)
)
LENGTH = {"reason": "max_output_tokens"}
INCOMPLETE = response("incomplete", incomplete_details=LENGTH, output=[message("Hello")])
ERROR = {"code": "server_error", "message": "Overloaded"}
ANSWERED = raw(
    OPENED
    + delta(f" {FOX}!", 4)
    + event("response.completed", 5, response=response("completed", output=[message("Hello 🦊!")]))
)

DEVIATIONS = [
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
        "'Hello', None",
        "Interrupted in a frame: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "an answer that ends between two events",
        in_message(WHOLE),
        "'Hello', None",
        "Interrupted in a message: 'Hello', None",
    ),
    Deviation(
        STRICT,
        'a finish reason and no `[DONE]`; untorn with `done="required"`',
        HELLO + STOP,
        "'Hello', stop",
        "Interrupted in a message: 'Hello', stop",
    ),
    Deviation(
        CHAT,
        "an answer that ends inside a character",
        in_character(WHOLE),
        "raises UnicodeDecodeError",
        "Interrupted in a character: 'Hello', None",
    ),
    Deviation(
        CHAT,
        "an answer that ends inside an event",
        in_frame(WHOLE),
        "'Hello', None",
        "Interrupted in a frame: 'Hello', None",
    ),
    Deviation(
        CHAT,
        "an answer that ends between two events",
        in_message(WHOLE),
        "'Hello', None",
        "Interrupted in a message: 'Hello', None",
    ),
    Deviation(
        CHAT,
        "a tool call that ends inside its arguments",
        calls(call('{"city": "Par', index=0, id="a", name="weather")),
        '\'\', None, a: weather({"city": "Par)',
        'Interrupted in a message: \'\', None, a: weather({"city": "Par)',
    ),
    Deviation(
        CHUNKS,
        "a JSON error as the whole body, status 200",
        json.dumps({"error": {"message": "Overloaded"}}).encode(),
        "'', None",
        "Interrupted in a frame: '', None",
    ),
    Deviation(
        CHUNKS,
        'an error in the words of older vLLM, `{"object": "error"}`',
        HELLO + data({"object": "error", "message": "Overloaded", "code": 500}) + DONE,
        "raises TypeError",
        "Failed, service-error: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "a BOM before the first event",
        b"\xef\xbb\xbf" + HELLO + STOP + DONE,
        "'', stop",
        "Completed: 'Hello', stop",
    ),
    Deviation(
        CHUNKS,
        "a keep-alive comment behind an event with an id",
        b"id: 1\n" + HELLO + b": keep-alive\n\n" + STOP + DONE,
        "raises JSONDecodeError",
        "Completed: 'Hello', stop",
    ),
    Deviation(
        CHUNKS,
        "an event with a name and no data",
        b"event: ping\n\n" + HELLO + STOP + DONE,
        "raises JSONDecodeError",
        "Completed: 'Hello', stop",
    ),
    Deviation(
        CHUNKS,
        "an event that begins as the marker does, `[DONE]?`",
        HELLO + data("[DONE]?") + chunk({"content": " again"}) + STOP + DONE,
        "'Hello', None",
        "Failed, invalid-json: 'Hello', None",
    ),
    Deviation(
        CHUNKS,
        "a character whose two escaped halves come in two events",
        chunk({"content": "\ud83e"}) + chunk({"content": "\udd8a"}) + STOP + DONE,
        "'\\ud83e\\udd8a', stop",
        "Completed: '🦊', stop",
    ),
    Deviation(
        TYPED_CHUNKS,
        "Azure's choices without `delta`",
        "azure-chat__async_filter_choice_without_delta.sse",
        "raises AttributeError",
        "Completed: 'This is a test', stop",
    ),
    Deviation(
        CHUNKS,
        "Mistral's content as a list of parts",
        "mistral-chat__thinking_arrays.sse",
        "raises TypeError",
        "Completed: 'To cross the street  ...', stop, usage",
    ),
    Deviation(
        CHAT,
        "tool calls that are counted from 1",
        calls(call("{}", index=1, id="a", name="now"))
        + calls(call("{}", index=2, id="b", name="here"))
        + chunk({}, reason="tool_calls")
        + DONE,
        "raises IndexError",
        "Completed: '', tool_calls, a: now({}), b: here({})",
    ),
    Deviation(
        CHAT,
        "a tool call without index",
        "mistral-chat__tool_call_whole_no_index.sse",
        "raises TypeError",
        'Completed: \'\', tool_calls, qDEcl0n: get_weather({"city": "San Francisco"}), usage',
    ),
    Deviation(
        CHAT,
        "a tool call that repeats its id with each fragment",
        calls(call("{", index=0, id="a", name="now"))
        + calls(call("}", index=0, id="a"), reason="tool_calls")
        + DONE,
        "'', tool_calls, aa: now({})",
        "Completed: '', tool_calls, a: now({})",
    ),
    Deviation(
        CHAT,
        "a tool call that repeats its name with each fragment",
        calls(call('{"a"', index=0, id="a", name="now"))
        + calls(call(": 1}", index=0, id="a", name="now"), reason="tool_calls")
        + DONE,
        "'', tool_calls, aa: nownow({\"a\": 1})",
        "Completed: '', tool_calls, a: now({\"a\": 1})",
    ),
    Deviation(
        CHAT,
        "arguments that are null from first to last",
        "openrouter-chat__arguments_null.sse",
        "'', tool_calls, 0: llm_version(null), usage",
        "Completed: '', tool_calls, 0: llm_version(), usage",
    ),
    Deviation(
        CHAT,
        "usage, and another chunk behind it",
        "openai-chat__moderation_obfuscation.sse",
        "'Paris.', stop",
        "Completed: 'Paris.', stop, usage",
    ),
    Deviation(
        CHAT,
        "annotations, which have no index, in two chunks",
        chunk({"content": "Hello", "annotations": [{"type": "url_citation"}]})
        + chunk({"annotations": [{"type": "url_citation"}]})
        + STOP
        + DONE,
        "raises RuntimeError",
        "Completed: 'Hello', stop",
    ),
    Deviation(
        CHAT,
        "an answer that the content filter cut short",
        "azure-chat__content_filter_no_done.sse",
        "raises ContentFilterFinishReasonError",
        "Completed: 'This is a test', content_filter",
    ),
    Deviation(
        CHAT,
        "an answer that `max_tokens` cut short",
        HELLO + chunk({}, reason="length") + DONE,
        "raises LengthFinishReasonError",
        "Completed: 'Hello', length",
    ),
    Deviation(
        EVENTS,
        "an answer that ends inside a character",
        in_character(ANSWERED),
        "raises UnicodeDecodeError",
        "Interrupted in a character: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "an answer that ends inside an event",
        in_frame(ANSWERED),
        "'Hello', None",
        "Interrupted in a frame: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "an answer that ends between two events",
        in_message(ANSWERED),
        "'Hello', None",
        "Interrupted in a message: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "an error event as it is documented, with its fields on top",
        OPENED + event("error", 4, param=None, **ERROR),
        "'Hello', None",
        "Failed, service-error: 'Hello', None",
    ),
    Deviation(
        EVENTS,
        "`response.failed`",
        OPENED + event("response.failed", 4, response=response("failed", error=ERROR)),
        "'Hello', None",
        "Failed, service-error: 'Hello', None",
    ),
    Deviation(
        RESPONSES,
        "`response.incomplete`",
        OPENED + event("response.incomplete", 4, response=INCOMPLETE),
        "raises RuntimeError",
        "Completed: 'Hello', max_output_tokens",
    ),
    Deviation(
        RESPONSES,
        "`response.failed`",
        OPENED + event("response.failed", 4, response=response("failed", error=ERROR)),
        "raises RuntimeError",
        "Failed, service-error: 'Hello', None",
    ),
    Deviation(
        RESPONSES,
        "a response whose id changes, as a gateway sends it",
        ANSWERED.replace(b"resp_1", b"resp_2").replace(b"resp_2", b"resp_1", 1),
        "raises RuntimeError",
        "Completed: 'Hello 🦊!', completed",
    ),
    Deviation(
        RESPONSES,
        "`response.incomplete` from a service that renames the items",
        "openai-responses__incomplete_no_space_after_colon.sse",
        "raises RuntimeError",
        "Completed: 'Hello,', max_output_tokens, usage",
    ),
    Deviation(
        RESPONSES,
        "a background response, resumed behind its first event",
        "openai-responses__background_resumed_after_0.sse",
        "raises RuntimeError",
        "Completed: '2 + 2 equals 4.', completed, usage",
    ),
    Deviation(
        RESUMED,
        "a background response, resumed with `starting_after`",
        "openai-responses__background_resumed_after_0.sse",
        "raises RuntimeError",
        "Completed: '2 + 2 equals 4.', completed, usage",
    ),
]
