"""The framer of Server-Sent Events alone: cut anywhere, it gives the frames of the standard."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from counting import Counted, calls, characters_seen, peak
from fixture import DELTAS, LINE_ENDS, SENTINEL, sse
from hypothesis import given, settings
from hypothesis import strategies as st
from references import Framed, sse_frames, utf8_decode
from wires import (
    BOM,
    EXTRAS,
    bytewise,
    cut,
    cuttings,
    dripped_texts,
    every_cut,
    frame,
    line_ends,
    plain,
    sse_blocks,
    sse_lines,
    sse_wires,
    texts,
    words,
)

from untorn import Boundary, LimitExceeded
from untorn.frame import BATCH, Text
from untorn.sse import SseFramer
from untorn.sse_walk import SseWalk
from untorn.stage import Done

MUCH = 1 << 20
kinds = st.sets(st.sampled_from(sorted(EXTRAS))).map(frozenset)
large = st.builds(
    lambda text, end: b"data: " + text * (6000 // (1 + len(text))) + end * 2, words, line_ends
)
repeated = st.builds(
    bytes.__mul__, sse_blocks() | sse_lines, st.sampled_from([1, 2, 63, 64, 65, 70])
)
long_wires = st.lists(repeated | large, max_size=5).map(b"".join)


def framer(limit: int = MUCH, asks: Any = (), kind: type[SseWalk] = SseFramer) -> SseWalk:
    return kind(limit, [EXTRAS[kind] for kind in asks])


def frames_of(wire: bytes, asks: Any = ()) -> list[Any]:
    """Return the items of a wire, and check that the transcription agrees at every cut."""
    for chunks in every_cut(wire):
        check(wire, chunks, asks=asks)
    return [item for item, _ in frame(framer(asks=asks), [wire]).items]


def data_of(wire: bytes) -> list[str]:
    return [data for _, data, _, _ in frames_of(wire)]


@lru_cache
def expect(wire: bytes, limit: int, asks: Any) -> Framed:
    return sse_frames(utf8_decode(wire), limit, asks)


def check(wire: bytes, chunks: list[bytes], limit: int = MUCH, asks: Any = frozenset()) -> None:
    """Compare both framers with the transcription: items, spans, fault, tear and counts."""
    for kind in (SseWalk, SseFramer):
        check_kind(kind, wire, chunks, limit, asks)


def check_kind(
    kind: type[SseWalk], wire: bytes, chunks: list[bytes], limit: int, asks: Any
) -> None:
    expected = expect(wire, limit, asks)
    stage = framer(limit, asks, kind)
    run = frame(stage, chunks)
    fault = run.fault.offset if run.fault else None
    tail = [(expected.tail, (expected.begin, len(wire)))]
    has_tail = "tail" in asks and expected.torn and fault is None
    assert run.items == expected.items + tail * has_tail
    assert fault == expected.fault
    assert max(run.batches, default=0) <= BATCH
    if fault is None:
        assert run.torn == (Boundary.FRAME if expected.torn else None)
        assert (stage.open, stage.comments) == (expected.open, expected.comments)
        data = [len(item[1]) for item, _ in expected.items if len(item) == 4]
        assert stage.largest == max(data, default=0)


@given(st.data(), sse_wires, kinds)
def test_any_cut_gives_the_frames_of_the_standard(data: Any, wire: bytes, asks: Any) -> None:
    """Whole, byte by byte, in two at every byte, in any pieces: each frame, where it stands."""
    check(wire, bytewise(wire), asks=asks)
    for chunks in every_cut(wire):
        check(wire, chunks, asks=asks)
    check(wire, data.draw(cuttings(wire)), asks=asks)


@given(sse_wires, kinds)
def test_every_frame_limit_trips_at_one_byte(wire: bytes, asks: Any) -> None:
    """From 1 up: the same frames before the fault, and the same offset, however it is cut."""
    wire = wire[:40]
    for limit in range(1, len(wire) + 1):
        for chunks in ([wire], bytewise(wire), cut(wire, [limit])):
            check(wire, chunks, limit, asks)


@given(sse_wires, kinds)
def test_every_prefix_has_its_frames_out(wire: bytes, asks: Any) -> None:
    """A frame comes with the byte that completes it; `open` counts what is unfinished."""
    stage, items = framer(asks=asks), []
    for end, pieces in enumerate(dripped_texts(wire), 1):
        batches = [batch for piece in pieces for batch in stage.feed(piece)]
        items += [plain(item) for batch in batches for item in batch[0]]
        expected = sse_frames(utf8_decode(wire[:end]), MUCH, asks)
        assert items == [item for item, _ in expected.items]
        assert stage.open == expected.open


def test_a_limit_trips_in_the_midst_of_a_character() -> None:
    """With the byte that is beyond, not with the one that makes the character whole."""
    wire = "é\ndata: 🙂漢\n\n🙂\n:é".encode()
    for end in range(len(wire) + 1):
        for limit in range(1, end + 1):
            check(wire[:end], [wire[:end]], limit)
            check(wire[:end], bytewise(wire[:end]), limit)


@settings(max_examples=25)
@given(st.data(), long_wires, kinds, st.sampled_from([40, 500, MUCH]))
def test_the_shortcut_agrees_with_the_walk(data: Any, wire: bytes, asks: Any, limit: int) -> None:
    """Hundreds of blocks in one piece and in pieces: the same, and never more than a batch."""
    check(wire, [wire], limit, asks)
    check(wire, data.draw(cuttings(wire)), limit, asks)


@pytest.mark.parametrize("kind", LINE_ENDS)
def test_the_fixture_survives_every_cut(kind: str) -> None:
    """A comment frame, the deltas with their spaces, and a last line that is no JSON."""
    assert data_of(sse(kind)) == [*DELTAS, SENTINEL]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_line_end_split_over_reads_is_one(end: str) -> None:
    """Two data lines stay in one frame wherever their line ends are cut."""
    assert data_of(f"data: a{end}data: b{end}{end}data: c{end}{end}".encode()) == ["a\nb", "c"]


def test_a_lone_cr_ends_its_line_at_once() -> None:
    """The frame is out with the CR; a LF in the next read belongs to it, a second does not."""
    stage = framer()
    pieces = texts([b"data: a\r\r", b"\n", b"data: b\n\n"])
    counts = [sum(len(batch[0]) for batch in stage.feed(piece)) for piece in pieces]
    assert counts == [1, 0, 1]


def test_only_three_line_ends_end_lines() -> None:
    """What str.splitlines takes for line ends is data."""
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei"
    assert data_of(f"data: {text}\n\n".encode()) == [text]


def test_exactly_one_leading_space_is_stripped() -> None:
    """Whatever else surrounds the value is kept."""
    assert data_of(b"data:a\n\ndata: b \n\ndata:  c\n\ndata:\td\n\n") == ["a", "b ", " c", "\td"]


def test_data_lines_are_joined() -> None:
    """With a LF between them, also where they are empty or have no colon."""
    assert data_of(b"data\n\ndata\ndata:\n\ndata: a\nevent: x\ndata: b\n\n") == ["", "\n", "a\nb"]


def test_no_data_no_frame() -> None:
    """And the type of such a block is forgotten."""
    assert frames_of(b"event: x\n\n\n\nretry: 9\n\ndata: a\n\n") == [("message", "a", "", None)]


def test_the_id_is_sticky() -> None:
    """Until another is given; an empty one clears it, one with NUL is no id at all."""
    wire = b"id: 1\ndata: a\n\ndata: b\n\nid: x\0\ndata: c\n\nid\ndata: d\n\n"
    assert [id for _, _, id, _ in frames_of(wire)] == ["1", "1", "1", ""]


@pytest.mark.parametrize("value", ["-1", "+1", "1_0", " 9", "1 ", "", "1.5", "٣", "²", "0x1"])
def test_retry_is_ascii_digits_only(value: str) -> None:
    """Anything else is ignored."""
    assert frames_of(f"retry: {value}\ndata: a\n\n".encode()) == [("message", "a", "", None)]


def test_retry_is_a_number_however_long() -> None:
    """Leading zeros do not count, and what is longer than anybody waits is cut down."""
    wire = b"retry: %b\ndata: a\n\nretry: %b\ndata: b\n\n" % (b"0" * 5000 + b"7", b"9" * 5000)
    retries = [item[3] for item, _ in frame(framer(), [wire]).items]
    assert retries == [7, 10**18]


def test_extras_come_where_they_stand() -> None:
    """Comments, moved cursors, stray lines and the tail, among the frames, for whoever asks."""
    wire = b": hi\nid: 4\n\nretry: 5\nhuh\ndata: a\n\ndata: b\nda"
    assert frames_of(wire, frozenset(EXTRAS)) == [
        ("comment", " hi"),
        ("cursor", "4", None),
        ("cursor", None, 5),
        ("stray", "huh"),
        ("message", "a", "4", 5),
        ("tail", "b", "da"),
    ]


def test_a_span_is_right_behind_an_id_of_an_earlier_read() -> None:
    """Whoever finds the place of a frame again must know the id that was in force."""
    for moved in (b"id\n\n", b"id: 5\n\n", b"id: 6\n\n"):
        wire = b"id: 5\ndata: a\n\n" + moved + b"data: b\n\nid: 5\n\nid: 5\n\ndata: c\n\n"
        check(wire, cut(wire, [15]), asks=frozenset({"cursor"}))


def test_a_span_is_right_behind_a_hundred_frames() -> None:
    """In whichever batch of its read a frame comes."""
    wire = b"data: 1\n\n: c\n\nid: 3\ndata: 2\n\n" * 50
    check(wire, [wire])


def test_nothing_is_dispatched_at_the_end() -> None:
    """A block without its blank line is torn, and so is a partial comment."""
    for wire in (b"data: a", b"data: a\n", b"id: 1\r\n", b":", b": ping"):
        run = frame(framer(), [wire])
        assert (run.items, run.torn) == ([], Boundary.FRAME)
    for wire in (b"", BOM, b"data: a\n\n", b": ping\n", b"\r", b"data: a\r\n\r"):
        assert frame(framer(), [wire]).torn is None


def test_only_a_cut_can_tear() -> None:
    """A fault or a completion passes through a framer that holds half a frame."""
    stage = framer(asks=EXTRAS)
    list(stage.feed(("data: a", 0, 7, 0, 0)))
    assert stage.end(Done("[DONE]", 7)) == ([], Done("[DONE]", 7))


def test_a_frame_in_three_reads_is_one_frame() -> None:
    """Nothing comes before the last, and the last brings it."""
    stage = framer()
    pieces = texts([b"data: {", b'"n": 1}', b"\n\n"])
    out = [[item for batch in stage.feed(piece) for item in batch[0]] for piece in pieces]
    assert out == [[], [], [("message", '{"n": 1}', "", None)]]


def test_a_comment_costs_nothing() -> None:
    """Neither whole nor cut does it count towards the frame it stands in."""
    wire = b"data: a\n:" + b"x" * 500 + "é\r\ndata: b\n\n".encode()
    for chunks in ([wire], bytewise(wire), cut(wire, [300])):
        run = frame(framer(limit=16), chunks)
        assert [item[1] for item, _ in run.items] == ["a\nb"]


def test_empty_lines_count_towards_the_limit() -> None:
    """A hundred thousand empty data lines are a frame too long, though they hold no character."""
    with pytest.raises(LimitExceeded) as fault:
        list(framer(limit=1000).feed(("data\n" * 100_000, 0, 500_000, 0, 0)))
    assert fault.value.offset == 1000


def test_a_piece_is_parsed_no_further_than_it_is_taken() -> None:
    """Whoever stalls after the first batch leaves the rest unparsed."""
    text = ": c\n" + "data: a\nretry: 1\n\n" * 1000
    stage = framer()
    batches = iter(stage.feed((text, 0, len(text), 0, 0)))
    assert len(next(batches)[0]) <= BATCH
    assert calls(lambda: next(batches)).total() < 40 * BATCH


def fed(stage: SseFramer, *reads: str) -> list[Any]:
    """Return the items that these reads have determined."""
    items, at = [], 0
    for read in reads:
        for batch in stage.feed((read, at, at + len(read), 0, 0)):
            items += batch[0]
        at += len(read)
    return items


@pytest.mark.parametrize("before", ["data: a\n", "data: r\ndata: a\n", ": r\nid: 1\n"])
def test_a_retry_is_told_with_its_line(before: str) -> None:
    """However its line is cut, and before the block it stands in is whole."""
    wire = before + "retry: 7\n"
    for at in range(len(wire)):
        for reads in ([wire[:at], wire[at:]], [*before, *wire[len(before) : at], wire[at:]]):
            if "".join(reads) == wire:
                (cursor,) = fed(framer(asks={"cursor"}), *reads)
                assert cursor.retry == 7


@pytest.mark.parametrize("asks", [(), {"cursor"}])
def test_data_lines_cost_a_call_per_read(asks: Any) -> None:
    """One event of many lines over many reads: no line is looked at by itself."""
    stage, reads = framer(asks=asks), ["data: 12\n" * 4000] * 20
    items: list[Any] = []
    count = calls(lambda: items.extend(fed(stage, *reads, "\n")))
    assert [data for _, data, _, _ in items] == ["\n".join(["12"] * 80_000)]
    assert count.total() < 40 * len(reads)


def one_line(head: str, size: int, read: int) -> Iterator[Text]:
    """Return a frame of one long line in reads of this size."""
    wire = head + "x" * size + "\n\n"
    for at in range(0, len(wire), read):
        part = Counted(wire[at : at + read])
        yield part, at, at + len(part), 0, 0


def run_line(head: str, size: int, read: int) -> None:
    stage = framer(limit=1 << 25)
    for piece in one_line(head, size, read):
        for batch in stage.feed(piece):
            for _, data, _, _ in batch[0]:
                assert len(data) == size


@pytest.mark.parametrize(("size", "read"), [(1 << 10, 1), (1 << 13, 1), (1 << 24, 1024)])
@pytest.mark.parametrize("head", ["data: ", "event: x\rdata: "], ids=["shortcut", "walk"])
def test_a_long_line_costs_what_it_is_long(head: str, size: int, read: int) -> None:
    """Each character is looked at a few times, however the line drips, and joined twice."""
    count: Counter[str] = Counter()
    seen = characters_seen(lambda: count.update(calls(lambda: run_line(head, size, read))))
    assert size <= seen < 12 * size
    assert count["join"] <= 3 + size // read // 4096
    assert count.total() < 50 * (size // read + 10)


def test_an_endless_comment_costs_no_memory() -> None:
    """A MiB of it takes a few KiB, of objects that come and go."""

    def run(reads: int) -> None:
        stage = framer()
        text = ":" * 4096
        for at in range(0, reads * 4096, 4096):
            assert [batch[0] for batch in stage.feed((text, at, at + 4096, 0, 0))] == [[]]
            assert stage.open == 0

    assert peak(lambda: run(256)) < 16 * 1024
