"""The event loops, sources in memory for them, and child processes to measure in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from .peers import importable

T = TypeVar("T")

_ALL: dict[str, tuple[str, dict[str, Any]]] = {
    "asyncio": ("asyncio", {}),
    "uvloop": ("asyncio", {"use_uvloop": True}),
    "trio": ("trio", {}),
}
BACKENDS = {name: which for name, which in _ALL.items() if importable(name)}


def run(backend: str, function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run an async function on a fresh loop."""
    name, options = BACKENDS[backend]
    return anyio.run(function, *args, backend=name, backend_options=options)


async def ready(chunks: Sequence[bytes]) -> AsyncIterator[bytes]:
    """Reads that are always ready, each for the price of one checkpoint."""
    for chunk in chunks:
        await anyio.lowlevel.checkpoint()
        yield chunk


class Silent:
    """A source of one chunk that then says nothing, as an idle connection does."""

    def __init__(self, chunk: bytes) -> None:
        self._chunk = chunk

    def __aiter__(self) -> Silent:
        return self

    async def __anext__(self) -> bytes:
        if self._chunk:
            chunk, self._chunk = self._chunk, b""
            return chunk
        await anyio.sleep_forever()
        raise AssertionError

    async def aclose(self) -> None: ...


def in_child(module: str, *args: object) -> Any:
    """Run a function of a module of ours in a process of its own; return what it returns.

    For what is measured of the whole process: memory, above all.
    """
    command = [sys.executable, "-m", "bench.loops", module, *(json.dumps(arg) for arg in args)]
    root = Path(__file__).parents[1]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=root)
    return json.loads(run.stdout)


def _child(where: str, *args: str) -> None:
    from importlib import import_module

    module, _, function = where.rpartition(".")
    measure = getattr(import_module(f"bench.{module}"), function)
    print(json.dumps(measure(*map(json.loads, args))))


if __name__ == "__main__":
    _child(*sys.argv[1:])
