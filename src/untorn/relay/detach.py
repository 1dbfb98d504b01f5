"""A request run in a task group of the application's, which may outlive it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from anyio import TASK_STATUS_IGNORED, CancelScope, get_cancelled_exc_class

from .exchange import Exchange

__all__ = ["run_detached"]

_log: Final = logging.getLogger("untorn")


async def run_detached(exchange: Exchange, task_group: Any) -> None:
    """Run an exchange in a task group, and return when its response is over.

    An exception is raised here; one that comes later is logged, and never ends the group.
    """
    began, waiting = False, True

    async def run(*, task_status: Any = TASK_STATUS_IGNORED) -> None:
        nonlocal began
        began = True
        task_status.started()
        try:
            await exchange.run()
        except Exception as error:
            if not waiting:
                _log.error("A relay failed after its request", exc_info=error)

    try:
        await _start(task_group, run, exchange.responded.set)
        await _responded(exchange)
    finally:
        waiting = False
        if not began:  # the group is over, or is being cancelled
            exchange.leave()
            await exchange.report()
    if exchange.error is not None:
        raise exchange.error


async def _start(
    task_group: Any, run: Callable[..., Awaitable[None]], done: Callable[[], None]
) -> None:
    if hasattr(task_group, "start_soon"):
        await task_group.start(run)
        return
    task = run()
    try:
        started = task_group.create_task(task)
    except RuntimeError:
        task.close()  # type: ignore[attr-defined]
        raise
    # A task that is cancelled before it has begun says nothing itself.
    started.add_done_callback(lambda _: done())


async def _responded(exchange: Exchange) -> None:
    try:
        await exchange.responded.wait()
    except get_cancelled_exc_class():  # the server wants the request to end
        exchange.leave()
        with CancelScope(shield=True):
            await exchange.responded.wait()
        raise
