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

    @property
    @abstractmethod
    def status(self) -> int:
        """The status code."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """What the server writes beside the status; often nothing."""

    @property
    @abstractmethod
    def request(self) -> Any:
        """The request as it was sent last, if the response knows it."""

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
    elif hasattr(response, "release") and hasattr(response.content, "iter_any"):
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
        await aclose()


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

    @property
    def request(self) -> Any:
        try:
            return self.response.request
        except RuntimeError:  # a response that was made and not received
            return None

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
    """Of aiohttp, which decodes what it knows before anybody can ask."""

    @property
    def status(self) -> int:
        status: int = self.response.status
        return status

    @property
    def reason(self) -> str:
        return self.response.reason or ""

    @property
    def request(self) -> Any:
        return self.response.request_info

    def body(self) -> AsyncIterator[bytes]:
        return self._decoded(self.response.content.iter_any())

    async def aclose(self) -> None:
        self.response.release()

    def _codings(self) -> list[str]:
        given: str = self.headers.get("content-encoding", "")
        return [] if given.lower() in _BY_AIOHTTP else codings(given)
