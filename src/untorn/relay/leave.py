"""What becomes of the upstream when the client leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, final

__all__ = ["Cancel", "Detach", "Drain", "OnLeave"]

# An answer of 4,000 tokens is some 1 MB of chat events, and takes under a minute.
_BYTES = 1024 * 1024
_SECONDS = 60.0


@final
@dataclass(frozen=True, slots=True)
class Cancel:
    """Close the upstream at once: what nobody reads is not to be paid for."""

    max_bytes: ClassVar[int] = 0
    seconds: ClassVar[float] = 0.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Read on within the request, for the end of the stream and what it says of the usage.

    For at most `max_bytes` more bytes of the upstream, counted where an event ends (or
    a read that makes none), and `seconds` from when the client left. The request ends
    when that is over.
    """

    max_bytes: int = _BYTES
    seconds: float = _SECONDS

    def __post_init__(self) -> None:
        _check(self)


@final
@dataclass(frozen=True, slots=True)
class Detach:
    """Read on in a task group of the application's, when the request has ended.

    Bounded as `Drain` is. The group (of anyio, trio or asyncio) has the whole of the
    request run in it from its start, since whoever has opened an upstream must close it.
    """

    task_group: Any
    max_bytes: int = _BYTES
    seconds: float = _SECONDS

    def __post_init__(self) -> None:
        _check(self)
        if not any(hasattr(self.task_group, kind) for kind in ("create_task", "start_soon")):
            raise TypeError(
                f"Not a task group: {self.task_group!r}; give one of anyio, trio or asyncio"
            )


OnLeave: TypeAlias = Cancel | Drain | Detach


def _check(policy: Drain | Detach) -> None:
    name = type(policy).__name__
    size, seconds = policy.max_bytes, policy.seconds
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        raise ValueError(f"{name}(max_bytes={size!r}): give a positive number of bytes")
    if not isinstance(seconds, (int, float)) or not seconds > 0:
        raise ValueError(f"{name}(seconds={seconds!r}): give a positive number of seconds")
