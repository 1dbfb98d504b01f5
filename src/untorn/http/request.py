"""The request for a stream; and what is wrong with one, said before anything is sent."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

__all__ = ["as_client", "build_request", "method_of"]

# RFC 9110, 5.6.2.
_TOKEN: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
# RFC 9110, 5.5; HTTP/2 has the same rule (RFC 9113, 8.2.1).
_NO_VALUE: Final = re.compile(rb"[\0\n\v\f\r]|\A[ \t]|[ \t]\Z")
# WebSockets begin with a request like any other.
_SCHEMES: Final = ("http", "https", "ws", "wss")


def as_client(client: Any) -> Any:
    """Return an asynchronous client of httpx2 or httpx; raises `TypeError`."""
    is_class = isinstance(client, type)
    if hasattr(client, "build_request") and hasattr(client, "aclose") and not is_class:
        return client
    what = f"the class {client.__name__}" if is_class else f"an object of {type(client).__name__}"
    raise TypeError(
        f"Not a client: {what}; give an AsyncClient of httpx2 or httpx, "
        "or open the response yourself and give it to open_response()"
    )


def method_of(method: Any) -> str:
    """Return a method in upper case; raises `TypeError`, `ValueError`."""
    if not isinstance(method, str):
        raise TypeError(f"method={method!r} is not text; give the name of a method: 'GET', 'POST'")
    if not _TOKEN.fullmatch(method.encode()):
        raise ValueError(f"method={method!r} is no method of HTTP; give one word: 'GET', 'POST'")
    return method.upper()


def build_request(
    client: Any, method: str, url: Any, accepted: frozenset[str], options: dict[str, Any]
) -> Any:
    """Return the request, with the headers and the timeout that a stream wants.

    Raises what `client.build_request` raises, and `ValueError` for what the client's own
    transport would refuse to send. That would look as if the network had failed.
    """
    if "timeout" not in options:
        # A model may think for minutes. How long to wait for bytes is for `Clocks` to say.
        given = client.timeout
        options["timeout"] = (given.connect, None, given.write, given.pool)
    built = _built(client, method_of(method), url, options)
    if _is_for_the_network(client, built.url):
        _check_url(built.url)
        _check_headers(built.headers.raw)
    _ask_for(accepted, built.headers, type(built.headers)(options.get("headers")))
    return built


def _built(client: Any, method: str, url: Any, options: dict[str, Any]) -> Any:
    """Return the request as the client builds it. What it cannot encode is not shown."""
    with suppress(UnicodeEncodeError):
        return client.build_request(method, url, **options)
    headers = options.get("headers") or {}
    pairs = headers.items() if hasattr(headers, "items") else headers
    for name, value in pairs:
        if isinstance(value, str) and not value.isascii():
            raise ValueError(
                f"The value of the header {name!r} is not ASCII; look whether it was copied "
                "whole, or give it as bytes"
            )
    raise ValueError(
        "The request has something that is not ASCII where nothing else can be sent; "
        "look at the names of its headers, and at its cookies"
    )


def _ask_for(accepted: frozenset[str], headers: Any, given: Any) -> None:
    """Say in the headers what is accepted, unless the caller or the client says it."""
    wanted = {"accept": ", ".join(sorted(accepted))}
    if "text/event-stream" in accepted:
        wanted["cache-control"] = "no-store"
    for name, value in wanted.items():
        # `*/*` is what the client says where nobody says anything.
        if name not in given and headers.get(name) in (None, "*/*"):
            headers[name] = value


def _is_for_the_network(client: Any, url: Any) -> bool:
    """Say whether the client's own transport sends it.

    Another may know other schemes, or need no host; what it cannot send is for it to say.
    """
    choose = getattr(client, "_transport_for_url", None)
    kind = type(choose and choose(url))
    package = kind.__module__.partition(".")[0]
    return kind.__name__ == "AsyncHTTPTransport" and package in ("httpx", "httpx2")


def _check_url(url: Any) -> None:
    # It is not quoted, for keys may be in it. One without a host has no scheme here either.
    if url.scheme not in _SCHEMES:
        raise ValueError(
            "The URL does not begin with http:// or https:// and a host; "
            "give a whole one, or set base_url on the client"
        )


def _check_headers(fields: list[tuple[bytes, bytes]]) -> None:
    for name, value in fields:
        if not _TOKEN.fullmatch(name):  # nor is this quoted: it may be a whole line
            raise ValueError(
                "A header has a name that none can have; give names without blanks, colons "
                "and line breaks"
            )
        if _NO_VALUE.search(value):
            raise ValueError(
                f"The header {name.decode()} begins or ends with a blank, or has a line break "
                "in it; strip it (a key that was read from a file has a line break behind it)"
            )
