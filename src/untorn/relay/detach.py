"""A request run in a task group of the application's, which may outlive it."""

from __future__ import annotations

import logging
from typing import Any, Final

from anyio import TASK_STATUS_IGNORED, CancelScope, get_cancelled_exc_class

from .exchange import Exchange

__all__ = ["run_detached"]

_log: Final = logging.getLogger("untorn")


async def run_detached(exchange: Exchange, task_group: Any) -> None:
    """Run an exchange in a task group, and return when its response is over.

    An exception is raised here; one that comes later, or when the request is being
    cancelled, is logged, and never ends the group.
    """
    await _Detached(exchange).answer(task_group)


class _Detached:
    """An exchange and its two tasks: the server's, and the one of the group that runs it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._began = False
        # What went wrong; what of that the server hears; and whether it listens no more.
        self._failed: Exception | None = None
        self._raised: Exception | None = None
        self._gone = False

    async def answer(self, task_group: Any) -> None:
        """Have it run, and wait for its response."""
        try:
            try:
                await self._wait(task_group)
            finally:
                if not self._began:  # the group is over, or is being cancelled
                    await self._give_up()
            self._raised = self._exchange.error
        finally:
            self._gone = True
            self._log_unheard()
        if self._raised is not None:
            raise self._raised

    async def _wait(self, task_group: Any) -> None:
        responded = self._exchange.responded
        try:
            await self._start(task_group)
            await responded.wait()
        except get_cancelled_exc_class():  # the server wants the request to end
            self._exchange.leave()
            with CancelScope(shield=True):
                await responded.wait()
            raise

    async def _start(self, task_group: Any) -> None:
        if hasattr(task_group, "start_soon"):
            # Not `start_soon`: of a task that is cancelled before it begins nobody would hear.
            try:
                await task_group.start(self._run)
            finally:
                if not self._began:
                    self._exchange.responded.set()
            return
        running = self._run()
        try:
            task = task_group.create_task(running)
        except RuntimeError:
            running.close()
            raise
        # A task that is cancelled before it has begun says nothing itself.
        task.add_done_callback(lambda _: self._exchange.responded.set())

    async def _run(self, *, task_status: Any = TASK_STATUS_IGNORED) -> None:
        self._began = True
        task_status.started()
        try:
            await self._exchange.run()
        except Exception as error:
            self._failed = error
            self._log_unheard()

    async def _give_up(self) -> None:
        await self._exchange.give_up()
        self._failed = self._exchange.error

    def _log_unheard(self) -> None:
        if self._gone and self._failed is not None and self._failed is not self._raised:
            _log.error("A relay failed after its request", exc_info=self._failed)
