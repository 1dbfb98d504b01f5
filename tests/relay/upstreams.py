"""Upstreams that follow a script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from flow.sources import DIALECT, PROMPT, sse

from untorn import open_stream
from untorn.testing import FaultySource, Hang, Send, Stall

__all__ = ["Upstream", "steady"]


class Upstream:
    """What `open_stream` returns on a source that follows a script, and what became of it.

    opening
        The seconds that it takes to be open, as where a request is sent first.
    fails
        What is raised in place of being open.
    closing
        The seconds that it takes to be left, behind the closing of the source.
    """

    def __init__(
        self,
        *faults: Any,
        opening: float = 0.0,
        fails: BaseException | None = None,
        closing: float = 0.0,
    ) -> None:
        self.source = FaultySource(b"", faults=faults)
        self.opening = opening
        self.closing = closing
        self.fails = fails
        self.entered = False
        self.closed_at: float | None = None

    @property
    def manager(self) -> Any:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Any]:
        self.entered = True
        began = anyio.current_time()
        # A scope of its own around the body: whoever enters it leaves it, in the same task.
        with anyio.CancelScope():
            try:
                await anyio.sleep(self.opening)
                if self.fails is not None:
                    raise self.fails
                async with open_stream(self.source, DIALECT, limits=PROMPT) as stream:
                    yield stream
                await anyio.sleep(self.closing)
            finally:
                self.closed_at = anyio.current_time() - began


def steady(count: int, seconds: float, *end: Any) -> Upstream:
    """Return an upstream that sends so many events at such a pace, and then completes."""
    script: list[Any] = []
    for n in range(count):
        script += [Stall(seconds), Send(sse(str(n)))]
    return Upstream(*script, *(end or [Send(sse("END")), Hang()]))
