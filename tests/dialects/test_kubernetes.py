"""Kubernetes watch: whole objects, a version to go on from, and no end that is a success."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from untorn import (
    Boundary,
    Cause,
    Failed,
    Interrupted,
    InvalidJson,
    ProtocolViolation,
    ServiceError,
    StageError,
)
from untorn.dialects.kubernetes import KubernetesWatch, WatchEvent, WatchState

from .captures import assert_cuts_do_not_matter, read
from .cases import Case, cases
from .fuzz import assert_prefixes_are_torn, mangled

DIALECT = KubernetesWatch()


def change(type: str, version: str | None = None, **object: Any) -> dict[str, Any]:
    metadata = {"resourceVersion": version} if version else {}
    return {"type": type, "object": {**object, "metadata": metadata}}


def lines(*payloads: Any) -> bytes:
    return b"".join(json.dumps(payload).encode() + b"\n" for payload in payloads)


EVERYTHING: list[dict[str, Any]] = [
    change("ADDED", "1", kind="Pod"),
    change("MODIFIED", "2", kind="Pod"),
    change("DELETED", "3", kind="Pod"),
    change("BOOKMARK", "9"),
    change("NEW"),
]
GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


def test_changes_are_handed_out_and_it_never_completes() -> None:
    """The end of the transport is an ordinary interruption; the last version is kept."""
    events, outcome = read([lines(*EVERYTHING)], DIALECT)
    assert events == [WatchEvent(each["type"], each["object"]) for each in EVERYTHING]
    assert isinstance(outcome, Interrupted)
    assert (outcome.cause, outcome.torn) == (Cause.EOF, Boundary.MESSAGE)
    assert outcome.partial == WatchState("9")


def test_cuts_and_prefixes() -> None:
    """Events and outcome are the same however the bytes are cut, or ended early."""
    for wire in (lines(*EVERYTHING), lines(EVERYTHING[0], {"type": "ERROR", "object": GONE})):
        assert_cuts_do_not_matter(wire, DIALECT)
        assert_prefixes_are_torn(wire, DIALECT, iter(range(len(wire))))


# A watch has no success: what the report wants is that a line of any length is read, and it is.
OTHERWISE = {"lim-01": "Interrupted"}


@pytest.mark.parametrize("case", cases("k8s-watch"))
def test_a_reported_stream(case: Case) -> None:
    """It is read as it should have been."""
    events, outcome = read(case.chunks(), DIALECT)
    assert type(outcome).__name__ == OTHERWISE.get(case.id, case.outcome)
    if case.id == "lim-01":
        (event,) = events
        assert len(event.object["data"]) == case.expand["repeat"]
    if "error_type" in case.reduced:
        assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
        assert outcome.error.type == case.reduced["error_type"]


@pytest.mark.parametrize(
    ("status", "expired"),
    [
        (GONE, True), ({"reason": "Gone"}, True), ({"code": 410, "reason": "New"}, True),
        ({"code": 500, "reason": "InternalError"}, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("bare", [True, False])
def test_an_error_fails(status: dict[str, Any], expired: bool, bare: bool) -> None:
    """As an event, or as the whole answer; whether to list again is noted."""
    status = {"kind": "Status", **status}
    last = status if bare else {"type": "ERROR", "object": status}
    _, outcome = read([lines(EVERYTHING[0], last)], DIALECT)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    error = outcome.error
    assert (error.type, error.service_code) == (status["reason"], status.get("code"))
    assert outcome.partial == WatchState("1", expired)


@pytest.mark.parametrize(
    ("line", "fault"),
    [(b"{\n", InvalidJson), (b"[]\n", ProtocolViolation), (b'{"items": []}\n', ProtocolViolation)],
)
def test_what_is_no_change_fails(line: bytes, fault: type[Exception]) -> None:
    """A list instead of a watch is a request that forgot to ask for one."""
    _, outcome = read([line], DIALECT)
    assert isinstance(outcome, Failed) and type(outcome.error) is fault


@given(mangled([*EVERYTHING, {"type": "ERROR", "object": GONE}]))
def test_no_payload_makes_an_internal_error(payloads: list[Any]) -> None:
    """Whatever stands in a field, the stream ends in one of our ways."""
    _, outcome = read([lines(*payloads)], DIALECT)
    assert isinstance(outcome, (Failed, Interrupted))
    assert not (isinstance(outcome, Failed) and isinstance(outcome.error, StageError))
