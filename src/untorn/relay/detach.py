"""A request run in a task group of the application's, which may outlive it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
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
    began = waited = gone = False
    unheard: Exception | None = None

    async def run(*, task_status: Any = TASK_STATUS_IGNORED) -> None:
        nonlocal began, unheard
        began = True
        task_status.started()
        try:
            await exchange.run()
        except Exception as error:
            if not gone:
                unheard = error
            elif not raised:
                _log_late(error)

    try:
        await _start(task_group, run, exchange.responded.set)
        await _responded(exchange)
        waited = True
    except get_cancelled_exc_class():  # the server wants the request to end
        exchange.leave()
        raise
    finally:
        gone, raised = True, waited and exchange.error is not None
        try:
            if not began:  # the group is over, or is being cancelled
                await exchange.report()
        finally:
            error = unheard if began else exchange.error
            if error is not None and not waited:  # what is raised here already goes before it
                _log_late(error)
    if exchange.error is not None:
        raise exchange.error


def _log_late(error: Exception) -> None:
    _log.error("A relay failed after its request", exc_info=error)


async def _start(
    task_group: Any, run: Callable[..., Coroutine[Any, Any, None]], done: Callable[[], None]
) -> None:
    if hasattr(task_group, "start_soon"):
        await task_group.start(run)
        return
    task = run()
    try:
        started = task_group.create_task(task)
    except RuntimeError:
        task.close()
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
