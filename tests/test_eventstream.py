"""AWS's binary event stream: cut anywhere the same messages, and no damaged byte unseen."""

from __future__ import annotations

import datetime
import struct
import uuid
import zlib
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import bytewise, cuttings, every_cut

from untorn import Boundary, LimitExceeded, ProtocolViolation, StreamFault
from untorn.eventstream import BytesDecoder, EventStreamFramer, EventStreamMessage
from untorn.frame import span_of
from untorn.outcome import Cause
from untorn.stage import Cut

EOF = Cut(Cause.EOF)

# --- an encoder: each value with the number of its type -----------------------

FORMATS = {2: ">b", 3: ">h", 4: ">i", 5: ">q", 8: ">q"}
Header = tuple[bytes, int, Any]


def value(kind: int, given: Any) -> bytes:
    """Return the bytes of a header's value."""
    if kind in (0, 1):
        return b""
    if kind in FORMATS:
        return struct.pack(FORMATS[kind], given)
    raw = given.bytes if kind == 9 else given.encode() if kind == 7 else given
    return raw if kind == 9 else struct.pack(">H", len(raw)) + raw


def headers(*found: Header) -> bytes:
    return b"".join(bytes([len(n)]) + n + bytes([kind]) + value(kind, v) for n, kind, v in found)


def message(head: bytes, payload: bytes = b"") -> bytes:
    """Return a message with these bytes as its headers, and both CRCs."""
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return body + struct.pack(">I", zlib.crc32(body))


def ints(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


VALUES = st.one_of(
    st.just((0, True)), st.just((1, False)), ints(8).map(lambda v: (2, v)),
    ints(16).map(lambda v: (3, v)), ints(32).map(lambda v: (4, v)), ints(64).map(lambda v: (5, v)),
    st.binary(max_size=9).map(lambda v: (6, v)),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=9).map(lambda v: (7, v)),
    ints(64).map(lambda v: (8, v)), st.uuids().map(lambda v: (9, v)),
)  # fmt: skip
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)
decoded = st.tuples(st.dictionaries(names, VALUES, max_size=4), st.binary(max_size=40))


def encoded(found: dict[str, tuple[int, Any]], payload: bytes) -> bytes:
    head = headers(*((name.encode(), kind, v) for name, (kind, v) in found.items()))
    return message(head, payload)


# --- running both stages ------------------------------------------------------


def run(
    chunks: Iterable[bytes], frame_bytes: int = 1 << 20, total_bytes: int | None = None
) -> tuple[list[EventStreamMessage], list[tuple[int, int]], Any]:
    """Return the messages, where they stand, and the fault or the ending."""
    decoder, framer = BytesDecoder(total_bytes), EventStreamFramer(frame_bytes)
    found: list[EventStreamMessage] = []
    spans: list[tuple[int, int]] = []
    try:
        for chunk in chunks:
            for piece in decoder.feed(chunk):
                for frames in framer.feed(piece):
                    found += frames[0]
                    spans += [span_of(frames, k) for k in range(len(frames[0]))]
    except StreamFault as fault:
        return found, spans, (type(fault), fault.code, fault.offset)
    rest, ending = framer.end(decoder.end(EOF)[1])
    assert rest == []
    return found, spans, ending


SMALL = message(headers((b":event-type", 7, "é"), (b"n", 3, -2)), b"{}")
WIRE = SMALL + message(b"") + message(b"", b"x" * 30) + SMALL


def test_every_cut() -> None:
    """The same messages at the same places whatever byte they are cut at."""
    whole = run([WIRE])
    assert [end - start for start, end in whole[1]] == [len(SMALL), 16, 46, len(SMALL)]
    assert whole[0][0] == ({":event-type": "é", "n": -2}, b"{}")
    for chunks in [*every_cut(WIRE), bytewise(WIRE)]:
        assert run(chunks) == whole


def test_every_prefix() -> None:
    """A message is handed on with its last byte and not before; what is cut is torn."""
    found, spans, _ = run([WIRE])
    ends = [end for _, end in spans]
    for length in range(len(WIRE) + 1):
        seen, _, ending = run([WIRE[:length]])
        assert seen == found[: sum(end <= length for end in ends)]
        inside = length not in (0, *ends)
        assert ending == (EOF.inside(Boundary.FRAME) if inside else EOF), length


@pytest.mark.parametrize("bits", [0x01, 0x80, 0xFF])
def test_every_damaged_byte_is_noticed(bits: int) -> None:
    """Whichever byte of the middle one changes: the first is handed on, no other ever is."""
    start, size = len(SMALL), len(SMALL)
    for at in range(start, start + size):
        wire = bytearray(SMALL * 3)
        wire[at] ^= bits
        found, _, ending = run([bytes(wire)])
        assert len(found) == 1, at
        assert ending == (ProtocolViolation, "protocol", start), at
        assert run(bytewise(bytes(wire))) == run([bytes(wire)]), at


