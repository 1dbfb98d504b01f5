"""The streaming calls of `openai`: chunks as they come, and the SDK's own accumulators."""

from __future__ import annotations

from typing import Any

from untorn.dialects.openai_assistants import OpenAIAssistants
from untorn.dialects.openai_chat import OpenAIChat
from untorn.dialects.openai_responses import OpenAIResponses

from .answer import Answer, Call
from .transport import MESSAGES, client


def sdk(wire: bytes) -> Any:
    import httpx2
    from openai import OpenAI

    http = client(httpx2, wire)
    return OpenAI(api_key="key", base_url="http://test/v1", max_retries=0, http_client=http)


def usage(said: Any) -> dict[str, Any] | None:
    return said.to_dict() if said else None


def chunks(wire: bytes) -> Answer:
    """Join the chunks of choice 0 by hand, with a guard for each field that may be missing."""
    text = refusal = ""
    reason = counts = None
    calls: dict[int, list[str]] = {}
    for chunk in sdk(wire).chat.completions.create(model="m", messages=MESSAGES, stream=True):
        counts = usage(chunk.usage) or counts
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            text += (choice.delta and choice.delta.content) or ""
            refusal += (choice.delta and choice.delta.refusal) or ""
            for piece in (choice.delta and choice.delta.tool_calls) or ():
                call = calls.setdefault(piece.index, ["", "", ""])
                call[0] = call[0] or piece.id or ""
                call[1] = call[1] or piece.function.name or ""
                call[2] += piece.function.arguments or ""
    found = tuple((id or None, name, arguments) for id, name, arguments in calls.values())
    return Answer(text, found, reason, counts, refusal=refusal)


def typed_chunks(wire: bytes) -> Answer:
    """Join the texts as the types allow it, without a guard for what they do not allow."""
    text, reason = "", None
    for chunk in sdk(wire).chat.completions.create(model="m", messages=MESSAGES, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
    return Answer(text, (), reason)


def chat_stream(wire: bytes) -> Answer:
    """Let the SDK accumulate."""
    with sdk(wire).chat.completions.stream(model="m", messages=MESSAGES) as stream:
        whole = stream.get_final_completion()
    choice = whole.choices[0]
    said = choice.message
    calls = tuple(
        (call.id, call.function.name, call.function.arguments) for call in said.tool_calls or ()
    )
    refusal = said.refusal or ""
    counts = usage(whole.usage)
    return Answer(said.content or "", calls, choice.finish_reason, counts, refusal=refusal)


def responses_stream(wire: bytes) -> Answer:
    """Let the SDK accumulate."""
    with sdk(wire).responses.stream(model="m", input="Hello") as stream:
        return of_response(stream.get_final_response())


def responses_resumed(wire: bytes) -> Answer:
    """Let the SDK accumulate, from an event in the middle."""
    with sdk(wire).responses.stream(response_id="resp_1", starting_after=0) as stream:
        return of_response(stream.get_final_response())


def of_response(response: Any) -> Answer:
    calls = tuple(
        (item.call_id, item.name, item.arguments)
        for item in response.output
        if item.type == "function_call"
    )
    cut = response.incomplete_details
    reason = (cut and cut.reason) or response.status
    return Answer(response.output_text, calls, reason, usage(response.usage))


def response_events(wire: bytes) -> Answer:
    """Join the text of the events by hand; a caller who wants no more need look at no other."""
    text = ""
    for event in sdk(wire).responses.create(model="m", input="Hello", stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
    return Answer(text)


def assistant_stream(wire: bytes) -> Answer:
    """Let the SDK accumulate; the Assistants API is deprecated, and its methods say so."""
    with sdk(wire).beta.threads.runs.stream(thread_id="t", assistant_id="a") as stream:
        stream.until_done()
        messages = stream.get_final_messages()
        run = stream.current_run
    text = "".join(
        part.text.value for message in messages for part in message.content if part.type == "text"
    )
    return Answer(text, (), run and run.status, usage(run and run.usage))


CHUNKS = Call(
    "openai",
    "openai",
    "chat.completions.create",
    chunks,
    OpenAIChat(),
    ("openai-chat", "mistral-chat"),
)
TYPED_CHUNKS = Call(
    "openai", "openai", "chat.completions.create, as typed", typed_chunks, OpenAIChat()
)
CHAT = Call(
    "openai",
    "openai",
    "chat.completions.stream",
    chat_stream,
    OpenAIChat(),
    ("openai-chat", "mistral-chat"),
)
EVENTS = Call("openai", "openai", "responses.create", response_events, OpenAIResponses())
RESPONSES = Call(
    "openai",
    "openai",
    "responses.stream",
    responses_stream,
    OpenAIResponses(),
    ("openai-responses",),
)
RESUMED = Call("openai", "openai", "responses.stream", responses_resumed, OpenAIResponses())
ASSISTANTS = Call(
    "openai",
    "openai",
    "beta.threads.runs.stream",
    assistant_stream,
    OpenAIAssistants(),
    ("openai-assistants",),
)
