"""Sources that follow a script, and the wire that most of the tests read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

from untorn import Cause, Interrupted, Limits
from untorn.dialects import Sse
from untorn.testing import FaultySource, Hang, Send

Step: TypeAlias = bytes | BaseException | Callable[[], Awaitable[object]]

DIALECT = Sse(sentinel="END")
"""Events end with the data END."""
PROMPT = Limits(drain_bytes=0)
"""Limits for sources that hang behind the marker: nothing is drained."""


def sse(*data: str) -> bytes:
    """Return one event for each of `data`."""
    return "".join(f"data: {part}\n\n" for part in data).encode()


def hanging(*data: str) -> FaultySource:
    """Return a source that sends these events, each in a read of its own, and then nothing."""
    return FaultySource(b"", faults=[*(Send(sse(part)) for part in data), Hang()])


class Steps:
    """An async iterable, not yet started, that yields bytes, raises exceptions and awaits."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.yielded = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for step in self.steps:
                if isinstance(step, BaseException):
                    raise step
                if callable(step):
                    await step()
                else:
                    self.yielded += 1
                    yield step
        finally:
            self.closed = True


async def data_of(events: AsyncIterator[Any]) -> list[str]:
    """Return the data of all events."""
    return [event.data async for event in events]


def is_interrupted(outcome: object, cause: Cause) -> bool:
    """Say whether a stream was interrupted for this cause."""
    return isinstance(outcome, Interrupted) and outcome.cause is cause
