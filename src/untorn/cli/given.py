"""What several commands are given in one form: seconds to wait, and header lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from typing import Final

import click

__all__ = ["TOKEN", "header", "pause", "seconds"]

# RFC 9110: a token, and a field value, without what could end the line.
TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


def seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Return a time to wait that is more than nothing."""
    if value is not None and not 0 < value < inf:  # NaN, too
        raise click.BadParameter("give a positive number of seconds.", ctx, param)
    return value


def pause(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Return a time to wait, which may be nothing."""
    if value is not None and not 0 <= value < inf:
        raise click.BadParameter("give a number of seconds, 0 or more.", ctx, param)
    return value


def header(
    ctx: click.Context, param: click.Parameter, line: str, filled: Callable[[str], str] = str
) -> tuple[bytes, bytes]:
    """Return the name and the value of a header line, as they are sent.

    `filled` puts into the value what stands for something else. The message never
    shows the line, for it may hold a key.
    """
    name, colon, rest = line.partition(":")
    rest = filled(rest).strip()
    if not (colon and TOKEN.fullmatch(name) and _VALUE.fullmatch(rest)):
        raise click.BadParameter("write it as 'Name: value', on one line.", ctx, param)
    return name.encode(), rest.encode("utf-8", "surrogateescape")
