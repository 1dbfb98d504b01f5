"""What users call to share a stream: `broadcast` for readers that come and go, or `tee`."""

from __future__ import annotations

from typing import Final, Generic, TypeVar, get_args

from .line import Line, SharedStream
from .reader import Reader, Slow

__all__ = ["Broadcast", "broadcast", "tee"]

E = TypeVar("E")
V = TypeVar("V")

# A read of the source seldom makes more events, and so many may be kept in memory.
CAPACITY: Final = 16


def broadcast(
    stream: SharedStream[E, V], *, slow: Slow = "block", capacity: int = CAPACITY
) -> Broadcast[E, V]:
    """Share a stream among readers that come and go.

    The stream stays yours: keep it open while it is read, and close it by its own block.
    It is received from when a reader asks, and not while there is none.

    slow
        What becomes of a reader that is slower than the others. `"block"`: all wait for
        it, and so does the service. `"drop_oldest"`: it loses the oldest events that it
        has not received, and its outcome is not `Completed`. `"evict"`: it is ended. The
        last two never hold up the others.
    capacity
        How many events a reader may be behind the first one. So many are kept in memory.
    """
    if not all(hasattr(stream, member) for member in ("receive", "outcome")):
        raise TypeError(
            f"Not a stream of events: {stream!r}; "
            "share what `async with open_stream(...) as stream` gives"
        )
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
        raise ValueError(f"capacity is a number of events, at least 1, not {capacity!r}")
    return Broadcast(Line(stream, capacity), _check(slow))


def tee(
    stream: SharedStream[E, V], n: int, *, slow: Slow = "block", capacity: int = CAPACITY
) -> tuple[Reader[E, V], ...]:
    """Return `n` readers of one stream; takes what `broadcast` takes.

    Under `"block"`, one that is neither read nor closed holds up the others for ever.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n is a number of readers, at least 1, not {n!r}")
    shared = broadcast(stream, slow=slow, capacity=capacity)
    return tuple(shared.subscribe() for _ in range(n))


class Broadcast(Generic[E, V]):
    """A shared stream; made by `broadcast`."""

    def __init__(self, line: Line[E, V], slow: Slow) -> None:
        self._line = line
        self._slow: Slow = slow

    def subscribe(self, *, slow: Slow | None = None) -> Reader[E, V]:
        """Return a new reader. Its first event is the next one that anybody receives.

        slow
            What becomes of this reader if it is slow; `None`: as `broadcast` was told.
            So one may have to see all, and others not.
        """
        return Reader(self._line, self._slow if slow is None else _check(slow))


def _check(slow: Slow) -> Slow:
    if slow not in get_args(Slow):
        kinds = ", ".join(map(repr, get_args(Slow)))
        raise ValueError(f"slow is what becomes of a slow reader, one of {kinds}; not {slow!r}")
    return slow
