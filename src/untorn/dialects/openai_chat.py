"""OpenAI Chat Completions, and the many services that speak it.

https://platform.openai.com/docs/api-reference/chat-streaming

Chunks `{"choices": [{"index", "delta", "finish_reason"}], "usage"}`, then `[DONE]`.
Spoken by Azure, DeepSeek, Groq, Mistral, Ollama, OpenRouter, Snowflake, vLLM, Z.ai
and others, each with its own omissions: a field that is missing, null or empty says
nothing, and one that nobody knows is passed over.

What carries the answer (choices, deltas, texts, calls) must have the type it is
documented with, or the stream fails: an answer of which a part was passed over must
not look whole. What goes beside it (usage, ids, log probabilities) is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..event import ChatEvent, Message, Other, UsageUpdate
from ..faults import ServiceError, StreamFault
from ..frame import SseFrame
from ..limits import Limits
from ..reduce import Dialect, Reducer
from ..stage import Cut, Ending
from .message import Fields, MessageFold
from .openai_choice import Answer, misplaced, objects
from .options import check_options
from .typed import Payload, object_of, service_error, string

__all__ = ["OpenAIChat"]

_SENTINEL: Final = "[DONE]"

# OpenRouter and Mistral; Cohere behind a gateway; DeepSeek: the answer failed.
_FAILURES: Final = frozenset({"error", "timeout", "insufficient_system_resource"})

_FLAT: Final = frozenset({"error_type", "error_message", "error_code"})

_IDENTITY: Final = ("id", "created", "model", "provider", "service_tier", "system_fingerprint")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIChat(Dialect[ChatEvent, Message]):
    """Chat Completions (and legacy Completions) of OpenAI and those who speak its wire.

    `[DONE]` completes. A clean end of the transport without it is an interruption,
    unless `done` is `"optional"` and every choice that was seen has its finish reason:
    some gateways never send `[DONE]`. Then the marker is `"finish_reason"`, a weak one,
    for a stream cut behind the finish reason has lost its usage and nobody can tell.

    An error in band, in any of its spellings, and a finish reason that means one fail
    the stream, whatever comes before or after them.

    `ToolCallDone` and `Finish` come with the completion and not with the finish
    reason, behind which services still send fragments, errors and other finish
    reasons. The calls of a choice that was cut short (`length`, `content_filter`) are
    never finished, for what looks like no arguments may be arguments cut off. Where no
    finish reason came, or one that is not known, a call is finished only if its
    arguments are a whole JSON object: nothing can follow one, so it is not cut off.
    One without a name has lost its beginning, and is never finished.

    `Message.extra`: `id`, `created`, `model`, `provider`, `service_tier` and
    `system_fingerprint`; and of each choice `annotations`, `audio`, `images`,
    `logprobs`, `parts` (content that is neither text nor thinking) and
    `reasoning_details`.
    """

    done: Literal["optional", "required"] = "optional"

    def __post_init__(self) -> None:
        check_options(self)

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _ChatReducer(self.done == "required", limits.value_bytes)


class _ChatReducer(Reducer[ChatEvent, Message]):
    def __init__(self, done_is_required: bool, value_bytes: int) -> None:
        self._done_is_required = done_is_required
        self._fold = MessageFold(value_bytes)
        self._identity = Fields()
        self._fold.extra = self._identity
        self._answers: dict[int, Answer] = {}

    @property
    def value(self) -> Message:
        return self._fold.message()

    def is_keepalive(self, event: ChatEvent) -> bool:
        return isinstance(event, Other) and event.name == "ping"

    def feed(self, frame: SseFrame) -> Iterable[ChatEvent]:
        event, data, _, _ = frame
        # White space around it cannot mean anything else: it would be no JSON.
        if data.strip() == _SENTINEL:
            return self._finish(_SENTINEL)
        return self._chunk(event, object_of(event, data))

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        reasons = [answer.fold.finish_reason for answer in self._answers.values()]
        clean = isinstance(ending, Cut) and ending.clean
        if clean and not self._done_is_required and reasons and all(reasons):
            return self._finish("finish_reason")
        return self._fold.flush()

    def _finish(self, marker: str) -> Iterator[ChatEvent]:
        for answer in self._answers.values():
            yield from answer.finish()
        yield self._fold.finish()
        self.complete(marker)

    def _chunk(self, event: str, payload: Payload) -> Iterator[ChatEvent]:
        error = _error(event, payload)
        if error is not None:
            # What came with it was generated; but whatever else is wrong with it, the
            # service's own word is the better answer.
            with suppress(StreamFault):
                yield from self._choices(payload)
            raise error
        usage = payload.get("usage")
        if "choices" not in payload and not isinstance(usage, dict):
            yield Other(_name(event, payload), payload)
            return
        if "id" not in self._identity or "model" not in self._identity:
            self._identify(payload)
        yield from self._choices(payload)
        if isinstance(usage, dict):
            self._fold.usage = usage
            yield UsageUpdate(usage)

    def _identify(self, payload: Payload) -> None:
        for key in _IDENTITY:
            value = payload.get(key)
            if value and isinstance(value, (str, int)):
                self._identity.keep(key, value, self._fold.budget)

    def _choices(self, payload: Payload) -> Iterator[ChatEvent]:
        failure = None
        for choice in objects(payload.get("choices"), "choices"):
            yield from self._answer(choice.get("index")).add(choice)
            failure = failure or _failure(choice, payload)
        if failure is not None:
            raise failure

    def _answer(self, index: Any) -> Answer:
        if index is None:
            index = 0
        elif type(index) is not int:
            raise misplaced("the index of a choice", index)
        answer = self._answers.get(index)
        if answer is None:
            answer = self._answers[index] = Answer(self._fold.choice(index))
        return answer


def _name(event: str, payload: Payload) -> str:
    return string(payload, "type") or string(payload, "object") or event


def _error(event: str, payload: Payload) -> ServiceError | None:
    """Return the error a payload reports, in any of the spellings that were seen."""
    error = payload.get("error")
    if error not in (None, False, ""):
        return service_error(_with_code(error), payload)
    if event == "error" or "error" in (payload.get("object"), payload.get("type")):
        return service_error(_with_code(payload), payload)
    if _FLAT.isdisjoint(payload):
        return None
    flat = {key.removeprefix("error_"): payload.get(key) for key in _FLAT}
    return service_error(flat, payload) if any(flat.values()) else None


def _with_code(error: Any) -> Any:
    """Groq says `status_code`."""
    if isinstance(error, dict) and "code" not in error:
        return {**error, "code": error.get("status_code")}
    return error


def _failure(choice: Payload, payload: Payload) -> ServiceError | None:
    """Return the error a choice reports: its own, or a finish reason that means one."""
    error = choice.get("error")
    if error not in (None, False, ""):  # OpenRouter
        return service_error(error, payload)
    if choice.get("finish_reason") is None:
        return None
    reason = string(choice, "finish_reason")
    if reason.lower() in _FAILURES or reason.lower().startswith("malformed"):
        return service_error({"type": reason}, payload)
    return None