@given(st.lists(decoded, max_size=5), st.data())
def test_round_trip(messages: list[Any], data: st.DataObject) -> None:
    """Headers of every type and any payload come back as they were, however they are cut."""
    wire = b"".join(encoded(*each) for each in messages)
    found, _, ending = run(data.draw(cuttings(wire)))
    expected = [({name: v for name, (_, v) in head.items()}, body) for head, body in messages]
    assert found == expected and ending == EOF
    for (read, _), (head, _) in zip(found, expected, strict=True):
        assert list(map(type, read.values())) == list(map(type, head.values()))


@given(st.binary(max_size=60), st.data())
def test_any_headers(head: bytes, data: st.DataObject) -> None:
    """Any bytes as headers are read or refused, with one answer however they are cut."""
    wire = SMALL + message(head)
    answer = run([wire])
    assert run(data.draw(cuttings(wire))) == answer
    assert answer[2] in (EOF, (ProtocolViolation, "protocol", len(SMALL)))


@pytest.mark.parametrize(
    "head",
    [
        b"\x01", b"\x02a", b"\x01a", b"\x01a\x0a", b"\x01a\x02", b"\x01a\x05" + b"0" * 7,
        b"\x01a\x06\x00", b"\x01a\x07\x00\x02x", b"\x01a\x09" + b"0" * 15, b"\x01\xff\x00",
        b"\x01a\x07\x00\x01\xff", b"\x01a\x00\x01a\x01",
    ],
)  # fmt: skip
def test_ill_formed_headers(head: bytes) -> None:
    """Cut, of no known type, not UTF-8, or twice of one name."""
    assert run([message(head)])[2] == (ProtocolViolation, "protocol", 0)


@pytest.mark.parametrize(
    ("total", "head"),
    [(0, 0), (15, 0), (16, 1), (40, 25), (2**32 - 1, 2**32 - 1), (200_000, 131_073)],
)
def test_impossible_lengths(total: int, head: int) -> None:
    """They are refused with the prelude, before anything of that size is waited for."""
    prelude = struct.pack(">II", total, head)
    wire = prelude + struct.pack(">I", zlib.crc32(prelude))
    assert run([wire[:11]])[2] == EOF.inside(Boundary.FRAME)
    assert run([wire])[2] == (ProtocolViolation, "protocol", 0)


def test_the_frame_limit_to_the_byte() -> None:
    """A message of just so many bytes passes; of one more, its byte beyond is the fault."""
    size = len(SMALL)
    assert run([SMALL], frame_bytes=size)[0] == run([SMALL])[0]
    for limit in range(1, size):
        before = message(b"") if limit >= 16 else b""
        wire = before + SMALL
        fault = (LimitExceeded, "frame-limit", len(before) + limit)
        assert run([wire], limit)[2] == fault, limit
        assert run(bytewise(wire), limit) == run([wire], limit), limit
        assert run([wire[: len(before) + limit]], limit)[2] == EOF.inside(Boundary.FRAME)


def test_the_total_limit_to_the_byte() -> None:
    """What is complete within it is handed on, then the first byte beyond is the fault."""
    for limit in range(len(WIRE)):
        found, _, ending = run([WIRE], total_bytes=limit)
        assert ending == (LimitExceeded, "total-limit", limit)
        assert found == run([WIRE[:limit]])[0]
        assert run(bytewise(WIRE), total_bytes=limit) == (
            found,
            run([WIRE], total_bytes=limit)[1],
            ending,
        )
    assert run([WIRE], total_bytes=len(WIRE))[2] == EOF


def test_batches_and_sizes() -> None:
    """Messages come some at a time; sizes add up to the bytes that are done with."""
    framer = EventStreamFramer(1 << 20)
    (piece,) = BytesDecoder().feed(SMALL * 150 + SMALL[:5])
    batches = list(framer.feed(piece))
    assert [len(items) for items, _, _ in batches] == [64, 64, 22]
    assert sum(batch[1] for batch in batches) == 150 * len(SMALL)
    assert (framer.open, framer.largest) == (5, 2)


def test_it_is_lazy() -> None:
    """A damaged message behind the first batch is not looked at before it is asked for."""
    (piece,) = BytesDecoder().feed(SMALL * 64 + b"\0" * 16)
    batches = EventStreamFramer(1 << 20).feed(piece)
    assert len(next(iter(batches))[0]) == 64


def test_dripping_is_linear() -> None:
    """A large message in small reads is copied once, not once per read."""
    wire = message(b"", bytes(1 << 20))
    framer, decoder = EventStreamFramer(1 << 21), BytesDecoder()
    found = []
    for at in range(0, len(wire), 64):
        for piece in decoder.feed(wire[at : at + 64]):
            found += [item for frames in framer.feed(piece) for item in frames[0]]
    assert len(found) == 1 and len(found[0].payload) == 1 << 20


def test_header_values() -> None:
    """Of a message's headers, the strings; all others read as none."""
    moment = int(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp() * 1000)
    (found,), _, _ = run(
        [message(headers((b"a", 7, "x"), (b"t", 8, moment), (b"u", 9, uuid.UUID(int=1))))]
    )
    assert (found.header("a"), found.header("t"), found.header("none")) == ("x", "", "")
    assert found.headers["t"] == moment and found.headers["u"] == uuid.UUID(int=1)
