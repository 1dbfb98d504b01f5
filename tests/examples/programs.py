"""The examples: their functions, and the programs that they are."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from anyio.from_thread import start_blocking_portal

from untorn.testing import ChaosServer

__all__ = ["EXAMPLES", "functions", "program", "read_until", "served", "until"]

T = TypeVar("T")

EXAMPLES = Path(__file__).parents[2] / "examples"
# How long a program may take for what it does at once on a machine that does nothing else.
SECONDS = 30.0


def functions(name: str) -> dict[str, Any]:
    """Return what an example defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@contextmanager
def program(
    name: str, *arguments: object, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run an example while the block runs, its output and its errors in one pipe."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, arguments)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def read_until(running: subprocess.Popen[str], what: str) -> str:
    """Read what a program prints up to these words."""
    assert running.stdout is not None
    read = ""
    while not read.endswith(what):
        character = running.stdout.read(1)
        assert character, f"it ended with {read!r}"
        read += character
    return read


def until(look: Callable[[], T | None]) -> T:
    """Wait until there is something, and return it."""
    end = time.monotonic() + SECONDS
    while not (found := look()):
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.02)
    return found


@contextmanager
def served(server: ChaosServer) -> Iterator[ChaosServer]:
    """Run a chaos server in a thread while the block runs."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(server) as running:
        yield running
