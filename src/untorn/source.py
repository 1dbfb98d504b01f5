"""What counts as bytes: one way to receive and to close, whatever the source is.

A source is taken as it is until the runner task reads it for the first time, so
that an async generator is started, read and closed in one task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from anyio import EndOfStream
from anyio.abc import ByteReceiveStream, ObjectReceiveStream

from .discreet import forget_secrets
from .secrets import requests_of

__all__ = ["ByteSource", "Discreet", "Source", "as_source"]


class ReceivesSome(Protocol):
    """A trio `ReceiveStream`, by shape."""

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Return the next bytes; none at the end."""
        ...


class StreamedResponse(Protocol):
    """A response of httpx2 or httpx, by shape."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Return the bytes of the body, without its content coding."""
        ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...


ByteSource: TypeAlias = (
    AsyncIterable[bytes | bytearray | memoryview] | ReceivesSome | StreamedResponse
)
"""What bytes can be read from. The streams of anyio, asyncio and aiohttp are iterables."""

_ACCEPTED: Final = (
    "an async iterable of bytes, an anyio ByteReceiveStream or ObjectReceiveStream, "
    "a trio ReceiveStream, an asyncio or aiohttp StreamReader, "
    "or a streamed httpx2 or httpx response"
)


F = TypeVar("F", bound=BaseException)


class Discreet(ABC):
    """Bytes that were asked for with a secret, which whoever sends them may repeat."""

    @abstractmethod
    def hide(self, error: F) -> F:
        """Return an error without the secret; each is shown here before it is in an outcome.

        It is another one, a `StreamFault` for a `StreamFault`, where it cannot be changed.
        """


class Source(ABC):
    """Bytes to receive, and something to close."""

    def __init__(self, original: Any) -> None:
        self.original = original

    @abstractmethod
    def receive(self, most: int) -> Awaitable[Any]:
        """Return the next chunk, of `most` bytes if that can be said.

        At the end it raises `EndOfStream`, or `StopAsyncIteration`: to tell one
        from the other would cost a coroutine per read.
        """

    def hide(self, error: F) -> F:
        """Return an error without what only the original knows to be secret."""
        return self.original.hide(error) if isinstance(self.original, Discreet) else error

    async def aclose(self) -> None:
        """Close whatever can be closed."""
        await self.original.aclose()


def as_source(source: Any) -> Source:
    """Return the source for whatever was handed over; raises `TypeError`. Touches nothing."""
    kind = _kind(source)
    if kind is None:
        hint = _hint(source)
        raise TypeError(f"Cannot read bytes from {source!r}: give {_ACCEPTED}{hint}")
    return kind(source)


def _kind(source: Any) -> type[Source] | None:
    if isinstance(source, ByteReceiveStream):
        return _ByteStream
    if isinstance(source, ObjectReceiveStream):
        return _ObjectStream
    if hasattr(source, "receive_some"):
        return _TrioStream
    # Both StreamReaders iterate by line, with a limit: so they come before iterables.
    if hasattr(source, "at_eof") and hasattr(source, "read"):
        return _StreamReader
    if hasattr(source, "aiter_bytes") and hasattr(source, "aclose"):
        stream = getattr(source, "stream", None)
        return _Response if stream is None or hasattr(stream, "__aiter__") else None
    return _Iterable if hasattr(source, "__aiter__") else None


def _hint(source: Any) -> str:
    if isinstance(source, (bytes, bytearray, str)) or hasattr(source, "__iter__"):
        return "; for bytes that are here already there is parse()"
    if callable(source) and not isinstance(source, type):
        return f"; call it first: {getattr(source, '__name__', 'source')}()"
    if hasattr(source, "__aenter__") and not hasattr(source, "content"):
        return "; enter the block first: async with ... as response"
    if hasattr(source, "aiter_bytes"):
        return "; this response comes from a synchronous client: parse(response.iter_bytes(), ...)"
    content = getattr(source, "content", None)
    if hasattr(content, "at_eof"):
        return "; of this response, give `.content`"
    return ""


class _ByteStream(Source):
    def receive(self, most: int) -> Awaitable[Any]:
        received: Awaitable[Any] = self.original.receive(most)
        return received


class _ObjectStream(Source):
    def receive(self, most: int) -> Awaitable[Any]:
        received: Awaitable[Any] = self.original.receive()
        return received


class _TrioStream(Source):
    async def receive(self, most: int) -> Any:
        chunk = await self.original.receive_some(most)
        if not chunk:
            raise EndOfStream
        return chunk


class _StreamReader(Source):
    """asyncio's or aiohttp's; what they read from is not theirs to close."""

    async def receive(self, most: int) -> Any:
        chunk = await self.original.read(most)
        if not chunk:
            raise EndOfStream
        return chunk

    async def aclose(self) -> None:
        return None


class _Iterable(Source):
    def __init__(self, original: Any) -> None:
        super().__init__(original)
        self._iterator: AsyncIterator[Any] | None = None

    def _iterate(self) -> AsyncIterator[Any]:
        iterator: AsyncIterator[Any] = self.original.__aiter__()
        return iterator

    def receive(self, most: int) -> Awaitable[Any]:
        if self._iterator is None:
            self._iterator = self._iterate()
        return self._iterator.__anext__()

    async def aclose(self) -> None:
        """Close the iterator, and what it iterates over, where they can be closed."""
        try:
            if self._iterator is not self.original:
                await _close(self._iterator)
        finally:
            await _close(self.original)


class _Response(_Iterable):
    """httpx2's or httpx's, by shape: the body with its content encoding taken off.

    Closing the iterator alone leaves httpx's connection open, so the response is
    closed as well.
    """

    def hide(self, error: F) -> F:
        """Return an error without what is secret of the request, if the response knows it."""
        return forget_secrets(error, *requests_of(self.original))

    def _iterate(self) -> AsyncIterator[Any]:
        iterator: AsyncIterator[Any] = self.original.aiter_bytes()
        return iterator


async def _close(thing: Any) -> None:
    aclose = getattr(thing, "aclose", None)
    if aclose is not None:
        await aclose()
