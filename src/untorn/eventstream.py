"""Bytes to frames: `application/vnd.amazon.eventstream`, the binary wire of AWS.

https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html,
https://smithy.io/2.0/aws/amazon-eventstream.html. All numbers are big-endian:

    total length u32 | headers length u32 | CRC-32 of these 8 bytes |
    headers | payload | CRC-32 of all before it

A header is `length of name u8 | name | type u8 | value`. There is no way to find
the next message behind a damaged one, so the first that is wrong ends the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import ClassVar, Final, NamedTuple, TypeAlias
from uuid import UUID
from zlib import crc32

from .faults import LimitExceeded, ProtocolViolation, StreamFault
from .frame import BATCH, Frames, Span
from .outcome import Boundary
from .stage import Cut, Ending

__all__ = ["BytesDecoder", "EventStreamFramer", "EventStreamMessage", "HeaderValue", "Piece"]

_PRELUDE: Final = Struct(">III")
# The prelude and the CRC at the end.
_AROUND: Final = 16
# As botocore; a real message has less than 200 bytes of headers.
_MOST_HEADERS: Final = 128 * 1024

HeaderValue: TypeAlias = bool | int | bytes | str | UUID
"""A timestamp is an int, milliseconds since 1970."""


class EventStreamMessage(NamedTuple):
    """A message whose CRCs are right."""

    headers: dict[str, HeaderValue]
    payload: bytes

    def header(self, name: str) -> str:
        """Return the header of this name, the empty string unless it is a string."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


class Piece(NamedTuple):
    """Some bytes, and the offset in the stream of the first of them."""

    data: bytes
    start: int


class BytesDecoder:
    """The first stage of a binary wire: hands bytes on, up to `total_bytes`."""

    __slots__ = ("_total", "literal_replacements", "offset", "replacements")

    def __init__(self, total_bytes: int | None = None) -> None:
        self._total = total_bytes
        self.offset = 0
        """Bytes fed so far."""
        self.replacements = 0
        self.literal_replacements = 0

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """Yield the chunk; raises `LimitExceeded`."""
        room = len(chunk) if self._total is None else self._total - self.offset
        piece = Piece(chunk[:room], self.offset)
        self.offset += len(piece.data)
        yield piece
        if room < len(chunk):
            raise LimitExceeded("total_bytes", self.offset, offset=self.offset)

    def end(self, ending: Ending) -> tuple[list[Piece], Ending]:
        """Hold nothing."""
        return [], ending


class EventStreamFramer:
    """Turn pieces into messages.

    `frame_bytes` bounds a whole message. Its length is known before it is here,
    but the fault is the first byte beyond the limit, once that arrives.
    """

    media_types: ClassVar = frozenset({"application/vnd.amazon.eventstream"})

    __slots__ = ("_buffer", "_kept", "_limit", "_settled", "_total", "comments", "largest")

    def __init__(self, frame_bytes: int) -> None:
        self._limit = frame_bytes
        self._buffer = bytearray()
        self._total = 0  # of the message at the start of the buffer; 0 before its prelude is read
        self._kept = 0
        self._settled = 0
        self.comments = 0
        self.largest = 0
        """Bytes of payload in the largest message."""

    @property
    def open(self) -> int:
        """Bytes of the unfinished message."""
        return self._kept

    def feed(self, piece: Piece) -> Iterator[Frames[EventStreamMessage]]:
        """Yield the messages that end in `piece`; raises `LimitExceeded`, `ProtocolViolation`."""
        buffer = self._buffer
        buffer += piece.data
        end = piece.start + len(piece.data)
        start, at = end - len(buffer), 0  # of the buffer in the stream; of a message in it
        items: list[EventStreamMessage] = []
        spans: list[Span] = []
        try:
            while (message := self._read(at, start + at)) is not None:
                items.append(message)
                spans.append((start + at, start + at + self._total))
                at += self._total
                self._total = self._kept = 0
                if len(items) >= BATCH:
                    yield items, 0, spans.__getitem__
                    items, spans = [], []
        except StreamFault:
            yield items, 0, spans.__getitem__
            raise
        del buffer[:at]
        self._kept = len(buffer)
        size, self._settled = start + at - self._settled, start + at
        yield items, size, spans.__getitem__

    def end(self, ending: Ending) -> tuple[list[Frames[EventStreamMessage]], Ending]:
        """Mark a cut that came inside a message."""
        if isinstance(ending, Cut) and self._kept:
            return [], ending.inside(Boundary.FRAME)
        return [], ending

    def _read(self, at: int, offset: int) -> EventStreamMessage | None:
        """Return the message at `at` of the buffer, byte `offset`, if all of it is here."""
        here = len(self._buffer) - at
        if not self._total and here >= _PRELUDE.size <= self._limit:
            self._total = _total_length(self._buffer[at : at + _PRELUDE.size], offset)
        if here > self._limit and not 0 < self._total <= self._limit:
            raise LimitExceeded("frame_bytes", self._limit, offset=offset + self._limit)
        if not self._total or here < self._total:
            return None
        message = _message(bytes(self._buffer[at : at + self._total]), offset)
        self.largest = max(self.largest, len(message.payload))
        return message


