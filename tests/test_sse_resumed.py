"""A stream that goes on behind an event: the id in force is carried over, and known as such."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import bytewise, cut, cuttings, every_cut, frame, sse_wires

from untorn import Interrupted, parse
from untorn.dialects import JsonSse, Mcp, Sse
from untorn.frame import CarriedId, Cursor
from untorn.sse import SseFramer

ids = st.sampled_from(["7", "é🦊", " x"])
# Short and long ones: there is more than one way through the framer.
BLOCKS = [b"id: 7\n\n", b"id: 7\ndata: a\n\n", b"data: b\n\n", b"data: " + b"c" * 2000 + b"\n\n"]


@given(sse_wires.filter(lambda wire: not wire.startswith(b"\xef\xbb\xbf")), ids, st.booleans())
def test_it_reads_as_if_the_id_had_come_first(wire: bytes, id: str, asks: bool) -> None:
    """However it is cut: the frames are those of the same wire behind a block with the id."""
    kinds = [Cursor] if asks else []
    before = f"id: {id}\n\n".encode()
    whole = frame(SseFramer(1 << 20, kinds), [before + wire]).items
    expected = [(item, (start - len(before), end - len(before))) for item, (start, end) in whole]
    for chunks in every_cut(wire):
        assert frame(SseFramer(1 << 20, kinds, id), chunks).items == expected[asks:]


@pytest.mark.parametrize("dialect", [Sse(), JsonSse(), Mcp()], ids=lambda it: type(it).__name__)
def test_an_event_without_an_id_has_the_one_carried_over(dialect: Any) -> None:
    """Until the stream sets one, be it the same; and the value begins with it."""
    wire = b'data: {"a": 1}\n\nid: 7\ndata: {"a": 2}\n\ndata: {"a": 3}\n\nid\ndata: {"a": 4}\n\n'
    for chunks in every_cut(wire):
        stream = parse(chunks, dialect.resumed_from("7"))
        assert stream.value.last_event_id == "7"
        seen = [event.id for event in stream.events()]
        assert seen == ["7", "7", "7", ""]
        assert [isinstance(id, CarriedId) for id in seen] == [True, False, True, False]
        assert stream.value.last_event_id == ""


def test_an_event_says_whether_its_id_is_its_own() -> None:
    """However it is cut; an id without data is nobody's own."""
    wire = (
        b"data: a\n\nid: 7\n\ndata: b\n\nid: 7\ndata: c\n\nid: 7\ndata: d\n\ndata: e\n\n"
        b"event: x\ndata: f\n\nid: a\0b\ndata: g\n\nid\ndata: h\n\ndata: i\n\n"
    )
    for chunks in every_cut(wire):
        events = parse(chunks, Sse()).events()
        carried = [event.data for event in events if isinstance(event.id, CarriedId)]
        assert "".join(carried) == "befg"


@given(sse_wires | st.lists(st.sampled_from(BLOCKS), max_size=9).map(b"".join), st.data())
def test_cuts_make_no_id_an_events_own(wire: bytes, data: st.DataObject) -> None:
    """Whose an id is depends on the bytes alone."""
    expected = _whose(bytewise(wire))
    for chunks in ([wire], data.draw(cuttings(wire)), data.draw(cuttings(wire))):
        assert _whose(chunks) == expected


def _whose(chunks: list[bytes]) -> list[bool]:
    items = frame(SseFramer(1 << 20), chunks).items
    return [isinstance(item[2], CarriedId) for item, _ in items]


def test_a_torn_block_moves_nothing() -> None:
    """The id carried over stays in force if the stream ends before a block of its own."""
    for size in range(len(b"id: 8\ndata: a\n")):
        stream = parse(cut(b"id: 8\ndata: a\n", [size]), Sse(last_event_id="7"))
        assert list(stream.events()) == []
        assert isinstance(stream.outcome, Interrupted)
        assert stream.outcome.partial.last_event_id == "7"


def test_a_stream_from_the_beginning_has_plain_ids() -> None:
    """Where nothing is carried over, nothing says so."""
    [event] = parse([b"data: a\n\n"], Sse()).events()
    assert event.id == "" and type(event.id) is str
