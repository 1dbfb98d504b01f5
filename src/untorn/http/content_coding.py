"""A body with its content codings taken off, as it arrives: gzip, deflate, br, zstd.

RFC 9110, section 8.4; RFC 1952, 1950, 7932, 8878. Clients decode, too; but whether
a coded body was whole they do not say, and a torn answer must not look whole. What
is decoded comes out in pieces, so that a few bytes cannot become a gigabyte at once.

Libraries drop the output of a call that finds damage. What came before the damage must
come out however the body was cut, so where a decoder cannot be copied it is fed slices.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Any, Final, Protocol

from ..fold import sliced

__all__ = ["Coding", "Decoded", "coding_for", "codings", "package_for"]

_PIECE: Final = 64 * 1024
"""Bytes that are decoded at once."""
_SLICE: Final = 16
"""Bytes that a decoder is given which cannot be copied: so many may be lost at a damage."""


class Coding(Protocol):
    """One coding of one body."""

    @property
    def whole(self) -> bool:
        """Whether the body may end here."""
        ...

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield all that `data` lets be known, in pieces."""
        ...


class Decoded(AsyncIterator[bytes]):
    """The bytes of `raw`, to which `applied` codings were applied in that order.

    Raises `OSError` if they are damaged, and `EOFError` if they end too early.
    """

    def __init__(self, raw: AsyncIterator[bytes], applied: Sequence[Coding]) -> None:
        self.raw = raw
        self._codings = applied[::-1]
        self._ready: Iterator[bytes] = iter(())

    async def __anext__(self) -> bytes:
        while (piece := self._next_piece()) is None:
            try:
                data = await anext(self.raw)
            except StopAsyncIteration:
                if not all(coding.whole for coding in self._codings):
                    raise EOFError("The body ended inside its content coding") from None
                raise
            self._ready = self._decode(data)
        return piece

    def _decode(self, data: bytes) -> Iterator[bytes]:
        pieces: Iterator[bytes] = iter((data,))
        for coding in self._codings:
            pieces = chain.from_iterable(map(coding.decode, pieces))
        return pieces

    def _next_piece(self) -> bytes | None:
        try:
            return next(self._ready, None)
        except Exception as error:  # of whichever library decodes
            raise OSError(f"The content coding of the body is damaged: {error}") from error


def codings(content_encoding: str) -> list[str]:
    """Return the codings that a `Content-Encoding` header names, in the order of their use."""
    names = (name.strip().lower() for name in content_encoding.split(","))
    return [name for name in names if name not in ("", "identity")]


def coding_for(name: str) -> Coding | None:
    """Return a coding that begins, or `None` if nothing installed can decode it."""
    return _CODINGS[name]() if name in _CODINGS else None


def package_for(name: str) -> str | None:
    """Return the package that would bring a coding."""
    return {"br": "brotli", "zstd": "backports.zstd"}.get(name)


# --- the codings ------------------------------------------------------------------


class _Gzip:
    """Members one behind the other, each with a check of its own."""

    def __init__(self) -> None:
        self._member: Any = None

    @property
    def whole(self) -> bool:
        return self._member is None

    def decode(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member is None:
                data = data.lstrip(b"\0")  # padding between members
                self._member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if data else None
                continue
            yield from _inflate(self._member, data)
            data = self._member.unused_data
            if self._member.eof:
                self._member = None


class _Deflate:
    """The format of zlib; or bare, as some servers send it (RFC 9110, 8.4.1.2)."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: Any = None

    @property
    def whole(self) -> bool:
        return not self._head or (self._stream is not None and bool(self._stream.eof))

    def decode(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            self._head = data = self._head + data
            if len(data) < 2:
                return
            is_zlib = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        yield from _inflate(self._stream, data)


def _inflate(stream: Any, data: bytes) -> Iterator[bytes]:
    # What did not fit into a piece is kept inside, even if no input is left.
    while True:
        before = stream.copy()
        try:
            piece = stream.decompress(data, _PIECE)
        except zlib.error:
            yield from _joined(_up_to_damage(before, data))
            raise  # pragma: no cover - the byte that is damaged has raised by now
        if not piece:
            return
        yield piece
        data = stream.unconsumed_tail


def _up_to_damage(stream: Any, data: bytes) -> Iterator[bytes]:
    for byte in sliced(data, 1):  # pragma: no branch - the damaged one ends it
        while piece := stream.decompress(byte, _PIECE):
            yield piece
            byte = stream.unconsumed_tail


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield small pieces as large ones, those before an error before it."""
    found: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            if found and size + len(piece) > _PIECE:
                yield b"".join(found)
                found, size = [], 0
            found.append(piece)
            size += len(piece)
    except Exception:
        if found:
            yield b"".join(found)
        raise
    if found:
        yield b"".join(found)


class _Brotli:
    def __init__(self, module: Any) -> None:
        self._stream = module.Decompressor()
        self._begun = False
        # Before 1.2 there was no bound to be given; a slice copies at most some 16 MB.
        bounded = hasattr(self._stream, "can_accept_more_data")
        self._bound = {"output_buffer_limit": _PIECE} if bounded else {}

    @property
    def whole(self) -> bool:
        return not self._begun or bool(self._stream.is_finished())

    def decode(self, data: bytes) -> Iterator[bytes]:
        self._begun = self._begun or bool(data)
        return _joined(chain.from_iterable(map(self._decode, sliced(data, _SLICE))))

    def _decode(self, data: bytes) -> Iterator[bytes]:
        while piece := self._stream.process(data, **self._bound):
            yield piece
            data = b""
            if not self._bound:
                return


class _Zstd:
    """Frames one behind the other."""

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._begin = begin
        self._frame: Any = None

    @property
    def whole(self) -> bool:
        return self._frame is None

    def decode(self, data: bytes) -> Iterator[bytes]:
        return _joined(chain.from_iterable(map(self._decode, sliced(data, _SLICE))))

    def _decode(self, data: bytes) -> Iterator[bytes]:
        while data or self._frame is not None:
            self._frame = self._frame or self._begin()
            if piece := self._frame.decompress(data, _PIECE):
                yield piece
            data = b""
            if self._frame.eof:
                data, self._frame = self._frame.unused_data, None
            elif self._frame.needs_input:
                return


class _Zstandard:
    """A frame by the package `zstandard`, in the words of the standard library.

    It knows no bound; but in a slice no more than a few blocks end, of 128 KB each.
    """

    needs_input = True

    def __init__(self, module: Any) -> None:
        self._frame = module.ZstdDecompressor().decompressobj()

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data)

    def decompress(self, data: bytes, most: int) -> bytes:
        return bytes(self._frame.decompress(data))


def _brotli() -> Coding | None:
    module = _first_of("brotli", "brotlicffi")
    return _Brotli(module) if module else None


def _zstd() -> Coding | None:
    if module := _first_of("compression.zstd", "backports.zstd"):
        return _Zstd(module.ZstdDecompressor)
    if module := _first_of("zstandard"):
        return _Zstd(lambda: _Zstandard(module))
    return None


def _first_of(*modules: str) -> Any:
    for module in modules:
        with suppress(ImportError):
            return import_module(module)
    return None


_CODINGS: Final[dict[str, Callable[[], Coding | None]]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _brotli,
    "zstd": _zstd,
}
