"""What one client is sent: the events as they come, comments between them, and the end."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from inspect import iscoroutine
from typing import Any, Final, Protocol

from anyio import CancelScope, ClosedResourceError, Event, current_time

from ..event import ServerSentEvent
from ..outcome import Completed, Outcome
from .encode import SseEncoder
from .ending import refusal
from .leave import OnLeave
from .messages import Messages
from .report import Report

__all__ = ["Delivery", "Relayed", "Terms", "take"]

KEEPALIVE: Final = b": keepalive\n\n"
# Events that are ready together go out together, up to so many bytes and one event.
_TOGETHER: Final = 16 * 1024


class Relayed(Protocol):
    """What can be relayed: an `EventStream`, and all that behaves like one.

    A wait for an event that is cancelled must take nothing. Where it has `statistics()`
    with `bytes`, as ours have, `max_bytes` bounds what is read when the client has left;
    elsewhere only `seconds` does.
    """

    @property
    def outcome(self) -> Outcome[Any] | None:
        """How it ended; `None` while it runs."""
        ...

    def events(self) -> AsyncIterator[Any]:
        """Return its events, which end quietly whatever happened."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """What a `Relay` was told."""

    upstream: AbstractAsyncContextManager[Relayed]
    encode: Callable[[Any], ServerSentEvent | None]
    on_leave: OnLeave
    on_end: Callable[[Report], Awaitable[object] | object] | None
    keepalive: float | None
    head_wait: float
    last: Callable[[Outcome[Any]], ServerSentEvent | None] | None


async def take(stream: Relayed, events: AsyncIterator[Any]) -> tuple[Any] | None:
    """Return the next event of a stream; `None` behind the last, and then it has an outcome."""
    try:
        return (await anext(events),)
    except StopAsyncIteration:
        if stream.outcome is None:  # there would be no end to asking it
            raise RuntimeError(
                f"The events of a {type(stream).__name__} ended while its outcome is None; set it "
                "before they end, and let events() be no async generator: cancelled in a wait, "
                "that is over"
            ) from None
    except ClosedResourceError:  # somebody else has closed the stream
        if stream.outcome is None:
            raise
    return None


class Delivery:
    """Hands on to one client. Its methods are called one after the other, never two at once."""

    def __init__(self, terms: Terms, messages: Messages, last_event_id: str) -> None:
        self._terms = terms
        self._messages = messages
        self._encoder = SseEncoder(last_event_id)
        self._batch: list[bytes] = []
        # When the client has to hear something.
        self._due = current_time() + terms.head_wait
        self.sent = 0
        """The events that the server has taken."""
        self.error: Exception | None = None
        """Why no event follows those in the batch: a bug, which is not lost with the client."""

    async def keep_open(self, opened: Event) -> None:
        """Send comments until the upstream is open."""
        while not opened.is_set():
            with CancelScope(deadline=self._due):
                await opened.wait()
            if not opened.is_set():
                await self._write(KEEPALIVE)

    async def hand_on(self, stream: Relayed) -> None:
        """Send all events of a stream, and how it ended.

        An event is taken when all before it were sent: so a client that is slow holds
        up the upstream.
        """
        events = stream.events()
        while (outcome := await self._next(stream, events)) is None:
            if self._batch:
                await self._write_batch()
            elif current_time() >= self._due:
                await self._write(KEEPALIVE)
        await self.end(outcome)

    async def end(self, outcome: Outcome[Any]) -> None:
        """Send what is left, and how it ended: as a status, where nothing was sent yet."""
        started = self._messages.started or bool(self._batch)
        if not started and not isinstance(outcome, Completed):
            await self._messages.refuse(*refusal(outcome))
            return
        try:
            last = self._last(outcome)
        except Exception as error:
            await self._break_off(error)
            raise
        # What completes the stream, and what says so, go together.
        if self._batch or last:
            await self._messages.write_last(b"".join(self._batch) + last)
            self._count()
        await self._messages.finish()

    async def head(self) -> None:
        """Send the head of a stream, and that is all."""
        await self._messages.finish()

    async def _next(self, stream: Relayed, events: AsyncIterator[Any]) -> Outcome[Any] | None:
        try:
            return await self._collect(stream, events)
        except Exception as error:
            await self._break_off(error)
            raise

    async def _break_off(self, error: Exception) -> None:
        """Send what came before an event that cannot be shown: it is the client's."""
        self.error = error
        if self._batch:
            await self._write_batch()

    async def _collect(self, stream: Relayed, events: AsyncIterator[Any]) -> Outcome[Any] | None:
        """Take the next event, and with it those that are ready, if one comes before it is due.

        Returns the outcome when there are no more.
        """
        size = 0
        with CancelScope(deadline=self._due) as scope:
            while (taken := await take(stream, events)) is not None:
                size += self._add(*taken)
                if size >= _TOGETHER or stream.outcome is not None:
                    break
                scope.cancel()  # a wait that is cancelled takes nothing: so wait no more
        return stream.outcome

    def _add(self, event: Any) -> int:
        """Keep an event to be sent; return its size."""
        shown = _shown("encode", self._terms.encode(event))
        if shown is None:
            return 0
        self._batch.append(self._encoder.encode(shown))
        return len(self._batch[-1])

    def _last(self, outcome: Outcome[Any]) -> bytes:
        event = None if self._terms.last is None else _shown("last", self._terms.last(outcome))
        if event is None:
            return b""
        return self._encoder.encode(replace(event, id=event.id or self._encoder.last_event_id))

    async def _write_batch(self) -> None:
        await self._write(b"".join(self._batch))
        self._count()

    async def _write(self, body: bytes) -> None:
        await self._messages.write(body)
        keepalive = self._terms.keepalive
        self._due = math.inf if keepalive is None else current_time() + keepalive

    def _count(self) -> None:
        self.sent += len(self._batch)
        self._batch.clear()


def _shown(name: str, returned: object) -> ServerSentEvent | None:
    """Return what a function of the application's has returned, if it may."""
    if returned is None or isinstance(returned, ServerSentEvent):
        return returned
    if iscoroutine(returned):
        returned.close()  # or Python warns, somewhere else, that nobody has awaited it
        raise TypeError(f"{name} is a coroutine function; give a plain one, nobody awaits it")
    raise TypeError(
        f"{name} returned a {type(returned).__name__}; return a ServerSentEvent, "
        "or None for no event"
    )
