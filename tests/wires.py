"""What the tests of the stages share: wires that make trouble, ways to cut them, and the law."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from untorn import (
    Completed,
    Dialect,
    Failed,
    Interrupted,
    Limits,
    Outcome,
    StreamFault,
    parse,
    testing,
)
from untorn.frame import Comment, Cursor, Extra, Frames, Stray, Tail, Text, span_of
from untorn.outcome import Boundary, Cause
from untorn.stage import Cut
from untorn.testing import Parse as Reader
from untorn.testing import bytewise, cuts_at
from untorn.text import Utf8Decoder

BOM = b"\xef\xbb\xbf"
EOF = Cut(Cause.EOF)

# --- cuts -------------------------------------------------------------------


def cut(wire: bytes, at: Iterable[int]) -> list[bytes]:
    """Return `wire` cut at these offsets; one given twice makes an empty chunk."""
    return cuts_at(wire, at, empty=True)


def every_cut(wire: bytes) -> Iterator[list[bytes]]:
    """Cut in two at every offset, both ends among them."""
    return testing.every_cut(wire, empty=True)


def cuttings(wire: bytes) -> SearchStrategy[list[bytes]]:
    """Some ways to cut `wire` into pieces, empty ones among them."""
    return st.lists(st.integers(0, len(wire)), max_size=12).map(lambda at: cut(wire, at))


# --- wires ------------------------------------------------------------------

LINE_ENDS = [b"\n", b"\n", b"\r\n", b"\r"]
WORDS = [
    b"", b"a", b" ", b"  b", b"x:y", b":", b"\0", b"[DONE]", b"end", b"12", b" 3", b"\xc2\x85",
    b"\xe2\x80\xa8", b"\x0b\x1c", "é".encode(), "漢字".encode(), "🙂".encode(), BOM,
    b"\xef\xbf\xbd", b"0" * 20 + b"7", b"9" * 19, b"w" * 40,
]  # fmt: skip
FIELDS = [b"data", b"data", b"data:", b"data: ", b"data:  ", b"event: ", b"event:", b"id: ", b"id:",
          b"id", b"retry: ", b"retry:", b"retry", b": ", b":", b"unknown: ", b"Data: ", b"data ",
          BOM + b"data: ", b""]  # fmt: skip
ILL_FORMED = [
    b"\xff", b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x99", b"\xc0\xaf", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xef\xbb", b"\xe0\x80", b"\xff" * 5,
]  # fmt: skip

words = st.sampled_from(WORDS)
line_ends = st.sampled_from(LINE_ENDS)
sse_lines = st.tuples(st.sampled_from(FIELDS), words, line_ends).map(b"".join)


@st.composite
def sse_blocks(draw: st.DrawFn, payloads: SearchStrategy[bytes] = words) -> bytes:
    """A well-formed block with one kind of line end."""
    end = draw(line_ends)
    before = draw(st.lists(st.sampled_from([b"id: 7", b"id", b"event: end", b": c"]), max_size=2))
    data = [b"data: " + part for part in draw(st.lists(payloads, min_size=1, max_size=2))]
    return end.join([*before, *data, b"", b""])


@st.composite
def damaged(draw: st.DrawFn, wires: SearchStrategy[bytes]) -> bytes:
    """One of `wires`; perhaps truncated, with a byte corrupted, or ill-formed bytes put in."""
    wire = draw(wires)
    at = draw(st.integers(0, len(wire)))
    damage = draw(st.sampled_from(["none", "none", "truncate", "corrupt", "ill-formed"]))
    if damage == "truncate":
        return wire[:at]
    if damage == "corrupt":
        return wire[:at] + bytes([draw(st.integers(0, 255))]) + wire[at + 1 :]
    if damage == "ill-formed":
        return wire[:at] + draw(st.sampled_from(ILL_FORMED)) + wire[at:]
    return wire


def _joined(parts: SearchStrategy[bytes], most: int = 8) -> SearchStrategy[bytes]:
    bom = st.sampled_from([b"", b"", b"", BOM])
    return st.builds(lambda bom, parts: bom + b"".join(parts), bom, st.lists(parts, max_size=most))


def _json_lines(payloads: SearchStrategy[bytes]) -> SearchStrategy[bytes]:
    ends = st.sampled_from([b"\n", b"\n", b"\r\n", b"\n\n", b" \t\r\n"])
    return st.tuples(payloads, ends).map(b"".join)


_payloads = st.sampled_from(
    [b"1", b" 2 ", b"0", b'"\xc3\xa9\xf0\x9f\x99\x82"', b'{"a": [1, 2]}', b"null", b"1e400",
     b'{"type":"finish"}', b'{"type":"error","message":"no"}', b'{"type":7}', b"[DONE]"]
)  # fmt: skip
_bad_payloads = st.sampled_from([b"NaN", b"{", b"nul", b"", b"[1,]", b"01", b'"\t"', b"1\r2"])
json_payloads = _payloads | _payloads | _payloads | _bad_payloads

sse_wires = damaged(_joined(sse_blocks() | sse_blocks() | sse_lines | words))
json_sse_wires = damaged(_joined(sse_blocks(json_payloads)))
line_wires = damaged(_joined(_json_lines(json_payloads) | words))
_strict_ends = st.sampled_from([b"\n", b"\n", b"\r\n"])
_strict_lines = st.sampled_from(
    [b"id: a-1", b"id:b", b"id: a-1", b"id: ", b"id: " + b"x" * 65, b"id: \xc3\xa9", b": c",
     b":", b"data:", b"retry: 1", b"foo", b"data", b"idx: 1", b"da\rta: 1"]
)  # fmt: skip


@st.composite
def strict_blocks(draw: st.DrawFn) -> bytes:
    end = draw(_strict_ends)
    payload = draw(json_payloads)
    usual = [b"id: a-1", *(b"data: " + part for part in payload.split(b"\n"))]
    odd = draw(st.lists(_strict_lines, max_size=3))
    return end.join([*draw(st.sampled_from([usual, usual, odd, odd + usual])), b"", b""])


strict_wires = damaged(_joined(strict_blocks()))

# --- the law ----------------------------------------------------------------


def answer(outcome: Outcome[Any] | None) -> tuple[Any, ...]:
    """Return everything that an outcome says, in values that compare."""
    match outcome:
        case Completed(value, marker, position):
            return ("Completed", value, marker, position)
        case Failed(error, partial, position):
            return ("Failed", error.code, error.offset, str(error), partial, position)
        case Interrupted(cause, torn, error, partial, position):
            return ("Interrupted", cause, torn, error, partial, position)
    raise AssertionError(f"no outcome: {outcome!r}")


def read(
    chunks: Iterable[bytes], dialect: Dialect[Any, Any], limits: Limits | None = None
) -> tuple[list[Any], tuple[Any, ...]]:
    """Return all events of some chunks, and the answer."""
    run = parse(chunks, dialect, limits=limits)
    return list(run.events()), answer(run.outcome)


class Ended(Exception):
    """How a stream ended: the events that only its end brought, and the answer."""


def reader(dialect: Dialect[Any, Any], limits: Limits | None = None) -> Reader:
    """Return a parser as the test kit takes it, whose answer holds all that a stream says.

    A `Completed` that a marker brings is an event, so that none may come of a prefix that has no
    marker. What only the end of the transport brings, the `Finish` of a weak marker too, is part
    of the ending: more bytes would have brought something else.
    """

    def read_all(chunks: Iterable[bytes]) -> Iterator[str]:
        at_end: list[str] = []
        source = Watched(chunks)
        stream = parse(source, dialect, limits=limits)
        for event in stream.events():
            said = repr(event)  # a tenth of the cost of comparing what it holds
            if source.ended:
                at_end.append(said)
            else:
                yield said
        if isinstance(stream.outcome, Completed) and not source.ended:
            yield repr(stream.outcome)
        raise Ended(at_end, answer(stream.outcome))

    return read_all


class Watched:
    """Chunks, and whether they have been read to their end."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.ended = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        self.ended = True


