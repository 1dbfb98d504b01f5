"""A source that was looked at reads as one that was not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from anyio import current_time, sleep

from untorn import Cause, Clocks, Interrupted, Outcome, collect
from untorn.cli import peek
from untorn.cli.peek import Peeked
from untorn.dialects.openai_chat import OpenAIChat
from untorn.dialects.sse import Sse
from untorn.testing import run_virtual

from .commands import BACKENDS, chat

FOR_EVER = Clocks()
WIRE = chat("The", " naïve ", "你好")


class Script(AsyncIterator[bytes]):
    """Hands out bytes, sleeps for numbers, raises exceptions."""

    content_type: str | None = "text/event-stream"

    def __init__(self, *steps: bytes | float | Exception) -> None:
        self._steps = iter(steps)
        self.closed = 0

    async def __anext__(self) -> bytes:
        for step in self._steps:
            if isinstance(step, bytes):
                return step
            if isinstance(step, Exception):
                raise step
            await sleep(step)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


def looked_at(
    *steps: bytes | float | Exception, clocks: Clocks = FOR_EVER, backend: str = "asyncio"
) -> tuple[Any, Outcome[Any], float]:
    """Return the dialect, the outcome, and the seconds that it took."""

    async def main() -> tuple[Any, Outcome[Any], float]:
        began = current_time()
        source = Peeked(Script(*steps), clocks)
        dialect = await source.dialect()
        outcome = await collect(source, dialect, clocks=source.clocks)
        return dialect, outcome, current_time() - began

    return run_virtual(main, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_nothing_is_consumed(backend: str, size: int) -> None:
    """What was looked at is read again, however it was cut."""
    chunks = [WIRE[k : k + size] for k in range(0, len(WIRE), size)]
    dialect, outcome, _ = looked_at(*chunks, backend=backend)
    assert dialect == OpenAIChat()
    assert outcome.unwrap().text == "The naïve 你好"
    assert outcome.position.bytes == len(WIRE)


def test_an_end_while_looking_is_the_end() -> None:
    """The end of the transport, and what breaks it, come again when the stream is read."""
    dialect, outcome, _ = looked_at(WIRE[:20])
    assert dialect == Sse()
    assert isinstance(outcome, Interrupted)
    assert (outcome.cause, outcome.position.bytes) == (Cause.EOF, 20)
    broken = OSError("gone")
    _, outcome, _ = looked_at(WIRE[:20], broken)
    assert isinstance(outcome, Interrupted)
    assert (outcome.cause, outcome.error) == (Cause.TRANSPORT, broken)
    assert outcome.position.bytes == 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("clocks", "cause", "seconds"),
    [
        (Clocks(idle=5), Cause.IDLE_TIMEOUT, 5 + 4),
        (Clocks(total=7), Cause.TOTAL_TIMEOUT, 7),
        (Clocks(idle=60, total=9), Cause.TOTAL_TIMEOUT, 9),
        (Clocks(idle=5, total=60), Cause.IDLE_TIMEOUT, 5 + 4),
    ],
)
def test_silence_while_looking_counts(
    clocks: Clocks, cause: Cause, seconds: float, backend: str
) -> None:
    """The clock that ran out while looking is the cause, and nobody waits twice."""
    _, outcome, took = looked_at(4.0, WIRE[:20], 100.0, clocks=clocks, backend=backend)
    assert isinstance(outcome, Interrupted)
    assert (outcome.cause, outcome.position.bytes) == (cause, 20)
    assert seconds <= took < seconds + 0.5


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_time_spent_looking_is_spent(backend: str) -> None:
    """`total` is for all waiting together."""
    steps = (4.0, WIRE[:20], 4.0, WIRE[20:100], 4.0)
    _, outcome, took = looked_at(*steps, clocks=Clocks(total=10), backend=backend)
    assert isinstance(outcome, Interrupted)
    assert outcome.cause is Cause.TOTAL_TIMEOUT
    assert 10 <= took < 10.5


def test_looking_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments without end are no frame: at some point they are taken for what they look like."""
    monkeypatch.setattr(peek, "_MOST", 100)
    dialect, outcome, _ = looked_at(*[b": ping\n\n"] * 20, WIRE)
    assert dialect == Sse()
    assert outcome.position.bytes == 8 * 20 + len(WIRE)


def test_closing_closes_the_source() -> None:
    """It has nothing else to close."""
    script = Script(WIRE)

    async def main() -> None:
        await Peeked(script, Clocks()).aclose()

    run_virtual(main)
    assert script.closed == 1
