"""How long to wait before a feed connects again, and when to give up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ..faults import UnexpectedResponse
from ..outcome import Cause, Failed, Interrupted, Outcome

__all__ = ["LATER", "Backoff"]

LATER: Final = (408, 425, 429, 500, 502, 503, 504)
"""The statuses that say "later": timeouts, too early, too many, and a service or gateway that
is down for now (RFC 9110, 15.5 and 15.6; RFC 8470; RFC 6585)."""

# What a transport raises when the network fails is none of these; a bug, and a certificate
# that does not fit (which is a ValueError too), come again.
_BUGS: Final = (AssertionError, AttributeError, LookupError, NameError, TypeError, ValueError)
# By name, for no client is imported: a scheme that it does not know (of a redirect, say), and
# the certificate again, which clients show as a connection that failed.
_LASTING: Final = frozenset({"UnsupportedProtocol", "SSLCertVerificationError"})
_OURS: Final = frozenset({Cause.CANCELLED, Cause.ABANDONED})
# A float can be doubled about a thousand times; every cap is reached long before this.
_MOST_DOUBLINGS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """When a feed connects again; times in seconds.

    The delay is `max(reconnection time, Retry-After)`, at most `longest`, and on
    top of it a random time from 0 to `min(cap, base * 2**failures)`: the standard's
    time is the least, and the rest is "full jitter" (Marc Brooker, Exponential
    Backoff and Jitter, AWS Architecture Blog), so that the clients of a service
    that was restarted do not come back all at once.

    `failures` counts the connections in a row that brought nothing: no event, no
    new last event id, and not even `cap` seconds of an open stream (a quiet feed
    behind a proxy that cuts idle connections is no failure).

    base, cap
        The bound of the random time: at first, and at most. `base=0`: none.
    attempts
        How many connections in a row may bring nothing before the feed ends with
        the outcome of the last one. `None`: no bound.
    longest
        The most that the service's `retry` and `Retry-After` can ask for. A
        service that asks for more is asked again after this.
    reconnection
        The reconnection time as long as the service has not set one (`retry`).
        `None`: the dialect's own (3 s; MCP 1 s).
    statuses
        The statuses after which to try again, in place of the `200` that never
        came. `()`: none, as the HTML Standard has it.

    Raises `ValueError` for a number that is none of these.
    """

    base: float = 1.0
    cap: float = 30.0
    # The gRPC and Kubernetes clients never stop; people who wait for an answer want to know.
    attempts: int | None = 10
    longest: float = 600.0
    reconnection: float | None = None
    statuses: tuple[int, ...] = LATER

    def __post_init__(self) -> None:
        for name in ("base", "cap", "longest"):
            _check_seconds(name, getattr(self, name))
        if self.reconnection is not None:
            _check_seconds("reconnection", self.reconnection)
        if self.attempts is not None and not _is_whole(self.attempts, least=1):
            raise ValueError(
                f"Backoff(attempts={self.attempts!r}): give a whole number, 1 or more, "
                "or None to go on for ever"
            )
        object.__setattr__(self, "statuses", _statuses(self.statuses))

    def retries(self, ended: Outcome[Any]) -> bool:
        """Say whether a connection that ended like this is worth another.

        Ends of the transport and timeouts are. What the service itself calls an
        error, bytes that break a rule, a response that is no stream, a certificate
        that is not trusted, a scheme that the client does not know and a bug in the
        program are not: they would come again.
        """
        match ended:
            case Failed(error=UnexpectedResponse() as response):
                return response.code == "http-status" and response.status in self.statuses
            case Interrupted(cause, error=error):
                return cause not in _OURS and not _comes_again(error)
            case _:
                return False

    def spent(self, failures: int) -> bool:
        """Say whether so many connections in a row were enough."""
        return self.attempts is not None and failures >= self.attempts

    def delay(self, asked: float, failures: int, random: Callable[[], float]) -> float:
        """Return the seconds to wait, of which the service has asked for `asked`."""
        spread = min(self.cap, self.base * 2.0 ** min(failures, _MOST_DOUBLINGS))
        return min(asked, self.longest) + random() * spread


def _comes_again(error: BaseException | None) -> bool:
    """Say whether the next connection would certainly break off with this error, too."""
    names = {type(each).__name__ for each in _causes(error)}
    return isinstance(error, _BUGS) or not _LASTING.isdisjoint(names)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what it came of; transports say `from None`, and it is there."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _check_seconds(name: str, value: Any) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Twice an infinite time is one, and no part of it is a time to wait.
    if not is_number or not value >= 0 or (name == "base" and math.isinf(value)):
        raise ValueError(f"Backoff({name}={value!r}): give a number of seconds, 0 or more")


def _is_whole(value: Any, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _statuses(given: Any) -> tuple[int, ...]:
    found: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(_is_whole(each, least=100) and each < 1000 for each in found):  # RFC 9110, 15
        raise ValueError(
            f"Backoff(statuses={given!r}): give numbers of three digits, as in (429, 503), or ()"
        )
    return found
