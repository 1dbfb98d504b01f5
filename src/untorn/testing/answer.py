"""Answers: what a parser made of some chunks, and what it should have made of them."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Literal, TypeAlias, get_args

import anyio
import anyio.lowlevel

from .event_text import event_text, without_address
from .virtual_time import PATIENCE, run_on, virtual_time

__all__ = [
    "HANG",
    "SILENCE",
    "Answer",
    "Chunks",
    "End",
    "Expectation",
    "Parse",
    "Raised",
    "Relation",
    "answer_of",
]

End: TypeAlias = Literal["eof", "reset", "silence"]
"""How the transport ends after the last chunk: properly, with a `ConnectionResetError`, or
not at all (no byte comes any more)."""

Relation: TypeAlias = Literal["equal", "beginning"]


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception with which a parser ended: the name of its type, and its text."""

    type: str
    message: str

    def __str__(self) -> str:
        """Return both as a traceback's last line has them."""
        return f"{self.type}: {self.message}" if self.message else self.type


SILENCE = Raised("silence", "it waited for a byte that did not come")
HANG = Raised("hang", "it waited for ever, though the transport had ended")


@dataclass(frozen=True, slots=True)
class Answer:
    """All that a parser said: its events, as text, and the exception it ended with, if any."""

    events: tuple[str, ...]
    raised: Raised | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an answer must be."""

    events: tuple[str, ...]
    """The events, as text."""
    relation: Relation = "equal"
    """Whether the answer holds exactly these events, or a beginning of them."""
    raised: Raised | Literal["anything"] | None = "anything"
    """What the parser must end with; `None` is an end without an exception."""

    def allows(self, answer: Answer) -> bool:
        """Return whether `answer` is as expected."""
        size = len(answer.events) if self.relation == "beginning" else None
        if answer.events != self.events[:size]:
            return False
        return self.raised == "anything" or answer.raised == self.raised


class Chunks(Iterator[bytes], AsyncIterator[bytes]):
    """The chunks of a wire and the end of its transport; to be read with or without `async`."""

    def __init__(self, chunks: Iterable[bytes], end: End = "eof") -> None:
        if end not in get_args(End):
            raise ValueError(f"end={end!r}: give 'eof', 'reset' or 'silence'")
        self._chunks = iter(chunks)
        self._end: End = end

    def __next__(self) -> bytes:
        """Return the next chunk, or end as the transport does."""
        for chunk in self._chunks:
            return chunk
        if self._end == "silence":
            raise _Silence
        self._reset_if_due()
        raise StopIteration

    async def __anext__(self) -> bytes:
        """Return the next chunk after a checkpoint, or end as the transport does."""
        await anyio.lowlevel.checkpoint()
        for chunk in self._chunks:
            return chunk
        if self._end == "silence":
            await anyio.sleep_forever()
        self._reset_if_due()
        raise StopAsyncIteration

    def _reset_if_due(self) -> None:
        if self._end == "reset":
            raise ConnectionResetError("The peer reset the connection")

    def close(self) -> None:
        """Do nothing: there is nothing to close, but a parser may want to."""

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close, but a parser may want to."""


class _Silence(BaseException):
    """Stops a plain parser at the point where it asks for a byte that does not come.

    Not an `Exception`: a parser that wraps its source's errors must not get to see it.
    """


Events: TypeAlias = Iterable[Any] | AsyncIterable[Any]
Parse: TypeAlias = Callable[[Chunks], Events | Awaitable[Events]]
"""Any parser: a function from an iterable or async iterator of `bytes` to its events."""


def answer_of(
    parse: Parse, chunks: Iterable[bytes], *, end: End = "eof", backend: str = "asyncio"
) -> Answer:
    """Let `parse` read `chunks` and return all that it said.

    What `parse` returns tells what it is: an awaitable or an async iterable is run on
    `backend` in virtual time, anything else is iterated. A result that holds no events is a
    `TypeError`; an `Exception` that the parser raises is part of the answer.
    """
    if not callable(parse):
        raise TypeError(f"Not a parser: {parse!r}; give a function from chunks to events")
    events: list[str] = []
    raised = _listen(parse, Chunks(chunks, end), events, backend)
    return Answer(tuple(events), SILENCE if end == "silence" and raised == HANG else raised)


def _listen(parse: Parse, chunks: Chunks, events: list[str], backend: str) -> Raised | None:
    try:
        result = parse(chunks)
        if not isawaitable(result) and not isinstance(result, AsyncIterable):
            _take_all(_iterable(result), events)
            return None
    except _NotEventsError:
        raise
    except _Silence:
        return SILENCE
    except Exception as error:
        return _raised(error)
    return _run(result, events, backend)


def _run(
    result: Awaitable[Events] | AsyncIterable[Any], events: list[str], backend: str
) -> Raised | None:
    try:
        return run_on(virtual_time(backend), _listen_async, result, events)
    finally:
        # Does nothing to a coroutine that ran; one that could not run would warn about it.
        getattr(result, "close", int)()


async def _listen_async(
    result: Awaitable[Events] | AsyncIterable[Any], events: list[str]
) -> Raised | None:
    # An hour or a week are one to the clock here: only a parser that waits for ever gets there.
    with anyio.move_on_after(PATIENCE):
        try:
            await _take(await result if isawaitable(result) else result, events)
        except _NotEventsError:
            raise
        except Exception as error:
            return _raised(error)
        return None
    return HANG


async def _take(result: Events, events: list[str]) -> None:
    if isinstance(result, AsyncIterable):
        async for event in result:
            events.append(event_text(event))  # noqa: PERF401 - those before an exception count
    else:
        _take_all(_iterable(result), events)


def _take_all(result: Iterable[Any], events: list[str]) -> None:
    for event in result:
        events.append(event_text(event))  # noqa: PERF401 - those before an exception count


def _iterable(result: object) -> Iterable[Any]:
    if not isinstance(result, Iterable):
        raise _NotEventsError(
            f"The parser returned {type(result).__name__}, but it must return its events: "
            "an iterable, an async iterable, or an awaitable of either"
        )
    return result


class _NotEventsError(TypeError):
    """A parser of the wrong shape: a fault of the test, never an answer."""


def _raised(error: Exception) -> Raised:
    return Raised(type(error).__name__, without_address(str(error)))
