"""The bytes to read: of a file, of standard input, or of the response to a request."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import BinaryIO, Final, Protocol

import anyio
import httpx2

from ..dialects.detect import media_type
from ..faults import UnexpectedResponse

__all__ = ["Bytes", "FileBytes", "Request", "ResponseBytes", "excerpt"]

_READ_BYTES: Final = 64 * 1024
_BODY_BYTES: Final = 4096
"""What is kept of the body of a response that is no stream."""
_CONNECT_SECONDS: Final = 10.0


class Bytes(Protocol):
    """Chunks of bytes, their `Content-Type` if it is known by the first of them, and a close."""

    content_type: str | None

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
        chunk = self._file.read1(_READ_BYTES)  # type: ignore[attr-defined]
        if not chunk:
            raise StopAsyncIteration
        return bytes(chunk)

    async def aclose(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask for. Not shown: headers carry keys, and so may the URL."""

    method: str
    url: httpx2.URL
    headers: httpx2.Headers
    data: bytes | None

    def __repr__(self) -> str:
        return f"Request({self.method})"


class ResponseBytes(AsyncIterator[bytes]):
    """The body of the response to a request, which is sent when the first chunk is asked for.

    Raises `UnexpectedResponse` if the status is not 200, or the media type not one
    of those that are accepted; a response without one is taken as it is.
    """

    content_type: str | None = None

    def __init__(self, request: Request, accepted: frozenset[str]) -> None:
        self._request = request
        self._accepted = accepted
        self._client: httpx2.AsyncClient | None = None
        self._response: httpx2.Response | None = None
        self._body: AsyncIterator[bytes] | None = None

    async def __anext__(self) -> bytes:
        if self._body is None:
            self._body = await self._send()
        return await anext(self._body)

    async def aclose(self) -> None:
        """Close the response and its connection."""
        try:
            if self._response is not None:
                await self._response.aclose()
        finally:
            if self._client is not None:
                await self._client.aclose()

    async def _send(self) -> AsyncIterator[bytes]:
        # Redirects are not followed: they would take the headers to another host.
        # How long to wait for an answer the clocks of the stream say.
        timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
        client = self._client = httpx2.AsyncClient(timeout=timeout, follow_redirects=False)
        asked = self._request
        request = client.build_request(
            asked.method, asked.url, headers=asked.headers, content=asked.data
        )
        response = self._response = await client.send(request, stream=True)
        self.content_type = response.headers.get("content-type")
        kind = media_type(self.content_type)
        if response.status_code != HTTPStatus.OK:
            raise await _unexpected(response, "http-status")
        if kind is not None and kind not in self._accepted:
            raise await _unexpected(response, "content-type")
        return response.aiter_bytes()


async def _unexpected(response: httpx2.Response, code: str) -> UnexpectedResponse:
    status, kind = response.status_code, media_type(response.headers.get("content-type"))
    if code == "http-status":
        reason = f" {response.reason_phrase}" if response.reason_phrase else ""
        sentence = f"The server answered {status}{reason}, not 200; look at what it says"
        if location := response.headers.get("location"):
            sentence += f", and whether to ask {location.partition('?')[0]} instead"
    else:
        sentence = (
            f"The server answered with {kind}, which is not how such a stream is sent; "
            "to read it all the same, pipe the body into `untorn read -`"
        )
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) >= _BODY_BYTES:
            break
    return UnexpectedResponse(
        sentence, code=code, status=status, media_type=kind, body=body[:_BODY_BYTES]
    )


def excerpt(body: bytes, most: int = 400) -> str:
    """Return the beginning of a body as one readable line."""
    text = re.sub(r"\s+", " ", body.decode("utf-8", "replace")).strip()
    return text if len(text) <= most else text[: most - 3] + "..."
