"""The backends, by name: in virtual time where that can be had, or in real time for sockets."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from untorn.testing import Backend, virtual_time
from untorn.testing.virtual_time import run_on

__all__ = ["Backend", "backend", "in_asyncio", "in_trio", "in_virtual_time", "living", "on_sockets"]

T = TypeVar("T")

BACKENDS = ["asyncio", "uvloop", "trio"]


def _only(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("anyio_backend", names, indirect=True)


in_virtual_time = _only("asyncio", "trio")
on_sockets = _only("asyncio-real", "uvloop", "trio-real")
in_asyncio = _only("asyncio", "uvloop")
in_trio = _only("trio")


def backend(name: str) -> Backend:
    """Return the backend that anyio takes for one of these names."""
    match name:
        case "uvloop":
            pytest.importorskip("uvloop")
            return "asyncio", {"use_uvloop": True}
        case "asyncio-real" | "trio-real":
            return name.removesuffix("-real"), {}
        case _:
            return virtual_time(name)


def run(name: str, function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run an async function in a loop of its own."""
    return run_on(backend(name), function, *args)


def living() -> int:
    """Return the number of tasks that are alive."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        return int(trio.lowlevel.current_statistics().tasks_living)
    return len(asyncio.all_tasks())
