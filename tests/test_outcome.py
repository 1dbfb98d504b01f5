"""An outcome is exactly one of three values."""

import copy
import pickle
from typing import Any, assert_never

import pytest

from untorn import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Interrupted,
    InvalidUtf8,
    Outcome,
    Position,
    StreamError,
    StreamFailed,
    StreamInterrupted,
)
from untorn.fold import raise_for
from untorn.stage import Cut

FAULT = InvalidUtf8(b"\xff", offset=9)
COMPLETED = Completed("all", "[DONE]", Position(20, 2, 2))
FAILED = Failed(FAULT, "so far", Position(9, 1, 1))
INTERRUPTED = Interrupted(Cause.EOF, Boundary.FRAME, None, "so far", Position(12, 1, 1))
EACH = pytest.mark.parametrize("outcome", [COMPLETED, FAILED, INTERRUPTED], ids=lambda o: type(o))


def named(outcome: Outcome[str]) -> str:
    """Name an outcome; a type checker finds the match exhaustive."""
    match outcome:
        case Completed(value):
            return value
        case Failed(error):
            return error.code
        case Interrupted(cause, torn):
            return f"{cause.value} {torn.value}"
        case _ as never:
            assert_never(never)


def test_a_match_over_three_is_whole() -> None:
    """Each is named by what it carries first."""
    assert named(COMPLETED) == "all"
    assert named(FAILED) == "invalid-utf8"
    assert named(INTERRUPTED) == "eof frame"


def test_unwrap_is_the_value_or_raises() -> None:
    """A bad end is raised with the outcome, and because of what ended it."""
    assert COMPLETED.unwrap() == "all"
    with pytest.raises(StreamFailed) as failed:
        FAILED.unwrap()
    assert failed.value.outcome is FAILED
    assert failed.value.__cause__ is FAULT
    reset = ConnectionResetError()
    broken = Interrupted(Cause.TRANSPORT, Boundary.MESSAGE, reset, "", Position(0, 0, 0))
    with pytest.raises(StreamInterrupted) as interrupted:
        broken.unwrap()
    assert interrupted.value.outcome is broken
    assert interrupted.value.__cause__ is reset


def test_raise_for_raises_what_unwrap_does() -> None:
    """Both bad ends are stream errors; a good one raises nothing."""
    raise_for(COMPLETED)
    for outcome in (FAILED, INTERRUPTED):
        with pytest.raises(StreamError) as raised:
            raise_for(outcome)
        assert raised.value.outcome is outcome


def test_an_error_of_one_s_own_knows_its_outcome() -> None:
    """Whoever raises a bad end as something of theirs is read as ours are."""

    class Lost(StreamError):
        pass

    for outcome in (FAILED, INTERRUPTED):
        assert Lost(outcome).outcome is outcome
        assert pickle.loads(pickle.dumps(StreamError(outcome))).outcome.position == outcome.position


@pytest.mark.parametrize("events", [0, 1])
def test_a_retry_is_safe_while_no_event_is_out(events: int) -> None:
    """Whatever the end."""
    at = Position(5, 0, events)
    for outcome in (
        Completed(1, "x", at),
        Failed(FAULT, 1, at),
        Interrupted(Cause.EOF, Boundary.MESSAGE, None, 1, at),
    ):
        assert outcome.retry_safe is (events == 0)


@EACH
def test_outcomes_are_frozen_values(outcome: Any) -> None:
    """They compare by what they say, and nothing can be added."""
    with pytest.raises(AttributeError):
        outcome.position = None
    assert copy.copy(outcome) == outcome
    assert copy.deepcopy(COMPLETED) == COMPLETED


@EACH
def test_outcomes_and_their_errors_survive_a_process(outcome: Any) -> None:
    """Pickled and copied they say the same."""
    again = pickle.loads(pickle.dumps(outcome))
    assert type(again) is type(outcome)
    assert again.position == outcome.position
    if not isinstance(outcome, Completed):
        for error in (StreamFailed(outcome), StreamInterrupted(outcome)):
            if isinstance(outcome, Failed) is isinstance(error, StreamFailed):
                assert str(pickle.loads(pickle.dumps(error))) == str(error)
                assert str(copy.deepcopy(error)) == str(error)


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("torn", Boundary)
def test_every_interruption_has_a_sentence(cause: Cause, torn: Boundary) -> None:
    """Why, at which byte, inside what."""
    outcome = Interrupted(cause, torn, None, "", Position(7, 0, 0))
    why, where = str(StreamInterrupted(outcome)).split(" at byte 7, ")
    assert why[0].isupper()
    assert where.startswith(("inside a ", "between frames"))


def test_the_sentences() -> None:
    """The transport's own exception is shown; a failure speaks with its fault's words."""
    reset = ConnectionResetError("reset")
    outcome = Interrupted(Cause.TRANSPORT, Boundary.CHARACTER, reset, "", Position(7, 0, 0))
    assert str(StreamInterrupted(outcome)) == (
        "The transport broke (ConnectionResetError: reset) at byte 7, inside a character"
    )
    assert str(StreamInterrupted(INTERRUPTED)) == "The transport ended at byte 12, inside a frame"
    assert str(StreamFailed(FAILED)) == str(FAULT)


def test_a_cut_is_marked_once() -> None:
    """The smallest unit that was cut stays marked, and only an untorn EOF is clean."""
    eof = Cut(Cause.EOF, offset=4)
    torn = eof.inside(Boundary.CHARACTER)
    assert torn.inside(Boundary.FRAME) == torn == Cut(Cause.EOF, None, Boundary.CHARACTER, 4)
    assert eof.clean
    assert not torn.clean
    assert not Cut(Cause.TRANSPORT).clean