def dripped(
    wire: bytes, dialect: Dialect[Any, Any], limits: Limits | None = None
) -> tuple[list[Any], list[int], tuple[Any, ...]]:
    """Return the events, how many were out when each next byte was asked for, and the answer."""
    events: list[Any] = []
    out: list[int] = []

    def drip() -> Iterator[bytes]:
        for chunk in bytewise(wire):
            out.append(len(events))
            yield chunk
        out.append(len(events))

    run = parse(drip(), dialect, limits=limits)
    for event in run.events():
        events.append(event)  # noqa: PERF402 - the drip watches it grow
    return events, out, answer(run.outcome)


# --- stages alone -----------------------------------------------------------


@dataclass
class Run:
    """What a framer made of some chunks."""

    items: list[tuple[Any, Any]] = field(default_factory=list)
    fault: StreamFault | None = None
    torn: Boundary | None = None
    batches: list[int] = field(default_factory=list)


def texts(chunks: Iterable[bytes], errors: Any = "replace") -> Iterator[Text]:
    """Decode chunks into pieces of text."""
    decoder = Utf8Decoder(errors)
    for chunk in chunks:
        yield from decoder.feed(chunk)


def dripped_texts(wire: bytes, errors: Any = "replace") -> Iterator[list[Text]]:
    """Decode byte by byte; give the pieces of each byte."""
    decoder = Utf8Decoder(errors)
    return (list(decoder.feed(byte)) for byte in bytewise(wire))


def frame(framer: Any, chunks: list[bytes], errors: Any = "replace") -> Run:
    """Run a framer over chunks, and check that the sizes add up and the batches are small."""
    run, settled = Run(), 0
    try:
        for piece in texts(chunks, errors):
            for batch in framer.feed(piece):
                take(run, batch)
                settled += batch[1]
            assert settled == piece[2] - framer.open
    except StreamFault as fault:
        run.fault = fault
        return run
    last, ending = framer.end(Cut(Cause.EOF, offset=sum(map(len, chunks))))
    assert isinstance(ending, Cut)
    run.torn = ending.torn
    for batch in last:
        take(run, batch)
    return run


def take(run: Run, batch: Frames[Any]) -> None:
    items = batch[0]
    spans = [span_of(batch, k) for k in range(len(items))]
    run.items += zip(map(plain, items), spans, strict=True)
    run.batches.append(len(items))


def plain(item: Any) -> Any:
    """Return a frame, or an extra as a tuple that compares."""
    match item:
        case Cursor():
            return ("cursor", item.id, item.retry)
        case Comment():
            return ("comment", item.text)
        case Stray():
            return ("stray", item.line)
        case Tail():
            return ("tail", item.data, item.line)
    return item


EXTRAS: dict[str, type[Extra]] = {"cursor": Cursor, "comment": Comment, "stray": Stray}
EXTRAS["tail"] = Tail
