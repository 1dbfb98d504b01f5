"""The request that a command is told to send, and the options that tell it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import click
import httpx2

from ..secrets import SECRETS
from .given import TOKEN, header

__all__ = ["Asking", "Request", "is_url", "request_of", "request_options", "url_of", "why"]

F = TypeVar("F", bound=Callable[..., Any])

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask for. Not shown: headers carry keys, and so may the URL."""

    method: str
    url: httpx2.URL
    headers: httpx2.Headers
    data: bytes | None
    extensions: dict[str, Any] = field(default_factory=dict)
    """What came from the environment, which is secret by definition."""

    def __repr__(self) -> str:
        return f"Request({self.method})"


class Asking(click.Command):
    """A command that does not repeat what it does not expect: it may be half of a header."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and count the arguments that are too many."""
        ctx.allow_extra_args = True
        left = super().parse_args(ctx, args)
        if ctx.args:
            ctx.fail(
                f"{len(ctx.args)} too many arguments; put quotes around each: "
                "--header 'Name: value'."
            )
        return left


def is_url(value: str) -> bool:
    """Say whether it is meant as a URL, and not as the name of a file."""
    scheme, separator, _ = value.partition("://")
    return bool(separator) and scheme.isalpha()


def url_of(ctx: click.Context, param: click.Parameter, value: str) -> httpx2.URL:
    """Return the URL; wrong usage if it is none. The message never shows it: it may hold a key."""
    try:
        url = httpx2.URL(_expanded(ctx, param, value, lambda variable: quote(variable, safe="")))
    except (httpx2.InvalidURL, ValueError):
        raise click.BadParameter("that is not a URL.", ctx, param) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise click.BadParameter("give an http:// or https:// URL with a host.", ctx, param)
    return url


def why(error: Exception) -> str:
    """Return what was wrong with a file, in words."""
    return getattr(error, "strerror", None) or str(error)


def _expanded(
    ctx: click.Context, param: click.Parameter, text: str, written: Callable[[str], str] = str
) -> str:
    """Put in the environment variables: so a key stands in no history and no list of processes."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in os.environ:
            raise click.BadParameter(
                f"the environment variable {name} is not set.", ctx, param
            ) from None
        _put_in(ctx).append(os.environ[name])
        return written(os.environ[name])

    return _VARIABLE.sub(value, text)


def _put_in(ctx: click.Context) -> list[str]:
    """Return the values that were put in so far, by this command."""
    values: list[str] = ctx.meta.setdefault(SECRETS, [])
    return values


def _headers(
    ctx: click.Context, param: click.Parameter, lines: tuple[str, ...]
) -> list[tuple[bytes, bytes]]:
    filled = partial(_expanded, ctx, param)
    return [header(ctx, param, line, filled) for line in lines]


def _data(ctx: click.Context, param: click.Parameter, value: str | None) -> bytes | None:
    """Return the body to send; `@name` stands for the content of that file, as it is."""
    if value is None:
        return None
    if not value.startswith("@"):
        return _expanded(ctx, param, value).encode("utf-8", "surrogateescape")
    try:
        return Path(value[1:]).read_bytes()
    except (OSError, ValueError) as error:
        reason = why(error)
        raise click.BadParameter(f"{value[1:]!r} cannot be read: {reason}.", ctx, param) from None


def _method(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not TOKEN.fullmatch(value):
        raise click.BadParameter("give the name of a method, such as POST.", ctx, param)
    return value


_OPTIONS: Final = (
    click.option(
        "--header",
        "headers",
        multiple=True,
        callback=_headers,
        help="'Name: value' to send; ${NAME} stands for an environment variable.",
    ),
    click.option(
        "--data",
        callback=_data,
        help="A body to send, or @FILE; makes the request a POST. ${NAME} as in --header, "
        "but not in the file.",
    ),
    click.option("--method", callback=_method, help="The method, if not GET or POST."),
)


def request_options(command: F) -> F:
    """Give a command the options `headers`, `data` and `method`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def request_of(
    url: httpx2.URL, headers: list[tuple[bytes, bytes]], data: bytes | None, method: str | None
) -> Request:
    """Return the request, with the headers that services expect where none were given.

    What the command that runs has put in from the environment is kept secret.
    """
    sent = httpx2.Headers(headers)
    sent.setdefault("accept", "text/event-stream, application/x-ndjson, */*;q=0.1")
    if data is not None:
        sent.setdefault("content-type", "application/json")
    context = click.get_current_context(silent=True)
    extensions = {SECRETS: _put_in(context)} if context else {}
    return Request(method or ("GET" if data is None else "POST"), url, sent, data, extensions)
