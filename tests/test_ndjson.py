"""The framer of lines alone: cut anywhere, it gives the same lines."""

from collections import Counter
from functools import lru_cache
from typing import Any

import pytest
from counting import Counted, calls, characters_seen
from hypothesis import given, settings
from hypothesis import strategies as st
from references import Framed, lines, utf8_decode
from wires import (
    BOM,
    WORDS,
    bytewise,
    cut,
    cuttings,
    damaged,
    dripped_texts,
    every_cut,
    frame,
    texts,
)

from untorn import Boundary, Cause
from untorn.frame import BATCH
from untorn.ndjson import LineFramer
from untorn.stage import Cut, Done

MUCH = 1 << 20
ends = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b" \n", b"\r\r\n"])
some_lines = st.tuples(st.sampled_from(WORDS), ends).map(b"".join)
line_wires = damaged(st.lists(some_lines | st.sampled_from([BOM, b" "]), max_size=8).map(b"".join))


@lru_cache
def expect(wire: bytes, limit: int) -> Framed:
    return lines(utf8_decode(wire), limit)


def check(wire: bytes, chunks: list[bytes], limit: int = MUCH, tail: bool = False) -> None:
    """Compare a framer with the transcription: lines, spans, fault, tear."""
    expected = expect(wire, limit)
    stage = LineFramer(limit, tail=tail)
    run = frame(stage, chunks)
    line = expected.tail[1].removesuffix("\r")
    last = [(line, (len(wire) - expected.open, len(wire)))]
    has_tail = tail and expected.fault is None and line.strip(" \t\r") != ""
    assert run.items == expected.items + last * has_tail
    assert (run.fault.offset if run.fault else None) == expected.fault
    assert max(run.batches, default=0) <= BATCH
    if run.fault is None:
        assert run.torn == (Boundary.FRAME if expected.torn and not tail else None)
        assert stage.largest == max((len(text) for text, _ in run.items), default=0)


@given(st.data(), line_wires)
def test_any_cut_gives_the_same_lines(data: Any, wire: bytes) -> None:
    """Whole, byte by byte, in two at every byte, in any pieces: each line, where it stands."""
    check(wire, bytewise(wire))
    for chunks in every_cut(wire):
        check(wire, chunks)
    check(wire, data.draw(cuttings(wire)))


@given(line_wires.map(lambda wire: wire[:40]))
def test_every_limit_trips_at_one_byte(wire: bytes) -> None:
    """From 1 up: the same lines before the fault, and the same offset, however it is cut."""
    for limit in range(1, len(wire) + 1):
        for chunks in ([wire], bytewise(wire), cut(wire, [limit])):
            check(wire, chunks, limit)


@given(line_wires)
def test_every_prefix_has_its_lines_out(wire: bytes) -> None:
    """A line comes with its LF; `open` counts what is unfinished."""
    stage, items = LineFramer(MUCH), []
    for end, pieces in enumerate(dripped_texts(wire), 1):
        items += [line for piece in pieces for batch in stage.feed(piece) for line in batch[0]]
        expected = expect(wire[:end], MUCH)
        assert items == [line for line, _ in expected.items]
        assert stage.open == expected.open


def test_a_limit_trips_in_the_midst_of_a_character() -> None:
    """With the byte that is beyond, not with the one that makes the character whole."""
    wire = "é🙂漢\n🙂".encode()
    for end in range(len(wire) + 1):
        for limit in range(1, end + 1):
            check(wire[:end], [wire[:end]], limit)
            check(wire[:end], bytewise(wire[:end]), limit)


@pytest.mark.parametrize("count", [BATCH - 1, BATCH, BATCH + 1, 3 * BATCH])
def test_no_line_is_lost_between_batches(count: int) -> None:
    """The last of one and the first of the next are there, and each is full."""
    wire = b"a\n" * count
    check(wire, [wire])
    assert max(frame(LineFramer(MUCH), [wire]).batches) == min(count, BATCH)


@settings(max_examples=20)
@given(st.data(), st.lists(some_lines.map(lambda line: line * 65), max_size=4).map(b"".join))
def test_batches_are_small(data: Any, wire: bytes) -> None:
    """However many lines a read brings, they come at most 64 at a time."""
    check(wire, [wire])
    check(wire, data.draw(cuttings(wire)))


@given(line_wires)
def test_a_tail_is_accepted_when_asked(wire: bytes) -> None:
    """The last line counts although its LF is missing, but no half character does."""
    if not utf8_decode(wire).held:
        for chunks in every_cut(wire):
            check(wire, chunks, tail=True)


def test_only_a_clean_end_makes_a_tail_a_line() -> None:
    """A broken transport, a torn character or a fault leaves it torn."""
    broken, character = Cut(Cause.TRANSPORT), Cut(Cause.EOF, torn=Boundary.CHARACTER)
    for ending in (broken, character):
        stage = LineFramer(MUCH, tail=True)
        list(stage.feed(("12", 0, 2, 0, 0)))
        assert stage.end(ending) == ([], ending.inside(Boundary.FRAME))
    assert stage.end(Done("x", 2)) == ([], Done("x", 2))


def test_a_line_end_split_over_reads_is_one() -> None:
    """CR and LF in two reads end one line; a CR alone ends none."""
    stage = LineFramer(MUCH)
    out = [
        [line for batch in stage.feed(piece) for line in batch[0]]
        for piece in texts([b"1\r", b"\n2\r3", b"\r\r\n"])
    ]
    assert out == [[], ["1"], ["2\r3\r"]]


def test_an_overlong_line_takes_none_with_it() -> None:
    """The lines that share its read are out before the fault."""
    run = frame(LineFramer(8), [b"1\n2\n" + b"x" * 9 + b"\n3\n"])
    assert [line for line, _ in run.items] == ["1", "2"]
    assert run.fault is not None
    assert run.fault.offset == 12


@pytest.mark.parametrize(("size", "read"), [(1 << 10, 1), (1 << 13, 1), (1 << 24, 1024)])
def test_a_long_line_costs_what_it_is_long(size: int, read: int) -> None:
    """Each character is looked at a few times, however the line drips, and joined twice."""

    def run() -> None:
        stage, wire = LineFramer(1 << 25), "x" * size + "\n"
        for at in range(0, len(wire), read):
            part = Counted(wire[at : at + read])
            for batch in stage.feed((part, at, at + len(part), 0, 0)):
                assert all(len(line) == size for line in batch[0])

    count: Counter[str] = Counter()
    seen = characters_seen(lambda: count.update(calls(run)))
    assert size <= seen < 12 * size
    assert count["join"] <= 2 + size // read // 4096
    assert count.total() < 50 * (size // read + 10)
