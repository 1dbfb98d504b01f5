"""How the reading of a source is stopped, so that the source can still clean up.

A scope of trio's or anyio's goes on cancelling whatever is awaited in it. A source
that is a generator is finalised right there, inside the read that is cancelled: on
asyncio, where people write their clean-up for a cancellation that comes once, its
`finally` would be cut off at the first `await`. So on asyncio the reading task is
cancelled once, natively, and the scope's way only if that takes too long. On trio
the scope's way is the only one, and sources are written for it.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType
from typing import Final, Protocol

from anyio import CancelScope

from .link import in_trio

__all__ = ["CLOSE_SECONDS", "Interruptible", "interruptible"]

# How long a source may take to clean up or to close before it is left to itself.
CLOSE_SECONDS: Final = 1.0


class Interruptible(Protocol):
    """A block that can be left from outside; what `anyio.CancelScope` can do of it."""

    @property
    def deadline(self) -> float: ...
    @deadline.setter
    def deadline(self, value: float) -> None: ...
    @property
    def cancel_called(self) -> bool: ...
    @property
    def cancelled_caught(self) -> bool: ...
    def cancel(self) -> None: ...
    def __enter__(self) -> Interruptible: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> bool | None: ...


def interruptible() -> Interruptible:
    """Return a block for the task that will enter it."""
    return CancelScope() if in_trio() else _Once()


class _Once:
    """Cancels the task in the block once, natively; used by asyncio's task alone."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._shield = CancelScope(shield=True)
        self._deadline = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self.cancel_called = False
        self.cancelled_caught = False

    @property
    def deadline(self) -> float:
        """When to cancel, by the clock of the loop."""
        return self._deadline

    @deadline.setter
    def deadline(self, value: float) -> None:
        self._deadline = value
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if value < math.inf and self._task is not None and not self.cancel_called:
            self._timer = self._loop.call_at(value, self.cancel)

    def cancel(self) -> None:
        """Cancel the task if it is in the block; if it is not yet, as soon as it enters."""
        if self.cancel_called:
            return
        self.cancel_called = True
        if self._task is not None:
            self._task.cancel()
            self._shield.deadline = self._loop.time() + CLOSE_SECONDS

    def __enter__(self) -> _Once:
        self._task = asyncio.current_task()
        # From here on nobody's scope reaches the task: who cancels its group calls `cancel`.
        self._shield.__enter__()
        self.deadline = self._deadline
        if self.cancel_called:
            self.cancel_called = False
            self.cancel()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        task, self._task = self._task, None
        self.deadline = math.inf
        swallowed = bool(self._shield.__exit__(exc_type, exc, traceback))
        if not self.cancel_called or task is None:
            return swallowed
        # Somebody else may have cancelled the task as well: then it stays cancelled.
        others = task.uncancel() > 0
        ours = swallowed or isinstance(exc, asyncio.CancelledError)
        self.cancelled_caught = ours and not others
        return self.cancelled_caught
