"""How a reader of the relay learns how the stream ended.

None of it holds a word of the upstream's: what a service says of its errors is for
whoever pays for it, not for every browser.
"""

from __future__ import annotations

import json
from typing import Any, Final, assert_never

from ..event import ServerSentEvent
from ..json_text import json_text
from ..outcome import Cause, Completed, Failed, Interrupted, Outcome

__all__ = ["end_event", "refusal", "says_completed"]

_TIMEOUTS: Final = {
    Cause.FIRST_BYTE_TIMEOUT,
    Cause.IDLE_TIMEOUT,
    Cause.PROGRESS_TIMEOUT,
    Cause.TOTAL_TIMEOUT,
}


def end_event(outcome: Outcome[Any]) -> ServerSentEvent:
    """Return the event behind the last one: `end`, with the outcome as JSON.

    `{"outcome":"completed","marker":...}`, `{"outcome":"failed","code":...}` or
    `{"outcome":"interrupted","cause":...,"torn":...}`.
    """
    return ServerSentEvent("end", json_text(_summary(outcome), compact=True), "")


def _summary(outcome: Outcome[Any]) -> dict[str, Any]:
    match outcome:
        case Completed(_, marker):
            return {"outcome": "completed", "marker": marker}
        case Interrupted(cause, torn):
            return {"outcome": "interrupted", "cause": cause.value, "torn": torn.value}
        case Failed(error):
            return {"outcome": "failed", "code": error.code}
        case _:
            assert_never(outcome)


def says_completed(event: ServerSentEvent) -> bool:
    """Say whether an event is the `end` of a stream that completed.

    For readers with untorn: `Sse(complete_when=says_completed)`.
    """
    if event.event != "end":
        return False
    try:
        said = json.loads(event.data)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("outcome") == "completed"


def refusal(outcome: Failed[Any] | Interrupted[Any]) -> tuple[int, bytes]:
    """Return the status and the JSON for a stream that ended badly before its first event.

    504 (Gateway Timeout) where one of the clocks ran out, 502 (Bad Gateway) for all
    else: RFC 9110, sections 15.6.3 and 15.6.5. Whether it is safe to ask again is said
    of an interruption alone: a service that refused, for want of a key for instance,
    refuses again, and that it did no harm to ask is no reason to.
    """
    timeout = isinstance(outcome, Interrupted) and outcome.cause in _TIMEOUTS
    code = outcome.error.code if isinstance(outcome, Failed) else outcome.cause.value
    error: dict[str, Any] = {"code": code, "message": _sentence(outcome)}
    if isinstance(outcome, Interrupted):
        error["retry_safe"] = outcome.retry_safe
    return 504 if timeout else 502, json_text({"error": error}, compact=True).encode()


def _sentence(outcome: Failed[Any] | Interrupted[Any]) -> str:
    match outcome:
        case Failed():
            return "The upstream service failed before its first event."
        case Interrupted(cause) if cause in _TIMEOUTS:
            return "The upstream service sent no event in time."
        case Interrupted():
            return "The upstream service broke off before its first event."
        case _:
            assert_never(outcome)
