"""The time a stream spends waiting for its source, and what may be spent of it."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from typing import Final

from anyio import CancelScope, Event
from anyio.lowlevel import checkpoint

from .interrupt import Interruptible
from .limits import Clocks
from .link import in_trio
from .outcome import Cause

__all__ = ["Clock", "now_function"]

# Seconds that a loop with much to do may be late; behind more it was blocked.
_LATE: Final = 0.01
# How often to look, in the time of the shortest bound.
_LOOKS: Final = 10
# How often a transport may have to run until it hands on what has come.
_TURNS: Final = 3


class Clock:
    """The time spent waiting for the source, and what may be spent of it.

    That is all the time in which nobody is waited for downstream. Each bound has a
    mark, the waiting time at which it was last re-armed. While the source is waited
    for, the deadline is where the first bound runs out; else there is none.

    A task watches over it (`watch`). While a program blocks the loop nothing can be
    read, so that is no waiting; and what has come meanwhile is read before a bound that
    has run out is acted upon.
    """

    __slots__ = (
        "_bounds",
        "_deadline",
        "_marks",
        "_over",
        "_scope",
        "_since",
        "_sleep",
        "_waited",
        "now",
    )

    def __init__(self, clocks: Clocks, scope: Interruptible, now: Callable[[], float]) -> None:
        self.now = now
        self._scope = scope
        self._waited = 0.0
        self._since: float | None = None  # since when the source is waited for
        self._bounds: dict[Cause, float] = {}
        if clocks.first_byte is not None:
            self._bounds[Cause.FIRST_BYTE_TIMEOUT] = clocks.first_byte
        elif clocks.idle is not None:
            self._bounds[Cause.IDLE_TIMEOUT] = clocks.idle
        if clocks.progress is not None:
            self._bounds[Cause.PROGRESS_TIMEOUT] = clocks.progress
        if clocks.total is not None:
            self._bounds[Cause.TOTAL_TIMEOUT] = clocks.total
        self._marks = dict.fromkeys(self._bounds, 0.0)
        self._deadline = math.inf
        self._sleep = CancelScope()
        self._over = Event() if self._bounds else None

    @property
    def waited(self) -> float:
        """Seconds spent waiting for the source."""
        return self._waited + (self.now() - self._since if self._since is not None else 0.0)

    @property
    def times_progress(self) -> bool:
        """Whether anybody asks for progress."""
        return Cause.PROGRESS_TIMEOUT in self._bounds

    def start(self) -> None:
        """The source is waited for from now on."""
        self._since = self.now()
        self._arm()

    def stop(self) -> None:
        """It is not waited for, until `start`."""
        if self._since is not None:  # pragma: no branch - started before anything can stop it
            self._waited += self.now() - self._since
            self._since = None
            self._deadline = math.inf

    def first_byte(self, idle: float | None) -> None:
        """The first byte came: from now on `idle` counts."""
        if self._bounds.pop(Cause.FIRST_BYTE_TIMEOUT, None) is not None:
            self._deadline = math.inf
        if idle is not None:
            self._bounds[Cause.IDLE_TIMEOUT] = idle
            self._marks[Cause.IDLE_TIMEOUT] = self.waited
        self._arm()

    def rearm(self, cause: Cause) -> None:
        """What this bound waits for has come."""
        if self._bounds and cause in self._bounds:
            self._marks[cause] = self.waited
            self._arm()

    def hold(self, cause: Cause) -> None:
        """Leave this bound out until it is re-armed."""
        if cause in self._bounds:
            self._marks[cause] = math.inf
            self._arm()

    def close(self, seconds: float) -> None:
        """No bound holds any more but this one, from now on."""
        self._bounds.clear()
        self._deadline = math.inf
        self._scope.deadline = self.now() + seconds

    def expired(self) -> Cause:
        """Return the bound that ran out first."""
        return min(self._bounds, key=self._left)

    def _left(self, cause: Cause) -> float:
        return self._bounds[cause] - (self.waited - self._marks[cause])

    def _arm(self) -> None:
        if self._bounds and self._since is not None:
            self._deadline = self.now() + min(map(self._left, self._bounds))
            # Where it is later the watch sleeps on: it looks again when it wakes.
            if self._deadline < self._sleep.deadline:
                self._sleep.deadline = self._next_look(self.now())

    # --- the watch

    @property
    def is_bounded(self) -> bool:
        """Whether anything can run out."""
        return bool(self._bounds)

    async def watch(self) -> None:
        """Cancel the scope when a bound runs out; ends with `end`."""
        while self._bounds:
            began = self.now()
            until = self._next_look(began)
            if until > began:
                if await self._sleep_until(until):
                    return
                self._forgive(self.now() - self._sleep.deadline)
            elif await self._is_due():
                self._scope.cancel()
                return

    def end(self) -> None:
        """Nothing is watched any more."""
        self._bounds.clear()
        if self._over is not None:
            self._over.set()

    def _next_look(self, now: float) -> float:
        """Return when to look again: at the deadline, or sooner, to see if the loop is late."""
        if self._deadline == math.inf:
            return math.inf
        return min(self._deadline, now + min(self._bounds.values()) / _LOOKS)

    async def _sleep_until(self, until: float) -> bool:
        """Sleep; return `True` when there is nothing to watch any more."""
        assert self._over is not None
        with CancelScope(deadline=until) as self._sleep:
            await self._over.wait()
            return True
        return False

    async def _is_due(self) -> bool:
        """Let run what is due as well, and say whether it has brought nothing."""
        for _ in range(_TURNS):
            await checkpoint()
        return self._deadline <= self.now()

    def _forgive(self, late: float) -> None:
        """Leave out of the waiting what the loop was blocked for, as far as can be seen."""
        if late > _LATE and self._since is not None:
            self._since += min(late, self.now() - self._since)
            self._arm()


def now_function() -> Callable[[], float]:
    """Return the clock that deadlines are measured by."""
    if in_trio():
        now: Callable[[], float] = sys.modules["trio"].current_time
        return now
    return asyncio.get_running_loop().time
