"""What there is to draw of a recording: its reads, the events each completed, its stalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..faults import UnexpectedResponse
from ..fold import parse
from ..outcome import Failed, Outcome
from ..reduce import Dialect
from ..testing.recording import Recording

__all__ = ["Moment", "Picture"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A read, or the end."""

    at: float
    """Seconds since the beginning."""
    wait: float
    """Seconds since the moment before."""
    bytes: int
    events: tuple[Any, ...]
    """What was whole with it."""
    is_behind: bool
    """Whether the outcome was settled before."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The reads and the end of a recording, and what became of them."""

    recording: Recording
    stall: float
    dialect: str
    outcome: Outcome[Any]
    reads: tuple[Moment, ...]
    end: Moment

    @classmethod
    def of(
        cls, recording: Recording, stall: float, dialect: Dialect[Any, Any], outcome: Outcome[Any]
    ) -> Picture:
        """Return the picture of a recording that was read by a dialect to an outcome."""
        refused = isinstance(outcome, Failed) and isinstance(outcome.error, UnexpectedResponse)
        events = [] if refused else _events(recording, dialect)
        moments = [
            Moment(
                at,
                at - before,
                size,
                tuple(events[k]) if k < len(events) else (),
                not refused and k >= len(events),
            )
            for k, (before, at, size) in enumerate(_times(recording))
        ]
        name = type(dialect).__name__
        return cls(recording, stall, name, outcome, tuple(moments[:-1]), moments[-1])

    @property
    def longest(self) -> float:
        """The longest wait, in seconds."""
        return max(moment.wait for moment in (*self.reads, self.end))

    def is_stall(self, moment: Moment) -> bool:
        """Say whether it was waited for so long that it is marked."""
        return moment.wait >= self.stall


def _times(recording: Recording) -> Iterator[tuple[float, float, int]]:
    """Yield the time of the moment before, the time and the bytes of each read and of the end."""
    now = 0.0
    for piece in recording.pieces:
        yield now, piece.at, len(piece.data)
        now = piece.at
    yield now, recording.end.at if recording.end else now, 0


def _events(recording: Recording, dialect: Dialect[Any, Any]) -> list[list[Any]]:
    """Return the events that each read completed, then those of the end, up to the outcome."""
    taken: list[list[Any]] = []

    # `parse` takes a chunk only when it needs one: so what comes is of the last one taken.
    def chunks() -> Iterator[bytes]:
        for piece in recording.pieces:
            taken.append([])
            yield piece.data
        taken.append([])
        if (error := recording.error) is not None:
            raise error

    for event in parse(chunks(), dialect).events():
        taken[-1].append(event)
    return taken
