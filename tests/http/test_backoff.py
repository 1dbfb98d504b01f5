"""How long a feed waits, and what it does not try again."""

from __future__ import annotations

import ssl
from http import HTTPStatus
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


@pytest.mark.parametrize("name", ["base", "cap", "longest", "reconnection"])
@pytest.mark.parametrize("wrong", [None, True, False, -1, -0.5, float("nan"), "1", [1], 1j])
def test_a_wrong_time_is_refused(name: str, wrong: Any) -> None:
    """The sentence says which, and what to give; without a `reconnection`, the dialect has one."""
    if name == "reconnection" and wrong is None:
        assert Backoff().reconnection is None
        return
    with pytest.raises(ValueError, match=rf"Backoff\({name}=.*give a number of seconds"):
        Backoff(**{name: wrong})


def test_an_endless_time_is_no_base() -> None:
    """It is a bound of the others."""
    with pytest.raises(ValueError, match="base=inf"):
        Backoff(base=float("inf"))
    backoff = Backoff(cap=float("inf"), longest=float("inf"))
    assert backoff.delay(1e9, 20, lambda: 0.5) == 1e9 + 0.5 * 2**20


@pytest.mark.parametrize("wrong", [True, False, 0, -1, 1.0, "1", float("inf")])
def test_a_wrong_number_of_attempts_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"Backoff\(attempts=.*give a whole number"):
        Backoff(attempts=wrong)


@pytest.mark.parametrize(
    "wrong",
    [503, None, True, "503", b"503", ["503"], [True], [503.0], [None], [50], [5030], {}.get],
)
def test_wrong_statuses_are_refused(wrong: Any) -> None:
    """One of them is not several; and what is no status is none."""
    with pytest.raises(ValueError, match=r"Backoff\(statuses=.*three digits"):
        Backoff(statuses=wrong)


@pytest.mark.parametrize("given", [[429, 503], (429, 503), {429: "", 503: ""}, iter([429, 503])])
def test_statuses_become_a_tuple(given: Any) -> None:
    """So a `Backoff` is what its class promises, and can be hashed."""
    backoff = Backoff(statuses=given)
    assert backoff.statuses == (429, 503) and hash(backoff) == hash(Backoff(statuses=(429, 503)))
    assert backoff.retries(refused(503)) and not backoff.retries(refused(500))
    assert Backoff(statuses=[HTTPStatus.BAD_GATEWAY]).retries(refused(502))
    assert Backoff(statuses=()).statuses == ()


class UnsupportedProtocol(Exception):
    """As the clients have one."""


@pytest.mark.parametrize(
    "lasting", [UnsupportedProtocol("ftp"), ssl.SSLCertVerificationError("self-signed")]
)
def test_what_lasts_is_not_tried_again(lasting: Exception) -> None:
    """However many errors of clients and transports were raised from it."""
    error: Exception = lasting
    for depth in range(4):
        assert not Backoff().retries(cut(Cause.TRANSPORT, error)), depth
        outer = ConnectionError("Connecting failed")
        # httpcore raises `from None`, httpx and trio `from` the error.
        outer.__cause__, outer.__context__ = (error, error) if depth % 2 else (None, error)
        outer.__suppress_context__, error = True, outer


def test_causes_that_go_round_in_a_circle() -> None:
    error, cause = ConnectionError("one"), ConnectionError("other")
    error.__cause__, cause.__cause__ = cause, error
    assert Backoff().retries(cut(Cause.TRANSPORT, error))
