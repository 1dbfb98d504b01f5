"""Functions that a command is told by name: of an adapter, or of one's own module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from ..testing.adapter import Adapter, NotThereError, function_at, made

__all__ = ["listed", "named", "own"]

F = TypeVar("F")


def named(kind: str, name: str, adapters: Mapping[str, Adapter[F]]) -> F:
    """Return the function of an adapter; wrong usage if it cannot be had."""
    try:
        return made(kind, name, adapters)
    except NotThereError as error:
        raise click.UsageError(str(error)) from None


def own(place: str) -> Callable[..., Any]:
    """Return the function at `module:function`, for a module of the working directory, too."""
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` has it
    try:
        return function_at(place)
    except NotThereError as error:
        raise click.UsageError(str(error)) from None


def listed(adapters: Mapping[str, Adapter[Any]]) -> Iterator[str]:
    """Yield a line for each adapter: its name, what it is, and whether it is installed."""
    width = max(map(len, adapters))
    for name, adapter in adapters.items():
        missing = adapter.missing
        state = f"pip install {' '.join(missing)}" if missing else adapter.versions
        yield f"{name:{width}}  {adapter.says} ({state})"