def _total_length(prelude: bytearray, offset: int) -> int:
    """Return the length of the message that begins so."""
    total, headers, crc = _PRELUDE.unpack(prelude)
    if crc32(prelude[:8]) != crc:
        raise _violation("The CRC of a prelude does not fit its lengths", offset)
    if headers > min(total - _AROUND, _MOST_HEADERS):
        raise _violation(f"A message of {total} bytes cannot have {headers} of headers", offset)
    return int(total)


def _message(data: bytes, offset: int) -> EventStreamMessage:
    """Return the message that `data` is."""
    if crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "big"):
        raise _violation("The CRC of a message does not fit its bytes", offset)
    _, length, _ = _PRELUDE.unpack_from(data)
    split = _PRELUDE.size + length
    try:
        headers = _headers(data[_PRELUDE.size : split])
    except ValueError as error:
        raise _violation(
            f"The headers of a message are not well formed ({error})", offset
        ) from None
    return EventStreamMessage(headers, data[split:-4])


def _violation(sentence: str, offset: int) -> ProtocolViolation:
    return ProtocolViolation(
        f"{sentence}; read the body as raw bytes, and check the hops between the service and you",
        offset=offset,
    )


def _headers(data: bytes) -> dict[str, HeaderValue]:
    """Return the headers that `data` is; raises `ValueError`."""
    found: dict[str, HeaderValue] = {}
    at = 0
    while at < len(data):
        raw, at = _sized(data, at, 1)
        kind, at = _taken(data, at, 1)
        name = raw.decode()
        if name in found:
            raise ValueError(f"the name {name!r} comes twice")
        if kind[0] not in _VALUES:
            raise ValueError(f"there is no type {kind[0]}")
        found[name], at = _VALUES[kind[0]](data, at)
    return found


def _taken(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    """Return `size` bytes from `at` on, and where they end; raises `ValueError`."""
    end = at + size
    if end > len(data):
        raise ValueError("they end inside of one")
    return data[at:end], end


def _sized(data: bytes, at: int, width: int) -> tuple[bytes, int]:
    """Return the bytes whose number is the integer of `width` bytes before them."""
    size, at = _taken(data, at, width)
    return _taken(data, at, int.from_bytes(size, "big"))


_Read: TypeAlias = Callable[[bytes, int], tuple[HeaderValue, int]]


def _integer(size: int) -> _Read:
    def read(data: bytes, at: int) -> tuple[HeaderValue, int]:
        taken, at = _taken(data, at, size)
        return int.from_bytes(taken, "big", signed=True), at

    return read


def _string(data: bytes, at: int) -> tuple[HeaderValue, int]:
    taken, at = _sized(data, at, 2)
    return taken.decode(), at


def _uuid(data: bytes, at: int) -> tuple[HeaderValue, int]:
    taken, at = _taken(data, at, 16)
    return UUID(bytes=taken), at


_VALUES: Final[dict[int, _Read]] = {
    0: lambda data, at: (True, at),
    1: lambda data, at: (False, at),
    2: _integer(1),
    3: _integer(2),
    4: _integer(4),
    5: _integer(8),
    6: lambda data, at: _sized(data, at, 2),
    7: _string,
    8: _integer(8),
    9: _uuid,
}
