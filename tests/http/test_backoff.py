"""How long a feed waits, and what it does not try again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Interrupted,
    Position,
    ServiceError,
    UnexpectedResponse,
)
from untorn.http import Backoff

NOWHERE = Position(0, 0, 0)
seconds = st.floats(0, 1e6)


def cut(cause: Cause = Cause.EOF, error: BaseException | None = None) -> Interrupted[None]:
    return Interrupted(cause, Boundary.MESSAGE, error, None, NOWHERE)


def refused(status: int, code: str = "http-status") -> Failed[None]:
    fault = UnexpectedResponse("No.", code=code, status=status, media_type=None)
    return Failed(fault, None, NOWHERE)


@given(seconds, seconds, seconds, seconds, st.integers(0, 10_000), st.floats(0, 1))
def test_a_delay_has_its_bounds(
    asked: float, base: float, cap: float, longest: float, failures: int, drawn: float
) -> None:
    """At least what was asked for, up to `longest`; at most `cap` more."""
    backoff = Backoff(base=base, cap=cap, longest=longest)
    delay = backoff.delay(asked, failures, lambda: drawn)
    least = min(asked, longest)
    assert least <= delay <= least + cap
    assert backoff.delay(asked, failures, lambda: 0.0) == least
    if failures < 10 and base * 2**failures < cap:
        assert delay == pytest.approx(least + drawn * base * 2**failures)


@pytest.mark.parametrize(
    ("ended", "again"),
    [
        (cut(), True),
        (cut(Cause.IDLE_TIMEOUT), True),
        (cut(Cause.TOTAL_TIMEOUT), True),
        (cut(Cause.TRANSPORT, ConnectionResetError()), True),
        (cut(Cause.TRANSPORT, RuntimeError("a loop's word for a lost transport")), True),
        (cut(Cause.TRANSPORT, TypeError()), False),
        (cut(Cause.CANCELLED), False),
        (cut(Cause.ABANDONED), False),
        (refused(503), True),
        (refused(404), False),
        (refused(503, "content-type"), False),
        (Failed(ServiceError("Later."), None, NOWHERE), False),
        (Completed(None, "END", NOWHERE), False),
    ],
)
def test_what_is_tried_again(ended: Any, again: bool) -> None:
    """Ends of the transport, timeouts, and statuses that say later."""
    assert Backoff().retries(ended) is again


def test_the_budget() -> None:
    """So many failures in a row are enough, or none ever."""
    assert [Backoff(attempts=3).spent(number) for number in range(5)] == [False] * 3 + [True] * 2
    assert not Backoff(attempts=None).spent(10**9)


@pytest.mark.parametrize(
    "wrong", [{"base": -1}, {"cap": "1"}, {"longest": float("nan")}, {"attempts": 0}]
)
def test_a_wrong_number_is_refused(wrong: dict[str, Any]) -> None:
    """The sentence says which, and what to give."""
    (name,) = wrong
    with pytest.raises(ValueError, match=rf"Backoff\({name}=.*give a"):
        Backoff(**wrong)
