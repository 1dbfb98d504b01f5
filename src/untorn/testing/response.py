"""The bytes of a chaos server's HTTP response, and the six ways in which they can end."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import Final, Literal, Protocol, TypeAlias, get_args

from .checks import check_whole
from .cuts import Cutting

__all__ = ["ContentEncoding", "Ending", "Response"]

ContentEncoding: TypeAlias = Literal["gzip", "deflate"]

PING: Final = b": ping\n\n"
# RFC 9110: a token, and a field value, in what HTTP/1.1 can send of it.
TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class Ending(Enum):
    """How a response's body ends. Only the first says that the body is complete."""

    LAST_CHUNK = "last-chunk"
    """Properly: the chunk of size zero; the connection stays open for the next request."""
    MISSING_LAST_CHUNK = "missing-last-chunk"
    """The connection is closed where the last chunk should be."""
    CLOSE = "close"
    """A body without length or chunks, which ends where the connection is closed."""
    RESET = "reset"
    """A TCP RST after the data. What the client has not read yet may be lost with it."""
    SILENCE = "silence"
    """Nothing comes any more, and the connection stays open."""
    COMMENTS = "comments"
    """Comments (`: ping`) keep coming, and nothing else."""

    @property
    def completes_body(self) -> bool:
        """Whether the server sent all that it meant to: the end of a compressed body, too."""
        return self in (Ending.LAST_CHUNK, Ending.CLOSE)

    @classmethod
    def _missing_(cls, value: object) -> None:
        known = ", ".join(ending.value for ending in cls)
        raise ValueError(f"Not an ending: {value!r}; give one of {known}")


@dataclass(frozen=True, slots=True)
class Response:
    """What a chaos server answers to every request."""

    pieces: Cutting
    """The body before content-encoding; each piece is sent by itself, as one HTTP chunk."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    """Added to `content-type: text/event-stream`, or in its place."""
    content_encoding: ContentEncoding | None = None
    """Each piece is flushed, so that the client can decode it at once."""
    ending: Ending = Ending.LAST_CHUNK

    def __post_init__(self) -> None:
        check_whole("status", self.status, 100, 999)
        _check_headers(self.headers)
        if self.content_encoding not in (None, *get_args(ContentEncoding)):
            raise ValueError(
                f"content_encoding={self.content_encoding!r}: give 'gzip', 'deflate' or None"
            )
        object.__setattr__(self, "ending", Ending(self.ending))

    @property
    def is_chunked(self) -> bool:
        """Whether the body is sent in HTTP chunks."""
        return self.ending is not Ending.CLOSE

    def head(self) -> bytes:
        """Return the status line and the headers."""
        phrase = _phrase(self.status)
        lines = [f"HTTP/1.1 {self.status} {phrase}".rstrip(), *map(": ".join, self._headers())]
        return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")

    def body(self) -> Iterator[bytes]:
        """Yield the body piece by piece; after the wire, pings without end if it ends so."""
        encoder = _encoder(self.content_encoding)
        for piece in self.pieces:
            yield self._framed(encoder.compress(piece) + encoder.flush(zlib.Z_SYNC_FLUSH))
        while self.ending is Ending.COMMENTS:
            yield self._framed(encoder.compress(PING) + encoder.flush(zlib.Z_SYNC_FLUSH))
        yield from self._last(encoder.flush(zlib.Z_FINISH))

    def _last(self, trailer: bytes) -> Iterator[bytes]:
        if trailer and self.ending.completes_body:
            yield self._framed(trailer)
        if self.ending is Ending.LAST_CHUNK:
            yield b"0\r\n\r\n"

    def _framed(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if self.is_chunked else data

    def _headers(self) -> Iterator[tuple[str, str]]:
        headers = {"content-type": "text/event-stream"}
        headers |= {name.lower(): value for name, value in self.headers.items()}
        if self.content_encoding is not None:
            headers["content-encoding"] = self.content_encoding
        yield from headers.items()
        yield ("transfer-encoding", "chunked") if self.is_chunked else ("connection", "close")


class _Encoder(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self, mode: int, /) -> bytes: ...


class _Identity:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self, mode: int, /) -> bytes:
        return b""


def _encoder(encoding: ContentEncoding | None) -> _Encoder:
    if encoding is None:
        return _Identity()
    # zlib calls for gzip's own header by adding 16 to the window's size.
    return zlib.compressobj(wbits=zlib.MAX_WBITS + (16 if encoding == "gzip" else 0))


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not isinstance(name, str) or not TOKEN.fullmatch(name):
            raise ValueError(f"headers: {name!r} is not the name of a header")
        if not isinstance(value, str) or not VALUE.fullmatch(value):
            raise ValueError(f"headers: {name!r} cannot be sent with the value {value!r}")


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in list(HTTPStatus) else ""
