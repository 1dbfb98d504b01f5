"""What it costs to begin: opening and closing a stream, and importing the package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from .loops import BACKENDS, Silent, run
from .measure import OURS, Case, Effort, Row, interleaved
from .memory import READERS, Reader
from .peers import PEERS, importable
from .wires import TINY


def cases(effort: Effort) -> Iterator[Case]:
    for backend in BACKENDS:
        group, subject = "start-up", f"open, one event, close, {backend}"
        yield Case(group, subject, partial(_opening, group, subject, backend, effort))
    yield Case("start-up", "import", partial(_importing, effort))


def _opening(group: str, subject: str, backend: str, effort: Effort) -> Iterator[Row]:
    count = effort.pick(300, 50)
    runs = {
        name: partial(run, backend, _open_and_close, reader, count)
        for name, reader in READERS.items()
    }
    yield interleaved(group, subject, runs, effort.rounds, count, "us")


async def _open_and_close(reader: Reader, count: int) -> None:
    """Let the reader have one event of a source that stays open, and leave."""
    for _ in range(count):
        await reader(Silent(TINY), _nothing, False)


def _nothing() -> None: ...


def _importing(effort: Effort) -> Iterator[Row]:
    modules = {OURS: "untorn, untorn.dialects", "anyio alone": "anyio"}
    if not effort.quick:  # the vendors' take a second or more
        modules |= {name: module for name, module in PEERS.items() if importable(module)}
    runs = {name: partial(_import, module) for name, module in modules.items()}
    yield interleaved("start-up", "import", runs, effort.pick(3, 1), 1, "ms")


def _import(modules: str) -> float:
    """Return the CPU seconds of a Python that imports, less those of one that does not."""
    return _python(f"import {modules}") - _python("pass")


def _python(code: str) -> float:
    before = _children()
    subprocess.run([sys.executable, "-c", code], check=True)
    return _children() - before


def _children() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system
