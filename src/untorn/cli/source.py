"""The bytes to read: of a file, of standard input, or of the response to a request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import BinaryIO, Final, Protocol
from urllib.request import getproxies

import anyio
import click
import httpx2

from ..http import RequestSource
from ..http.answer import Answer
from ..limits import Clocks
from ..secrets import SECRETS, keys_of, secrets_of, userinfo_of
from .request import Request

__all__ = ["Bytes", "FileBytes", "ResponseBytes", "UnjudgedBytes"]

_READ_BYTES: Final = 64 * 1024
_CONNECT_SECONDS: Final = 10.0


class Bytes(Protocol):
    """Chunks of bytes, their `Content-Type` if it is known by the first of them, and a close."""

    @property
    def content_type(self) -> str | None: ...
    def __aiter__(self) -> AsyncIterator[bytes]: ...
    async def __anext__(self) -> bytes: ...
    async def aclose(self) -> None: ...


class FileBytes(AsyncIterator[bytes]):
    """The bytes of a file, a pipe or a terminal, as they become available."""

    content_type: str | None = None

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def __anext__(self) -> bytes:
        # What cannot be waited for (a regular file) never keeps us waiting.
        with suppress(OSError):
            await anyio.wait_readable(self._file.fileno())
        chunk = self._file.read1(_READ_BYTES)  # type: ignore[attr-defined]  # buffered
        if not chunk:
            raise StopAsyncIteration
        return bytes(chunk)

    async def aclose(self) -> None:
        """Close the file."""
        self._file.close()


class ResponseBytes(RequestSource):
    """The body of the response to a request, by a client of its own.

    media_types
        Those that are accepted.
    transport
        Stands for the network, if it is given.
    clocks
        Those of the stream that reads it.
    """

    def __init__(
        self,
        request: Request,
        media_types: frozenset[str],
        transport: httpx2.AsyncBaseTransport | None = None,
        clocks: Clocks = Clocks(),
    ) -> None:
        self._own = _client(transport)
        super().__init__(
            self._own,
            request.method,
            request.url,
            media_types=media_types,
            clocks=clocks,
            headers=request.headers,
            content=request.data,
            extensions=request.extensions
            | {SECRETS: [*request.extensions.get(SECRETS, ()), *_of_proxies()]},
        )

    @property
    def keys(self) -> set[str]:
        """What is certainly secret of the request."""
        return keys_of(self._sent)

    @property
    def secrets(self) -> set[str]:
        """All that may be secret of it."""
        return secrets_of(self._sent)

    @property
    def content_type(self) -> str | None:
        """The `Content-Type`, once the head of the response is here."""
        kind: str | None = self.response and self.response.headers.get("content-type")
        return kind

    async def aclose(self) -> None:
        """Close the response and its connection."""
        try:
            await super().aclose()
        finally:
            await self._own.aclose()


class UnjudgedBytes(ResponseBytes):
    """The same, whatever the response is."""

    async def head(self) -> Answer:
        """Send the request, and return the response as soon as its head is here."""
        try:
            self._answer = self._answer or await self._ask()
            return self._answer
        except Exception as error:
            shown = self.hide(error)
        raise shown

    async def _judged(self) -> AsyncIterator[bytes]:
        return (await self.head()).body()


def _client(transport: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
    """Return a client that sends what it is told to, once.

    Redirects are not followed: they would take the headers to another host.
    """
    timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    try:
        return httpx2.AsyncClient(timeout=timeout, follow_redirects=False, transport=transport)
    except ValueError:  # it would show who may use the proxy
        raise click.UsageError(
            "the proxy that the environment names cannot be used; "
            "look at HTTP_PROXY, HTTPS_PROXY and ALL_PROXY."
        ) from None


def _of_proxies() -> Iterator[str]:
    """Yield what is secret of the proxies that the environment names, as httpx2 asks for them."""
    for url in getproxies().values():
        yield from userinfo_of(url.rpartition("://")[2].partition("/")[0].rpartition("@")[0])
