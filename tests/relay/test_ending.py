"""How a reader of the relay learns how the stream ended."""

import json

import pytest

from untorn import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Interrupted,
    Outcome,
    Position,
    ServerSentEvent,
    ServiceError,
    parse,
)
from untorn.dialects import Sse
from untorn.relay import SseEncoder, end_event, says_completed
from untorn.relay.ending import refusal

NOWHERE = Position(0, 0, 0)
LATER = Position(9, 1, 1)
SECRET = "sk-secret"
FAILED = Failed(ServiceError(SECRET, raw={"key": SECRET}), SECRET, NOWHERE)


def interrupted(cause: Cause, position: Position = NOWHERE) -> Interrupted[str]:
    return Interrupted(cause, Boundary.FRAME, OSError(SECRET), SECRET, position)


ENDS = [Completed(SECRET, "[DONE]", LATER), FAILED, *map(interrupted, Cause)]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (ENDS[0], {"outcome": "completed", "marker": "[DONE]"}),
        (FAILED, {"outcome": "failed", "code": "service-error"}),
        (
            interrupted(Cause.EOF),
            {"outcome": "interrupted", "cause": "eof", "torn": "frame"},
        ),
    ],
)
def test_the_end_says_which_of_the_three_it_was(outcome: Outcome[str], said: object) -> None:
    """It is an event named `end`, with no more than a program has to know."""
    event = end_event(outcome)
    assert (event.event, json.loads(event.data)) == ("end", said)


@pytest.mark.parametrize("outcome", ENDS, ids=str)
def test_no_word_of_the_upstream_gets_out(outcome: Outcome[str]) -> None:
    """Neither what it says of its errors nor the value is in the end, or in the refusal."""
    assert SECRET not in end_event(outcome).data
    if not isinstance(outcome, Completed):
        assert SECRET.encode() not in refusal(outcome)[1]


@pytest.mark.parametrize("cause", Cause)
def test_a_clock_that_ran_out_is_a_gateway_timeout(cause: Cause) -> None:
    """All else is a bad gateway; the body is JSON and names the cause."""
    status, body = refusal(interrupted(cause))
    assert status == (504 if cause.value.endswith("timeout") else 502)
    error = json.loads(body)["error"]
    assert (error["code"], error["retry_safe"]) == (cause.value, True)
    assert error["message"].startswith("The upstream service ") and error["message"].endswith(".")


def test_a_refusal_says_whether_it_is_safe_to_ask_again() -> None:
    """It is not where events had been handed out, though none was shown."""
    assert json.loads(refusal(interrupted(Cause.EOF, LATER))[1])["error"]["retry_safe"] is False


def test_a_refusal_says_it_of_an_interruption_alone() -> None:
    """A service that refused (401, 403) did nothing, and asked again it refuses again."""
    assert FAILED.retry_safe
    assert json.loads(refusal(FAILED)[1])["error"] == {
        "code": "service-error",
        "message": "The upstream service failed before its first event.",
    }


@pytest.mark.parametrize("outcome", ENDS, ids=str)
def test_a_reader_with_untorn_completes_only_if_the_upstream_did(outcome: Outcome[str]) -> None:
    """For it a relay that ended in any other way was cut."""
    encoder = SseEncoder()
    wire = encoder.encode(ServerSentEvent("message", "a", "")) + encoder.encode(end_event(outcome))
    stream = parse([wire], Sse(complete_when=says_completed))
    seen = [event.event for event in stream.events()]
    assert seen == ["message", "end"]
    assert isinstance(stream.outcome, Completed) is isinstance(outcome, Completed)


@pytest.mark.parametrize("data", ["", "{", "[]", '"completed"', "{}", '{"outcome":"interrupted"}'])
def test_what_says_something_else_completes_nothing(data: str) -> None:
    """An event of that name with other data is no end, and neither is its data elsewhere."""
    assert not says_completed(ServerSentEvent("end", data, ""))
    assert not says_completed(ServerSentEvent("message", '{"outcome":"completed"}', ""))
