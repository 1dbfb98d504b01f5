"""A response, whichever client it is of: its head, its body, and a close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final, Protocol

from anyio import CancelScope

from ..link import in_trio
from .content_coding import Decoded, coding_for, codings

__all__ = ["Answer", "Headers", "as_answer", "leave"]

_RECEIVED_BYTES: Final = 1024 * 1024


class Headers(Protocol):
    """What is asked of headers: to find one by its name in lower case."""

    def get(self, key: str, default: Any = None, /) -> Any: ...


class Answer(ABC):
    """A response as one of the clients has it."""

    def __init__(self, response: Any) -> None:
        self.response = response

    @property
    def headers(self) -> Headers:
        """The fields of the head."""
        headers: Headers = self.response.headers
        return headers

    def field(self, name: str) -> str | None:
        """Return a field of the head; the values of one that was sent twice with a comma between.

        RFC 9110, section 5.3.
        """
        value: str | None = self.headers.get(name)
        return value

    @property
    @abstractmethod
    def status(self) -> int:
        """The status code."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """What the server writes beside the status; often nothing."""

    @property
    def undecodable(self) -> list[str]:
        """The content codings that cannot be taken off here."""
        return [name for name in self._codings() if coding_for(name) is None]

    @abstractmethod
    def body(self) -> AsyncIterator[bytes]:
        """Return the body, without its content codings; ask once."""

    @abstractmethod
    def _codings(self) -> list[str]:
        """Return the content codings that the client has left on, in the order of their use."""

    def _decoded(self, raw: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Return what the client gives without the content codings that it has left on."""
        applied = [coding for name in self._codings() if (coding := coding_for(name))]
        return Decoded(raw, applied) if applied else raw

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connection, or give it back if the body was read to its end."""


def as_answer(response: Any) -> Answer:
    """Return the answer that a response is; raises `TypeError`. Touches nothing."""
    hint = ""
    if hasattr(response, "aiter_raw"):
        if hasattr(getattr(response, "stream", None), "__aiter__"):
            return _Httpx(response)
        hint = "; this one comes from a synchronous client: parse(response.iter_bytes(), ...)"
    # In this order: to ask others for their content may read it.
    elif hasattr(response, "release") and hasattr(getattr(response, "content", None), "iter_any"):
        return _Aiohttp(response)
    elif hasattr(response, "__aenter__"):
        hint = "; enter the block first: async with ... as response"
    raise TypeError(
        f"Not a response of httpx2, httpx or aiohttp: an object of {type(response).__name__}{hint}"
    )


async def leave(body: AsyncIterator[bytes]) -> None:
    """Leave a body where it is.

    Clients have generators within generators, and closing the outermost does not close
    the others. Trio complains of those; but one cancellation unwinds them all, from the
    innermost outwards.
    """
    body = getattr(body, "raw", body)
    if in_trio():
        read = 0
        with suppress(Exception), CancelScope() as scope:
            scope.cancel()
            async for chunk in body:  # as long as the client need not wait
                read += len(chunk)
                if read > _RECEIVED_BYTES:
                    break
    aclose = getattr(body, "aclose", None)
    if aclose is not None:
        try:
            await aclose()
        except RuntimeError as error:
            # Of two cancellations in quick succession it is still about the first.
            if "already running" not in str(error):
                raise


class _Httpx(Answer):
    """Of httpx2 or httpx."""

    @property
    def status(self) -> int:
        status: int = self.response.status_code
        return status

    @property
    def reason(self) -> str:
        reason: str = self.response.reason_phrase
        return reason

    def body(self) -> AsyncIterator[bytes]:
        # A body that was read already was decoded already.
        if self.response.is_stream_consumed:
            here: AsyncIterator[bytes] = self.response.aiter_bytes()
            return here
        return self._decoded(self.response.aiter_raw())

    async def aclose(self) -> None:
        await self.response.aclose()

    def _codings(self) -> list[str]:
        if self.response.is_stream_consumed:
            return []
        return codings(self.headers.get("content-encoding", ""))


# What aiohttp takes off by itself; not two of them, nor one under another name.
_BY_AIOHTTP: Final = ("gzip", "deflate", "br", "zstd")


class _Aiohttp(Answer):
    """Of aiohttp, which decodes what it knows before anybody can ask, unless it is told not to."""

    def field(self, name: str) -> str | None:
        values: list[str] = self.response.headers.getall(name, [])
        return ", ".join(values) if values else None

    @property
    def status(self) -> int:
        status: int = self.response.status
        return status

    @property
    def reason(self) -> str:
        return self.response.reason or ""

    def body(self) -> AsyncIterator[bytes]:
        raw = self.response.content.iter_any()
        coding = (self.headers.get("content-encoding") or "").lower()
        # Of deflate alone it sees where one breaks off.
        unsaid = self._decodes and coding in _BY_AIOHTTP and coding != "deflate"
        return _Unproven(self.response.content, coding) if unsaid else self._decoded(raw)

    async def aclose(self) -> None:
        self.response.release()

    def _codings(self) -> list[str]:
        given = self.field("content-encoding") or ""
        return [] if self._decodes and given.lower() in _BY_AIOHTTP else codings(given)

    @property
    def _decodes(self) -> bool:
        """Whether aiohttp decodes (`auto_decompress`, of the session or of the request)."""
        content = self.response.content
        if hasattr(content, "total_compressed_bytes"):  # a number where it decodes
            return content.total_compressed_bytes is not None
        session = getattr(self.response, "_session", None)  # before aiohttp counted them
        return bool(getattr(session, "auto_decompress", True))


class _Unproven(AsyncIterator[bytes]):
    """What aiohttp has decoded: it does not say whether the coding had come to its end."""

    def __init__(self, content: Any, coding: str) -> None:
        self.raw: AsyncIterator[bytes] = content.iter_any()
        self._content = content
        self._coding = coding

    async def __anext__(self) -> bytes:
        try:
            return await anext(self.raw)
        except StopAsyncIteration:
            if getattr(self._content, "total_compressed_bytes", True):
                raise EOFError(
                    f"aiohttp does not say whether the {self._coding} of the body was whole; "
                    "make the session with auto_decompress=False, and untorn decodes it"
                ) from None
            raise
