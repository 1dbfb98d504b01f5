"""`untorn read`: a capture, a live endpoint or standard input through the pipeline."""

from __future__ import annotations

import os
import stat
import sys
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import click
import httpx2

from ..limits import Clocks
from ..testing.recording import BEGINNING, is_recording
from .dialects import AUTO, media_types
from .reading import (
    Reading,
    count,
    dialect_option,
    idle_option,
    json_option,
    total_bytes_option,
    total_option,
)
from .request import Asking, is_url, request_of, request_options, url_of, why
from .source import Bytes, FileBytes, ResponseBytes
from .status import backend_option, run, status_of

__all__ = ["read"]

_HELP = """Read a stream from a file, an http(s) URL or standard input (-).

The text of a chat answer goes to standard output as it comes; reasoning, tool
calls and the outcome go to standard error. Other streams are written one event
per line.

\b
    untorn read answer.sse
    untorn read --dialect sse --json answer.sse
    head -c 2000 answer.sse | untorn read -
    untorn read https://api.example.com/v1/chat/completions \\
        --header 'Authorization: Bearer ${API_KEY}' --data @request.json --idle 30

In single quotes ${API_KEY} is left to untorn, which puts in the environment
variable: so the key stands in no list of processes.

Exit status: 0 completed, 3 interrupted, 4 failed, 2 wrong usage.
"""


def _input(ctx: click.Context, param: click.Parameter, value: str) -> httpx2.URL | BinaryIO:
    """Return the URL, or the opened file."""
    if is_url(value):
        return url_of(ctx, param, value)
    if value == "-":
        return _standard_input(ctx, param)
    try:
        return ctx.with_resource(Path(value).open("rb"))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise click.BadParameter(f"{value!r} cannot be opened: {why(error)}.", ctx, param) from None


def _standard_input(ctx: click.Context, param: click.Parameter) -> BinaryIO:
    if sys.stdin is None:
        raise click.BadParameter("standard input is closed.", ctx, param)
    return sys.stdin.buffer


@click.command(cls=Asking, help=_HELP)
@click.argument("input", metavar="FILE|URL|-", callback=_input)
@dialect_option
@json_option
@backend_option
@click.option("--chunk", type=count, help="Hand on at most so many bytes at a time.")
@idle_option
@total_option
@click.option("--frame-bytes", type=count, help="The longest frame that is read.")
@total_bytes_option
@request_options
def read(
    input: httpx2.URL | BinaryIO,
    dialect: str,
    as_json: bool,
    backend: str,
    idle: float | None,
    total: float | None,
    chunk: int | None,
    frame_bytes: int | None,
    total_bytes: int | None,
    headers: list[tuple[bytes, bytes]],
    data: bytes | None,
    method: str | None,
) -> None:
    """Read the input to its end and exit with the status of its outcome."""
    clocks = Clocks(idle=idle, total=total)
    keys: set[str] = set()
    if isinstance(input, httpx2.URL):
        request = request_of(input, headers, data, method)
        response = ResponseBytes(request, media_types(dialect), clocks=clocks)
        source: Bytes = response
        keys = response.keys
    elif headers or data is not None or method:
        raise click.UsageError("--header, --data and --method are for URLs.")
    elif dialect == AUTO and _holds_recording(input):
        raise click.UsageError("that is a recording; untorn replay shows what was recorded.")
    else:
        source = FileBytes(input)
    limits = {"read_bytes": chunk, "frame_bytes": frame_bytes, "total_bytes": total_bytes}
    reading = Reading(dialect, as_json, limits, clocks, keys)
    raise SystemExit(status_of(run(partial(reading.read, source), backend)))


def _holds_recording(file: Any) -> bool:
    """Say whether a file is a recording; a pipe is never waited for to find out."""
    try:
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except OSError:  # not a file of the system
        return False
    return is_file and isinstance(file, BufferedReader) and is_recording(file.peek(len(BEGINNING)))
