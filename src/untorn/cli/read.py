"""`untorn read`: a capture, a live endpoint or standard input through the pipeline."""

from __future__ import annotations

import re
import sys
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
import httpx2
from anyio import CancelScope, get_cancelled_exc_class

from ..event import Message
from ..limits import Clocks, Limits
from ..outcome import Outcome
from ..reduce import Dialect
from ..stream import open_stream
from .dialects import AUTO, DIALECTS, media_types
from .output import Notes, Output
from .peek import Peeked
from .show import JsonShow, Show, TextShow
from .source import Bytes, FileBytes, Request, ResponseBytes
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
        --header "Authorization: Bearer $KEY" --data @request.json --idle 30

Exit status: 0 completed, 3 interrupted, 4 failed, 2 wrong usage.
"""

# RFC 9110: a token, and a field value, without what could end the line.
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


def _input(ctx: click.Context, param: click.Parameter, value: str) -> httpx2.URL | BinaryIO:
    """Return the URL, or the opened file."""
    scheme, separator, _ = value.partition("://")
    if separator and scheme.isalpha():
        return _url(ctx, param, value)
    if value == "-":
        return _standard_input(ctx, param)
    try:
        return ctx.with_resource(Path(value).open("rb"))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise click.BadParameter(
            f"{value!r} cannot be opened: {_why(error)}.", ctx, param
        ) from None


def _standard_input(ctx: click.Context, param: click.Parameter) -> BinaryIO:
    if sys.stdin is None:
        raise click.BadParameter("standard input is closed.", ctx, param)
    return sys.stdin.buffer


def _url(ctx: click.Context, param: click.Parameter, value: str) -> httpx2.URL:
    try:
        url = httpx2.URL(value)
    except (httpx2.InvalidURL, ValueError):
        raise click.BadParameter("that is not a URL.", ctx, param) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise click.BadParameter("give an http:// or https:// URL with a host.", ctx, param)
    return url


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _header(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> list[tuple[bytes, bytes]]:
    """Split headers. The message never shows one, for it may hold a key."""
    headers = []
    for value in values:
        name, colon, rest = value.partition(":")
        if not (colon and _TOKEN.fullmatch(name) and _VALUE.fullmatch(rest.strip())):
            raise click.BadParameter("write it as 'Name: value', on one line.", ctx, param)
        headers.append((name.encode(), rest.strip().encode("utf-8", "surrogateescape")))
    return headers


def _data(ctx: click.Context, param: click.Parameter, value: str | None) -> bytes | None:
    """Return the body to send; `@name` stands for the content of that file."""
    if value is None or not value.startswith("@"):
        return value if value is None else value.encode("utf-8", "surrogateescape")
    try:
        return Path(value[1:]).read_bytes()
    except (OSError, ValueError) as error:
        reason = _why(error)
        raise click.BadParameter(f"{value[1:]!r} cannot be read: {reason}.", ctx, param) from None


def _method(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _TOKEN.fullmatch(value):
        raise click.BadParameter("give the name of a method, such as POST.", ctx, param)
    return value


def _seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not value > 0:  # NaN, too
        raise click.BadParameter("give a positive number of seconds.", ctx, param)
    return value


_bytes: Final = click.IntRange(min=1)


@click.command(help=_HELP)
@click.argument("input", metavar="FILE|URL|-", callback=_input)
@click.option(
    "--dialect",
    type=click.Choice([AUTO, *DIALECTS]),
    default=AUTO,
    show_default=True,
    help="What the bytes mean; auto looks at the content type and the first frame.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per event.")
@backend_option
@click.option("--chunk", type=_bytes, help="Hand on at most so many bytes at a time.")
@click.option(
    "--idle", type=float, callback=_seconds, help="Wait at most so many seconds for the next byte."
)
@click.option("--total", type=float, callback=_seconds, help="Wait at most so many seconds in all.")
@click.option("--frame-bytes", type=_bytes, help="The longest frame that is read.")
@click.option("--total-bytes", type=_bytes, help="The longest stream that is read.")
@click.option("--header", "headers", multiple=True, callback=_header, help="'Name: value' to send.")
@click.option("--data", callback=_data, help="A body to send, or @FILE; makes the request a POST.")
@click.option("--method", callback=_method, help="The method, if not GET or POST.")
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
    if isinstance(input, httpx2.URL):
        request = _request(input, headers, data, method)
        source: Bytes = ResponseBytes(request, media_types(dialect))
    elif headers or data is not None or method:
        raise click.UsageError("--header, --data and --method are for URLs.")
    else:
        source = FileBytes(input)
    given = {"read_bytes": chunk, "frame_bytes": frame_bytes, "total_bytes": total_bytes}
    reading = _Reading(dialect, given, Clocks(idle=idle, total=total), as_json)
    raise SystemExit(status_of(run(partial(reading.read, source), backend)))


def _request(
    url: httpx2.URL, headers: list[tuple[bytes, bytes]], data: bytes | None, method: str | None
) -> Request:
    """Return the request, with the headers that services expect where none were given."""
    sent = httpx2.Headers(headers)
    sent.setdefault("accept", "text/event-stream, application/x-ndjson, */*;q=0.1")
    if data is not None:
        sent.setdefault("content-type", "application/json")
    return Request(method or ("GET" if data is None else "POST"), url, sent, data)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a source is read and shown."""

    dialect: str
    limits: dict[str, int | None]
    """Those that were given; the dialect has the others."""
    clocks: Clocks
    as_json: bool

    async def read(self, opened: Bytes) -> Outcome[Any]:
        """Read a source to its end, show it, and return the outcome."""
        async with aclosing(Peeked(opened, self.clocks)) as source:
            named = DIALECTS.get(self.dialect)
            dialect = await source.dialect() if named is None else named.dialect()
            stream = show = None
            try:
                async with open_stream(
                    source, dialect, limits=self._limits(dialect), clocks=source.clocks
                ) as stream:
                    show = self._show(stream.value)
                    async for event in stream.events():
                        await show.event(event)
            except (KeyboardInterrupt, get_cancelled_exc_class()):
                if stream is not None and show is not None and stream.outcome is not None:
                    with CancelScope(shield=True):
                        await show.outcome(stream.outcome)
                raise
            assert stream.outcome is not None
            await show.outcome(stream.outcome)
            return stream.outcome

    def _limits(self, dialect: Dialect[Any, Any]) -> Limits:
        given = {name: value for name, value in self.limits.items() if value is not None}
        return replace(dialect.limits, **given)

    def _show(self, value: Any) -> Show:
        out = Output(sys.stdout.buffer)
        if self.as_json:
            return JsonShow(out)
        return TextShow(out, Notes(), is_chat=isinstance(value, Message))
