"""The exit status of a command, and how it is run to get one."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final, TextIO, TypeVar, assert_never

import anyio
import click

from ..outcome import Completed, Failed, Interrupted, Outcome
from .ctrl_c import counting_once

__all__ = ["COMPLETED", "FAILED", "INTERRUPTED", "backend_option", "run", "status_of"]

T = TypeVar("T")

COMPLETED: Final = 0
INTERRUPTED: Final = 3
FAILED: Final = 4
# As a shell reports the death by SIGPIPE.
_NOBODY_LISTENS: Final = 141

backend_option = click.option(
    "--backend",
    type=click.Choice(["asyncio", "trio"]),
    default="asyncio",
    show_default=True,
    help="The event loop to run on.",
)


def status_of(outcome: Outcome[Any]) -> int:
    """Return the exit status that says how a stream ended."""
    match outcome:
        case Completed():
            return COMPLETED
        case Interrupted():
            return INTERRUPTED
        case Failed():
            return FAILED
        case _:
            assert_never(outcome)


def run(main: Callable[[], Awaitable[T]], backend: str) -> T:
    """Run `main` on a backend; exits quietly when nobody reads the output."""
    if find_spec(backend) is None:
        raise click.UsageError(f"{backend} is not installed: pip install 'untorn[{backend}]'")
    try:
        return anyio.run(_interruptible, main, backend=backend)
    except BrokenPipeError:
        _forget(sys.stdout, sys.stderr)
        raise SystemExit(_NOBODY_LISTENS) from None
    except OSError as error:  # what goes wrong with a source is an outcome
        _forget(sys.stdout)
        raise click.ClickException(f"the output cannot be written: {error.strerror}.") from None


async def _interruptible(main: Callable[[], Awaitable[T]]) -> T:
    with counting_once():
        return await main()


def _forget(*streams: TextIO) -> None:
    """Let what is still buffered go nowhere: Python flushes it at exit, and would complain."""
    for stream in streams:
        with suppress(OSError):
            number = stream.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)
