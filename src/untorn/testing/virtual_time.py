"""Virtual time: clocks that jump to the next deadline as soon as nothing else can happen.

A test in virtual time may wait for hours and takes milliseconds. It is for code without real
sockets or threads: those do their work in real time, which the jumping clock does not wait for.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Awaitable, Callable
from contextvars import Context
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar, TypeVarTuple, Unpack

import anyio

__all__ = [
    "PATIENCE",
    "Backend",
    "NothingCanHappenError",
    "VirtualLoop",
    "backends",
    "run_on",
    "run_virtual",
    "virtual_time",
]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Backend: TypeAlias = tuple[str, dict[str, Any]]
"""A backend as anyio takes it: its name and its options."""

PATIENCE = 7 * 24 * 3600.0
"""Virtual seconds after which `run_virtual` takes a wait to be for ever: longer than any
timeout that one would test, short enough that the jumps (a day each at most, on asyncio) cost
nothing."""


class NothingCanHappenError(RuntimeError):
    """Every task waits, and no timer is set that could wake one: in real time, a hang."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose clock starts at 0 and jumps when nothing is ready.

    When all tasks wait and no timer is set, it raises `NothingCanHappenError` where a real
    loop would wait for ever.
    """

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self.jump))

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._now

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call `callback` at a virtual time; at infinity, where sleeping for ever ends, never."""
        if when == math.inf:
            return asyncio.TimerHandle(when, callback, args, self, context)
        return super().call_at(when, callback, *args, context=context)

    def jump(self, seconds: float) -> None:
        """Move the clock on by `seconds`, and by one step of its precision at the least.

        Without that least step, a deadline too near for a float to reach would never come.
        """
        self._now = max(self._now + seconds, math.nextafter(self._now, math.inf))


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that never waits: it reports what is ready now, or lets the clock jump."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise NothingCanHappenError(
                "Every task waits and no timer is set, so nothing can ever happen. "
                "Give the code under test a timeout, or end its source"
            )
        self._jump(timeout)
        return []


def virtual_time(backend: str = "asyncio") -> Backend:
    """Return `backend` ("asyncio" or "trio") with the options that give it virtual time.

    The pair is what anyio's pytest plugin wants from an `anyio_backend` fixture. Make a new
    one for each test: a clock remembers the time.
    """
    if backend == "asyncio":
        return backend, {"loop_factory": VirtualLoop}
    if backend == "trio":
        try:
            from trio.testing import MockClock
        except ImportError as missing:
            raise ImportError(
                "virtual time on trio needs trio: pip install 'untorn[trio]'"
            ) from missing
        return backend, {"clock": MockClock(autojump_threshold=0)}
    raise ValueError(f"There is no virtual time for {backend!r}: use 'asyncio' or 'trio'")


def backends(*, virtual: bool = True) -> list[Backend]:
    """Return the backends that are installed, asyncio first, in virtual or in real time."""
    names = [name for name in ("asyncio", "trio") if find_spec(name)]
    return [virtual_time(name) if virtual else (name, {}) for name in names]


def run_virtual(
    function: Callable[..., Awaitable[T]], *args: object, backend: str = "asyncio"
) -> T:
    """Run `function(*args)` to its end in virtual time and return its result.

    A function that still waits after a virtual week raises `NothingCanHappenError`, on every
    backend.
    """
    result: T = run_on(virtual_time(backend), _patiently, function, args)
    return result


def run_on(backend: Backend, function: Callable[..., Awaitable[T]], *args: object) -> T:
    """Run `function(*args)` on `backend`, as `anyio.run` does."""
    name, options = backend
    if name == "trio":
        # Not by anyio.run: the oldest release we support drops trio's options, the clock too.
        import trio

        result: T = trio.run(function, *args, **options)
        return result
    return anyio.run(function, *args, backend=name, backend_options=options)


async def _patiently(function: Callable[..., Awaitable[T]], args: tuple[object, ...]) -> T:
    with anyio.move_on_after(PATIENCE):
        return await function(*args)
    raise NothingCanHappenError(
        f"After {PATIENCE:.0f} virtual seconds the function still waits: nothing will wake it"
    )
