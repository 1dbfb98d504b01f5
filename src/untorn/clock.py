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
# How often to look: so many times in that of the shortest bound, and every so many seconds.
_LOOKS: Final = 10
_AT_LEAST: Final = 2.0
# How often a transport may have to run until it hands on what has come.
_TURNS: Final = 3


class Clock:
    """The time spent waiting for the source, and what may be spent of it.

    That is all the time in which nobody is waited for downstream. Each bound has a
    mark, the waiting time at which it was last re-armed.

    A task watches over the bounds (`watch`), so that to re-arm one costs next to
    nothing. While a program blocks the loop nothing can be read, so that is no waiting;
    and what has come meanwhile is read before a bound that has run out is acted upon.
    """

    __slots__ = (
        "_bounds",
        "_marks",
        "_over",
        "_parked",
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
        self._over = Event() if self._bounds else None
        self._sleep = CancelScope()
        self._parked = False  # the watch sleeps until it is set

    @property
    def waited(self) -> float:
        """Seconds spent waiting for the source."""
        return self._waited + (self.now() - self._since if self._since is not None else 0.0)

    @property
    def is_bounded(self) -> bool:
        """Whether anything can run out."""
        return bool(self._bounds)

    @property
    def times_progress(self) -> bool:
        """Whether anybody asks for progress."""
        return Cause.PROGRESS_TIMEOUT in self._bounds

    def start(self) -> None:
        """The source is waited for from now on."""
        self._since = self.now()
        if self._parked:
            self._set_watch()

    def stop(self) -> None:
        """It is not waited for, until `start`."""
        if self._since is not None:  # pragma: no branch - started before anything can stop it
            self._waited += self.now() - self._since
            self._since = None

    def first_byte(self, idle: float | None) -> None:
        """The first byte came: from now on `idle` counts."""
        self._bounds.pop(Cause.FIRST_BYTE_TIMEOUT, None)
        if idle is not None:
            self._bounds[Cause.IDLE_TIMEOUT] = idle
            self._marks[Cause.IDLE_TIMEOUT] = self.waited
        self._set_watch()

    def rearm(self, cause: Cause) -> None:
        """What this bound waits for has come."""
        if cause in self._bounds:
            self._marks[cause] = self.waited
            if self._parked:
                self._set_watch()

    def hold(self, cause: Cause) -> None:
        """Leave this bound out until it is re-armed."""
        if cause in self._bounds:
            self._marks[cause] = math.inf

    def close(self, seconds: float) -> None:
        """No bound holds any more but this one, from now on."""
        self._bounds.clear()
        self._scope.deadline = self.now() + seconds

    def expired(self) -> Cause:
        """Return the bound that ran out first."""
        return min(self._bounds, key=self._left_of)

    def _left_of(self, cause: Cause) -> float:
        return self._bounds[cause] - (self.waited - self._marks[cause])

    def _left(self) -> float:
        """Return how long the source may still be waited for, from now on."""
        if self._since is None:
            return math.inf
        return min(map(self._left_of, self._bounds), default=math.inf)

    # --- the watch

    async def watch(self) -> None:
        """Cancel the scope when a bound runs out; ends with `end`."""
        assert self._over is not None
        while not self._over.is_set():
            if not self._has_run_out():
                await self._sleep_on()
            elif await self._is_due():
                self._scope.cancel()
                return

    def end(self) -> None:
        """Nothing is watched any more."""
        if self._over is not None:
            self._over.set()

    def _has_run_out(self) -> bool:
        """Say whether a bound has; what is left of it may be too little to be slept for."""
        now = self.now()
        return now + self._left() <= now

    async def _sleep_on(self) -> None:
        """Sleep until a bound runs out, or less, to see whether the loop is late."""
        assert self._over is not None
        with CancelScope(deadline=self._next_look()) as self._sleep:
            await self._over.wait()
            return
        self._forgive(self.now() - self._sleep.deadline)

    async def _is_due(self) -> bool:
        """Let run what is due as well, and say whether it has brought nothing."""
        for _ in range(_TURNS):
            await checkpoint()
        return self._has_run_out()

    def _forgive(self, late: float) -> None:
        """Leave out of the waiting what the loop was blocked for, as far as can be seen."""
        if late > _LATE and self._since is not None:
            self._since += min(late, self.now() - self._since)
            for cause, mark in self._marks.items():
                if self.waited < mark < math.inf:  # re-armed since, before anybody could look
                    self._marks[cause] = self.waited

    def _next_look(self) -> float:
        """Return when the watch has to look again, and note if that is for others to say."""
        left = self._left()
        self._parked = left == math.inf
        if self._parked:
            return math.inf
        now = self.now()
        look = now + min(left, min(self._bounds.values()) / _LOOKS, _AT_LEAST)
        return look if look > now else now + left

    def _set_watch(self) -> None:
        """Let the watch look in time for what runs out now."""
        self._sleep.deadline = self._next_look()


def now_function() -> Callable[[], float]:
    """Return the clock that deadlines are measured by."""
    if in_trio():
        now: Callable[[], float] = sys.modules["trio"].current_time
        return now
    return asyncio.get_running_loop().time
