"""A2A: a task's states, its artifacts that grow or are replaced, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from untorn import (
    Cause,
    Completed,
    Failed,
    Finish,
    Interrupted,
    InvalidJson,
    Limits,
    Other,
    ProtocolViolation,
    ServiceError,
    Snapshot,
    TextDelta,
)
from untorn.dialects.a2a import A2A

from .captures import (
    Capture,
    assert_as_recorded,
    assert_cuts_do_not_matter,
    captures,
    message_of,
    prefixes,
    read,
)
from .cases import Case, cases
from .fuzz import assert_no_internal_error, assert_prefixes_are_torn, mangled, sse

CAPTURES = captures("a2a")
DIALECT = A2A()


def rpc(**result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "result": result}


def status(state: str, said: str = "") -> dict[str, Any]:
    message = {"parts": [{"text": said}]}
    return rpc(statusUpdate={"taskId": "t", "status": {"state": state, "message": message}})


def artifact(said: str, id: str = "a", **update: Any) -> dict[str, Any]:
    return rpc(artifactUpdate={"artifact": {"artifactId": id, "parts": [{"text": said}]}, **update})


TASK = rpc(task={"id": "t", "status": {"state": "TASK_STATE_SUBMITTED"}})
EVERYTHING: list[dict[str, Any]] = [
    TASK,
    status("TASK_STATE_WORKING", "soon"),
    artifact("Ha"),
    artifact("llo", append=True),
    artifact("B", id="b"),
    artifact("C", id="b"),
    rpc(new={"x": 1}),
    status("TASK_STATE_COMPLETED"),
]


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, text and state are those of the index."""
    events, outcome = read([capture.wire], DIALECT)
    assert_as_recorded(outcome, capture)
    assert isinstance(events[-1], Finish)
    assert sum(isinstance(e, Snapshot) for e in events) == capture.expected["snapshots"]
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == message_of(outcome).text


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, DIALECT)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed before the state that ends the stream."""
    assert_prefixes_are_torn(capture.wire, DIALECT, iter(prefixes(capture.wire)))


# The body is one JSON answer, not a stream: that is for whoever sees the content type to say. The
# dialect sees a partial line of no field: torn, and so not complete.
OTHERWISE = {"body-01": "Interrupted"}


@pytest.mark.parametrize("case", cases("a2a"))
def test_a_reported_stream(case: Case) -> None:
    """It is read as it should have been, however it is cut."""
    _, outcome = read(case.chunks(), DIALECT)
    assert type(outcome).__name__ == OTHERWISE.get(case.id, case.outcome)
    assert_cuts_do_not_matter(case.wire, DIALECT)


def test_every_event_in_order() -> None:
    """Growth is handed out as text, what replaces as a snapshot, updates whole as well."""
    events, outcome = read([sse(*EVERYTHING)], DIALECT)
    results = [each["result"] for each in EVERYTHING]
    updates = [Other(name, value) for each in results[1:] for name, value in each.items()]
    assert events == [
        Snapshot(results[0]["task"]), updates[0],
        updates[1], TextDelta("Ha"), updates[2], TextDelta("llo"), updates[3], TextDelta("B"),
        updates[4], Snapshot(results[5]["artifactUpdate"]["artifact"]),
        updates[5], updates[6], Finish("TASK_STATE_COMPLETED", "complete"),
    ]  # fmt: skip
    message = message_of(outcome)
    assert message.text == "HalloC"
    assert message.extra["task"] == results[0]["task"]
    assert message.extra["artifacts"]["a"]["parts"] == [{"text": "Ha"}, {"text": "llo"}]
    assert message.extra["artifacts"]["b"]["parts"] == [{"text": "C"}]


@pytest.mark.parametrize(
    ("state", "disposition"),
    [
        ("TASK_STATE_COMPLETED", "complete"), ("TASK_STATE_INPUT_REQUIRED", "paused"),
        ("TASK_STATE_AUTH_REQUIRED", "paused"), ("completed", "complete"),
        ("input-required", "paused"),
    ],
)  # fmt: skip
def test_states_that_complete(state: str, disposition: str) -> None:
    """The marker is the state, by the names of 1.0 and of 0.3; nothing behind it is read."""
    wire = sse(status(state)) + b"data: nonsense\n\n"
    events, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Completed) and outcome.marker == state
    assert events[-1] == Finish(state, disposition)


@pytest.mark.parametrize("state", ["TASK_STATE_FAILED", "TASK_STATE_REJECTED", "failed"])
def test_states_that_fail(state: str) -> None:
    """With what the agent says about it."""
    events, outcome = read([sse(artifact("a"), status(state, "no"))], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.type, outcome.error.message) == (state, "no")
    assert TextDelta("a") in events


def test_a_canceled_task_is_interrupted() -> None:
    """By the peer, before the end of the transport."""
    _, outcome = read([sse(status("TASK_STATE_CANCELED")), b"data: {\n\n"], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.CANCELLED
    assert outcome.partial.finish_reason == "TASK_STATE_CANCELED"


@pytest.mark.parametrize("state", ["TASK_STATE_WORKING", "TASK_STATE_NEW", ""])
def test_other_states_end_nothing(state: str) -> None:
    """Then the end of the transport is an interruption."""
    _, outcome = read([sse(status(state))], DIALECT)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.EOF


@pytest.mark.parametrize("wrap", [True, False])
def test_a_message_is_the_answer(wrap: bool) -> None:
    """In either binding, and by the names of 0.3."""
    message = {"messageId": "m", "parts": [{"text": "Hi"}]}
    for found in ({"message": message}, {"kind": "message", **message}):
        events, outcome = read([sse(rpc(**found) if wrap else found)], DIALECT)
        assert isinstance(outcome, Completed) and outcome.marker == "message"
        assert events == [TextDelta("Hi"), Finish(None, "complete")]


def test_the_end_is_the_last_event() -> None:
    """Whatever stands behind it in the same response."""
    events, _ = read([sse(rpc(message={"parts": []}, new=1))], DIALECT)
    assert events == [Finish(None, "complete")]


def test_the_envelope_alone_says_nothing() -> None:
    """The names of JSON-RPC are no events; a response without a result ends nothing."""
    events, outcome = read([sse({"jsonrpc": "2.0", "id": 7}, artifact("a"))], DIALECT)
    assert [type(each) for each in events] == [Other, TextDelta]
    assert isinstance(outcome, Interrupted)


def test_a_task_is_a_snapshot() -> None:
    """It takes the place of all that was folded, and may be the end by itself."""
    task = {
        "id": "t",
        "status": {"state": "TASK_STATE_COMPLETED"},
        "artifacts": [{"artifactId": "z", "parts": [{"text": "all"}]}],
    }
    events, outcome = read([sse(artifact("old"), rpc(task=task))], DIALECT)
    assert isinstance(outcome, Completed) and outcome.value.text == "all"
    assert events[-2:] == [Snapshot(task), Finish("TASK_STATE_COMPLETED", "complete")]
    assert list(outcome.value.extra["artifacts"]) == ["z"]


@pytest.mark.parametrize(
    "wire",
    [
        sse({"jsonrpc": "2.0", "id": 7, "error": {"code": -32004, "message": "no"}}),
        b"event: error\n" + sse({"error": {"code": -32004, "status": "S", "message": "no"}}),
        b"event: error\n" + sse({"code": -32004, "message": "no"}),
        b"event: error\n" + sse("no"),
        b"event: error\ndata: no\n\n",
    ],
)
def test_an_error_fails(wire: bytes) -> None:
    """Of either binding, as a member or as an event, even if it is no JSON."""
    _, outcome = read([wire], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert outcome.error.message == "no" and outcome.error.service_code in (-32004, None)


@pytest.mark.parametrize(("data", "fault"), [("{", InvalidJson), ("[]", ProtocolViolation)])
def test_what_is_no_response_fails(data: str, fault: type[Exception]) -> None:
    """Bad JSON, and JSON that is no object."""
    _, outcome = read([f"data: {data}\n\n".encode()], DIALECT)
    assert isinstance(outcome, Failed) and type(outcome.error) is fault


def test_the_value_is_bounded() -> None:
    """Artifacts count, whatever their parts are."""
    blob = rpc(artifactUpdate={"artifact": {"parts": [{"raw": "A" * 99}]}, "append": True})
    _, outcome = read([sse(*[blob] * 5)], DIALECT, Limits(value_bytes=300))
    assert isinstance(outcome, Failed) and outcome.error.code == "value-limit"


@given(mangled(EVERYTHING))
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends in one of our ways."""
    assert_no_internal_error(sse(*payloads), DIALECT)
