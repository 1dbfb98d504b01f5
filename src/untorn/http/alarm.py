"""A wait for a time, or for somebody who ends it."""

from __future__ import annotations

import asyncio

from anyio import CancelScope, Event, current_time

from ..link import in_trio

__all__ = ["Alarm"]


class Alarm:
    """Wakes the task that waits: at a time, or when it is rung.

    It is waited for until a time and not for some seconds, so that a wait that was
    cancelled can be gone on with.
    """

    def __init__(self) -> None:
        self._wakes: Event | None = None
        self.rung = False

    def ring(self) -> None:
        """Wake whoever waits, now and from now on."""
        self.rung = True
        if self._wakes is not None:
            self._wakes.set()

    async def wait_until(self, due: float) -> None:
        """Wait until the time `due`, or until it rings."""
        if due <= current_time() or self.rung:
            return
        self._wakes = wakes = Event()
        if in_trio():
            with CancelScope(deadline=due):
                await wakes.wait()
            return
        # No scope: before anyio 4.16 one whose deadline passes may swallow a native cancellation
        # that comes in the same turn.
        timer = asyncio.get_running_loop().call_at(due, wakes.set)
        try:
            await wakes.wait()
        finally:
            timer.cancel()
