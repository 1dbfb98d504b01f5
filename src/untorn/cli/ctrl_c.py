"""Ctrl-C, which counts once: an impatient hand sends a second one while the first is at work."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Any, Final, NoReturn

__all__ = ["CTRL_C", "counting_once", "is_ctrl_c", "leave"]

CTRL_C: Final = 130
"""As a shell reports the death by SIGINT."""

# One that comes later is another, of somebody for whom the end takes too long.
_SECONDS: Final = 1.0


@contextmanager
def counting_once() -> Iterator[None]:
    """Hand the first Ctrl-C to whom it would have gone to; no other does anything for a second.

    To be entered within the loop, which takes SIGINT over only from Python's own handler. After
    a first Ctrl-C it stays.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = _Once(before)
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if handler.came is None:
            signal.signal(signal.SIGINT, before)


def is_ctrl_c(error: BaseException) -> bool:
    """Say whether Ctrl-C was pressed; on trio it comes out of task groups in a group."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(KeyboardInterrupt) is not None
    return isinstance(error, KeyboardInterrupt)


def leave() -> NoReturn:
    """Exit after Ctrl-C; no other is heard on the way out, where each would be a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise SystemExit(CTRL_C) from None


class _Once:
    """A handler of SIGINT that hands on the first."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self._handler = handler
        self.came: float | None = None
        """When the first came, in seconds of the monotonic clock."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.came is None:
            self.came = monotonic()
            self._handler(number, frame)
        elif monotonic() - self.came > _SECONDS:
            os._exit(CTRL_C)
