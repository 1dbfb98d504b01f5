"""How a stream ended: exactly one of `Completed`, `Failed`, `Interrupted`.

    match outcome:
        case Completed(value): ...
        case Failed(error): ...
        case Interrupted(cause): ...

Three final classes and no flags: a cut answer cannot be mistaken for a whole one.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar, final

from .faults import StreamFault

__all__ = [
    "Boundary",
    "Cause",
    "Completed",
    "Failed",
    "Interrupted",
    "Outcome",
    "Position",
    "StreamError",
    "StreamFailed",
    "StreamInterrupted",
]

V_co = TypeVar("V_co", covariant=True)


class Cause(enum.Enum):
    """Why a stream ended before its completion marker."""

    EOF = "eof"
    """The transport ended in order."""
    TRANSPORT = "transport"
    """The transport broke; the outcome's `error` is what it raised."""
    CANCELLED = "cancelled"
    """A task was cancelled, or the service itself says that it was stopped."""
    ABANDONED = "abandoned"
    """The consumer left the block, or called `aclose()`."""
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    """`Clocks.first_byte` ran out."""
    IDLE_TIMEOUT = "idle_timeout"
    """`Clocks.idle` ran out."""
    PROGRESS_TIMEOUT = "progress_timeout"
    """`Clocks.progress` ran out."""
    TOTAL_TIMEOUT = "total_timeout"
    """`Clocks.total` ran out."""


class Boundary(enum.Enum):
    """The innermost unit that the end of the stream cut."""

    CHARACTER = "character"
    """Inside a UTF-8 sequence."""
    FRAME = "frame"
    """Inside a frame: a partial line, or fields without their blank line."""
    MESSAGE = "message"
    """Between frames, but before the completion marker."""


@final
@dataclass(frozen=True, slots=True)
class Position:
    """Where an outcome was determined; it obeys the law as the events do.

    `bytes` from the start of the stream: just past the marker, at the faulty
    byte, or at the end. `frames` framed and `events` handed out by then.

    Of a stream that its consumer has left, or whose task was cancelled, `bytes` and
    `frames` are what had been read by then, which may be ahead of the events.
    """

    bytes: int
    frames: int
    events: int


@final
@dataclass(frozen=True, slots=True)
class Completed(Generic[V_co]):
    """The dialect's own completion marker was seen; `marker` says which."""

    value: V_co
    marker: str
    position: Position

    @property
    def retry_safe(self) -> bool:
        """Whether no event had been handed out."""
        return self.position.events == 0

    def unwrap(self) -> V_co:
        """Return the folded value."""
        return self.value


@final
@dataclass(frozen=True, slots=True)
class Failed(Generic[V_co]):
    """The service said so in band, or the stream broke the protocol or a limit."""

    error: StreamFault
    partial: V_co
    position: Position

    @property
    def retry_safe(self) -> bool:
        """Whether no event had been handed out."""
        return self.position.events == 0

    def unwrap(self) -> NoReturn:
        """Raise `StreamFailed`."""
        raise StreamFailed(self) from self.error


@final
@dataclass(frozen=True, slots=True)
class Interrupted(Generic[V_co]):
    """The stream ended, or was ended, before its completion marker.

    `torn` is the innermost unit that was cut, `error` the transport's exception
    (`None` where it raised none), `partial` all that arrived whole.
    """

    cause: Cause
    torn: Boundary
    error: BaseException | None
    partial: V_co
    position: Position

    @property
    def retry_safe(self) -> bool:
        """Whether no event had been handed out."""
        return self.position.events == 0

    def unwrap(self) -> NoReturn:
        """Raise `StreamInterrupted`."""
        raise StreamInterrupted(self) from self.error


Outcome: TypeAlias = Completed[V_co] | Failed[V_co] | Interrupted[V_co]


class StreamError(Exception):
    """A stream did not complete; `outcome` says how it ended."""

    def __init__(self, outcome: Failed[Any] | Interrupted[Any]) -> None:
        super().__init__(outcome)

    @property
    def outcome(self) -> Failed[Any] | Interrupted[Any]:
        """How the stream ended."""
        ended: Failed[Any] | Interrupted[Any] = self.args[0]
        return ended


class StreamFailed(StreamError):
    """Raised where the events of a `Failed` stream end."""

    @property
    def outcome(self) -> Failed[Any]:
        """How the stream ended."""
        failed: Failed[Any] = self.args[0]
        return failed

    def __str__(self) -> str:
        return str(self.outcome.error)


_WHY = {
    Cause.EOF: "The transport ended",
    Cause.TRANSPORT: "The transport broke",
    Cause.CANCELLED: "The stream was cancelled",
    Cause.ABANDONED: "The consumer left",
    Cause.FIRST_BYTE_TIMEOUT: "No first byte came within the time of the clock first_byte",
    Cause.IDLE_TIMEOUT: "No byte came within the time of the clock idle",
    Cause.PROGRESS_TIMEOUT: "No event came within the time of the clock progress",
    Cause.TOTAL_TIMEOUT: "The time of the clock total ran out",
}
_WHERE = {
    Boundary.CHARACTER: "inside a character",
    Boundary.FRAME: "inside a frame",
    Boundary.MESSAGE: "between frames, before the completion marker",
}


def _words(error: BaseException) -> str:
    """Return what an error says, on one line; if it is silent, what those behind it say."""
    seen: list[BaseException] = []
    behind: BaseException | None = error
    while behind is not None and behind not in seen:
        if text := " ".join(str(behind).split()):
            return f"{type(error).__name__}: {text}"
        seen.append(behind)
        behind = behind.__cause__ or behind.__context__
    return type(error).__name__


class StreamInterrupted(StreamError):
    """Raised where the events of an `Interrupted` stream end."""

    @property
    def outcome(self) -> Interrupted[Any]:
        """How the stream ended."""
        interrupted: Interrupted[Any] = self.args[0]
        return interrupted

    def __str__(self) -> str:
        end, why = self.outcome, _WHY[self.outcome.cause]
        detail = f" ({_words(end.error)})" if end.error is not None else ""
        return f"{why}{detail} at byte {end.position.bytes}, {_WHERE[end.torn]}"
