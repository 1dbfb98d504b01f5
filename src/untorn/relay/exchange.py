"""One request from its first message to the report.

Up to four tasks, all of them within the request's own:

    relay        opens the upstream, hands on its events, closes it
    watch        waits for the client to leave
    keep_open    sends comments while the upstream is being opened, and never later
    refuse       answers a client that left before there was an answer

No send is cancelled but for a client that left, or with the whole request.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import Any, Final

from anyio import CancelScope, Event, create_task_group, current_time, move_on_after, sleep
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from ..outcome import Boundary, Cause, Interrupted, Outcome, Position, StreamError
from .delivery import Delivery, Relayed, Terms, take
from .messages import ClientGone, Messages, Receive
from .report import Report

__all__ = ["Exchange"]

# How long `on_end` may take: a row in a database, and not a server's shutdown.
ON_END_SECONDS: Final = 5.0
# How long the end of the response may take when its client is said to have left.
LAST_SEND_SECONDS: Final = 1.0
# What nginx has for it; nobody is there to get it. So a server takes it at once, or never.
_CLIENT_CLOSED_REQUEST: Final = 499
_REFUSAL_SECONDS: Final = 0.1

_log: Final = logging.getLogger("untorn")


class Exchange:
    """A request, its upstream and its response."""

    def __init__(
        self, terms: Terms, method: str, receive: Receive, messages: Messages, last_event_id: str
    ) -> None:
        self._terms = terms
        self._method = method
        self._receive = receive
        self._messages = messages
        self._delivery = Delivery(terms, messages, last_event_id)
        self._stream: Relayed | None = None
        self._outcome: Outcome[Any] | None = None
        self._tasks = create_task_group()
        # Around the upstream, until it is open; and what is cancelled when the client leaves.
        self._opening, self._waiting, self._sending = CancelScope(), CancelScope(), CancelScope()
        self._opened, self._waited = Event(), Event()
        # When the reading for nobody ends.
        self._deadline = math.inf
        self._client_left = False
        self._sent_all = False
        self.responded = Event()
        """Set when nothing more will be sent."""
        self.error: Exception | None = None
        """What went wrong on our side: `run` raises it when all is over."""

    async def run(self) -> None:
        """Answer the request; raises `error`, bare."""
        over = False
        try:
            try:
                await self._run_tasks()
            finally:
                self.responded.set()
                await self._report()
            over = True
        finally:
            if self.error is not None and not over:  # a cancellation goes before it
                _log.error("A relay that was cancelled failed", exc_info=self.error)
        if self.error is not None:
            raise self.error

    def leave(self) -> None:
        """The client has left: stop sending, and read on as long as the policy says."""
        if self._client_left or self._messages.finished:
            return
        self._client_left = True
        self._deadline = current_time() + self._terms.on_leave.seconds
        self._waiting.cancel()
        self._sending.cancel()
        if self._stream is None:
            self._opening.deadline = self._deadline

    async def give_up(self) -> None:
        """Report, in place of `run`, that nothing could be run."""
        try:
            await self._guard(self._close_unopened)
        finally:
            await self._report()

    async def _report(self) -> None:
        """Call `on_end`."""
        delivered = self._messages.finished and not self._client_left
        report = Report(self._ended(), self._delivery.sent, delivered, self._client_left)
        on_end = self._terms.on_end
        try:
            called = None if on_end is None else on_end(report)
        except Exception as error:
            self._fail(error)
            return
        if isawaitable(called):
            # In a task of its own: no shield keeps `Task.cancel` of asyncio from the one it is
            # called on, which is how servers end a request.
            async with create_task_group() as reporting:
                reporting.start_soon(self._await_on_end, called)

    async def _await_on_end(self, called: Awaitable[object]) -> None:
        with CancelScope(shield=True, deadline=current_time() + ON_END_SECONDS) as scope:
            try:
                await called
            except Exception as error:
                self._fail(error)
        if scope.cancelled_caught:
            _log.error("on_end took over %s s, and was cancelled", ON_END_SECONDS)

    def _ended(self) -> Outcome[Any]:
        outcome = self._stream.outcome if self._stream is not None else self._outcome
        if outcome is None:
            outcome = _never_open(Cause.CANCELLED)
        if not (self._client_left and isinstance(outcome, Interrupted)):
            return outcome
        # Nobody else has cancelled it.
        ours = outcome.cause is Cause.CANCELLED
        return replace(outcome, cause=Cause.ABANDONED) if ours else outcome

    # --- the tasks

    async def _run_tasks(self) -> None:
        async with self._tasks:
            self._tasks.start_soon(self._guard, self._watch)
            self._tasks.start_soon(self._guard, self._keep_open)
            await self._guard(self._relay)
            self._tasks.cancel_scope.cancel()
        if self.error is not None:  # an upstream that failed may have swallowed a cancellation
            await checkpoint_if_cancelled()

    async def _guard(self, task: Callable[[], Awaitable[None]]) -> None:
        """Run a task; an exception of it ends the others, and is kept out of any group."""
        try:
            await task()
        except Exception as error:
            self._fail(error)
            self._tasks.cancel_scope.cancel()

    def _fail(self, error: Exception) -> None:
        if self.error is None:
            self.error = error
        elif error is not self.error:
            _log.error("A relay that failed has failed again", exc_info=error)

    async def _watch(self) -> None:
        """Wait for the client to leave, whatever is left of the request's body."""
        while (await self._receive())["type"] != "http.disconnect":
            await checkpoint()  # a server that answers at once must not keep the loop to itself
        if self._messages.may_have_it_all:
            # Some (hypercorn) say of every client that it has left, before the end is sent.
            await sleep(LAST_SEND_SECONDS)
        self.leave()

    async def _keep_open(self) -> None:
        try:
            await self._deliver(self._waiting, partial(self._delivery.keep_open, self._opened))
            if self._client_left:
                self._let_go()
        finally:
            self._waited.set()

    async def _relay(self) -> None:
        with self._opening:
            await self._open()
        await self._waited.wait()

    # --- the upstream

    async def _open(self) -> None:
        if self._method == "HEAD":  # the head of a GET; nothing is asked of the upstream
            try:
                await self._end(self._delivery.head)
            finally:
                await self._close_unopened()
            return
        try:
            await self._relay_upstream()
        except Exception as error:
            if self._stream is not None:
                raise
            if isinstance(error, StreamError):
                self._outcome = error.outcome
            else:
                self._outcome = _never_open(Cause.TRANSPORT, error)
            await self._end(partial(self._delivery.end, self._outcome))
            if not isinstance(error, StreamError):
                raise

    async def _close_unopened(self) -> None:
        close = getattr(self._terms.upstream, "aclose", None)
        if close is not None:  # a reader of a broadcast, for which the others wait
            await close()

    async def _relay_upstream(self) -> None:
        failure: Exception | None = None
        async with self._terms.upstream as stream:
            try:
                await self._hand_on(stream)
            except Exception as error:
                failure = error
                raise
        # The upstream may swallow what ended its block; the response is no less broken for it.
        if failure is not None:
            raise failure
        if not self._sent_all:
            raise RuntimeError(
                "The upstream cancelled the relay of its events, and went on as if nothing had "
                "happened; give open_stream(...) clocks in place of a cancel scope around it"
            )

    async def _hand_on(self, stream: Any) -> None:
        self._stream = _checked(stream)
        self._opening.deadline = math.inf
        await self._end(partial(self._delivery.hand_on, stream))
        if self._client_left:
            await self._read_on(stream)

    async def _end(self, deliver: Callable[[], Awaitable[None]]) -> None:
        """Send the rest of the response, and let the request go."""
        self._opened.set()
        await self._waited.wait()
        if not self._client_left:
            await self._deliver(self._sending, deliver)
        self._let_go()

    async def _deliver(self, scope: CancelScope, deliver: Callable[[], Awaitable[None]]) -> None:
        try:
            with scope:
                try:
                    await deliver()
                except ClientGone:
                    self.leave()
        finally:
            if self._delivery.error is not None:
                self._fail(self._delivery.error)
        if self._delivery.error is not None:
            raise self._delivery.error

    def _let_go(self) -> None:
        """Let the request go: nothing is sent any more, but to a client that had no answer yet."""
        if self._sent_all:
            return
        self._sent_all = True
        if self._client_left and not self._messages.started:
            self._tasks.start_soon(self._guard, self._refuse)
        else:
            self.responded.set()

    async def _refuse(self) -> None:
        """Answer a client that left before there was any; the upstream does not wait for it.

        Nobody gets that, but what is wrapped around an application wants it to answer.
        """
        try:
            with suppress(ClientGone), move_on_after(_REFUSAL_SECONDS, shield=True):
                await self._messages.refuse(_CLIENT_CLOSED_REQUEST, b"")
        finally:
            self.responded.set()

    async def _read_on(self, stream: Relayed) -> None:
        """Read for nobody, within the bounds of the policy."""
        most = _bytes(stream) + self._terms.on_leave.max_bytes
        events = stream.events()
        # Comments, say, may come for ever, and no event: so the bytes end the wait for one, too.
        marked = getattr(stream, "_marked", lambda size, call: nullcontext())
        with CancelScope(deadline=self._deadline) as scope:
            while stream.outcome is None and _bytes(stream) < most:
                with marked(most, scope.cancel):
                    await take(stream, events)


def _checked(stream: Any) -> Relayed:
    if not (hasattr(stream, "events") and hasattr(stream, "outcome")):
        raise TypeError(
            f"The upstream gave a {type(stream).__name__}, which cannot be relayed; give one "
            "that gives an EventStream, or what has its events() and outcome"
        )
    relayed: Relayed = stream
    return relayed


def _bytes(stream: Any) -> int:
    """Return how much was read; 0 where nobody counts, and only the seconds bound.

    Of a reader of a broadcast it is what all have read, of a feed that of all connections.
    """
    return int(stream.statistics().bytes) if hasattr(stream, "statistics") else 0


def _never_open(cause: Cause, error: Exception | None = None) -> Interrupted[Any]:
    return Interrupted(cause, Boundary.MESSAGE, error, None, Position(0, 0, 0))
