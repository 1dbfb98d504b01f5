"""The law: events and outcome are a function of the bytes, never of how they were cut."""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from counting import calls, peak
from fixture import DELTAS, LINE_ENDS, TEXT, sse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from references import lines, sse_frames, strict_sse, utf8_decode
from wires import (
    bytewise,
    cut,
    cuttings,
    dripped,
    every_cut,
    json_sse_wires,
    line_wires,
    read,
    reader,
    sse_wires,
    strict_wires,
)

from untorn import Boundary, Dialect, Interrupted, Limits, ServerSentEvent, TextDelta, parse
from untorn.dialects import JsonLines, JsonSse, Sse, SseState, StrictSse, TextSse
from untorn.payload import is_json, parse_json
from untorn.testing import assert_untorn


class Wire(NamedTuple):
    """A dialect, and wires made to trouble it."""

    dialect: Dialect[Any, Any]
    wires: SearchStrategy[bytes]


WIRES = {
    "Sse": Wire(Sse(), sse_wires),
    "Sse eof": Wire(Sse(eof="completes"), sse_wires),
    "Sse sentinel": Wire(Sse(sentinel="[DONE]", errors="strict"), sse_wires),
    "Sse type": Wire(Sse(complete_when="end"), sse_wires),
    "Sse predicate": Wire(Sse(complete_when=lambda event: event.id == "7"), sse_wires),
    "TextSse": Wire(TextSse(sentinel="[DONE]"), sse_wires),
    "TextSse eof": Wire(TextSse(eof="completes", errors="replace"), sse_wires),
    "JsonSse": Wire(JsonSse(sentinel="[DONE]"), json_sse_wires),
    "JsonSse eof": Wire(JsonSse(eof="completes", complete_when="end"), json_sse_wires),
    "JsonSse predicate": Wire(JsonSse(complete_when=lambda value: value is None), json_sse_wires),
    "JsonLines": Wire(JsonLines(), line_wires),
    "JsonLines eof": Wire(JsonLines(eof="completes"), line_wires),
    "JsonLines tail": Wire(JsonLines(eof="completes", tail="accepts"), line_wires),
    "JsonLines predicate": Wire(JsonLines(complete_when=lambda value: value is None), line_wires),
    "StrictSse": Wire(StrictSse(), strict_wires),
}
limits = st.none() | st.builds(
    Limits,
    frame_bytes=st.integers(1, 60) | st.just(1 << 20),
    total_bytes=st.none() | st.none() | st.integers(0, 120),
    value_bytes=st.integers(1, 20) | st.just(1 << 20),
    read_bytes=st.sampled_from([1, 3, 1 << 16]),
)

every_dialect = pytest.mark.parametrize("name", WIRES)


@every_dialect
@given(data=st.data(), limits=limits)
def test_any_cut_gives_the_same_answer(name: str, data: Any, limits: Limits | None) -> None:
    """Good wires and damaged ones, within limits and beyond: events, outcome, code, offset."""
    dialect = WIRES[name].dialect
    wire = data.draw(WIRES[name].wires)
    whole = read([wire], dialect, limits)
    assert read(bytewise(wire), dialect, limits) == whole
    assert read(data.draw(cuttings(wire)), dialect, limits) == whole
    for at in range(0, len(wire), 1 + len(wire) // 60):
        assert read(cut(wire, [at]), dialect, limits) == whole


@every_dialect
@given(data=st.data(), limits=limits)
def test_every_prefix_gives_the_events_of_the_whole(
    name: str, data: Any, limits: Limits | None
) -> None:
    """What is out after a byte is out of that prefix alone, and stays out, whatever follows."""
    dialect = WIRES[name].dialect
    wire = data.draw(WIRES[name].wires)
    events, out, _ = dripped(wire, dialect, limits)
    for end, count in enumerate(out):
        of_prefix, _ = read([wire[:end]], dialect, limits)
        if name == "JsonLines tail":  # which takes a clean end for the end of a line
            of_prefix = of_prefix[:count]
        assert of_prefix == events[:count]


def sse_events(prefix: bytes) -> list[Any]:
    items = sse_frames(utf8_decode(prefix), 1 << 24).items
    return [ServerSentEvent(*item) for item, _ in items]


def text_events(prefix: bytes) -> list[Any]:
    return [TextDelta(event.data) for event in sse_events(prefix)]


def json_events(prefix: bytes) -> list[Any]:
    texts = [line for line, _ in lines(utf8_decode(prefix), 1 << 24).items]
    bad = next((k for k, text in enumerate(texts) if not is_json(text)), len(texts))
    return [parse_json(text) for text in texts[:bad]]


def strict_events(prefix: bytes) -> list[Any]:
    return strict_sse(prefix)[0]


def plain(event: Any) -> Any:
    return event if isinstance(event, (ServerSentEvent, TextDelta)) else event.data


@pytest.mark.parametrize(
    ("dialect", "wires", "determined", "shown"),
    [
        (Sse(), sse_wires, sse_events, plain),
        (TextSse(errors="replace"), sse_wires, text_events, plain),
        (JsonLines(), line_wires, json_events, plain),
        (StrictSse(), strict_wires, strict_events, lambda event: (event.id, event.data)),
    ],
    ids=["Sse", "TextSse", "JsonLines", "StrictSse"],
)
@given(data=st.data())
def test_every_prefix_has_exactly_its_events_out(
    dialect: Any, wires: Any, determined: Callable[[bytes], Any], shown: Any, data: Any
) -> None:
    """No event waits for a byte that is no part of it, and none comes early."""
    wire = data.draw(wires)
    events, out, _ = dripped(wire, dialect)
    values = [shown(event) for event in events]
    for end, count in enumerate(out):
        if utf8_decode(wire[:end]).fault is None or dialect.errors == "replace":
            assert values[:count] == determined(wire[:end])


# --- the fixture, read whole ------------------------------------------------


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events)


@pytest.mark.parametrize("line_ends", LINE_ENDS)
def test_the_fixture_survives_every_cut(line_ends: str) -> None:
    """Every space and every character of the answer, at every byte and byte by byte."""
    wire = sse(line_ends)
    for chunks in [*every_cut(wire), bytewise(wire)]:
        run = parse(chunks, TextSse(sentinel="[DONE]"))
        events = list(run)
        assert [event.text for event in events] == list(DELTAS)
        assert run.outcome is not None
        assert run.outcome.unwrap() == run.value == TEXT
        assert run.statistics().replacements == run.statistics().literal_replacements == 0


@pytest.mark.parametrize("line_ends", LINE_ENDS)
def test_the_fixture_passes_the_kit(line_ends: str) -> None:
    """Cut in many pieces, with empty ones, and ended early anywhere; no delta waits for a byte."""
    parser = reader(TextSse(sentinel="[DONE]"))
    tried: dict[str, Any] = {"exhaustive": 400, "samples": 100, "prompt": True}
    answer = assert_untorn(parser, sse(line_ends), empty_chunks=True, **tried)
    *deltas, completed = map(json.loads, answer.events)
    assert deltas == [repr(TextDelta(delta)) for delta in DELTAS]
    assert completed.startswith("Completed(")


def test_the_fixture_cut_off_anywhere_never_looks_whole() -> None:
    """Any prefix is interrupted, and says inside what."""
    wire = sse()
    for end in range(len(wire) - 1):
        run = parse([wire[:end]], TextSse(sentinel="[DONE]"))
        assert TEXT.startswith(text_of(list(run.events())))
        assert isinstance(run.outcome, Interrupted)
        character = wire[end] & 0xC0 == 0x80
        between = not end or re.search(rb"(\n\n|^[^\n]*\n)$", wire[:end])
        frame = Boundary.MESSAGE if between else Boundary.FRAME
        assert run.outcome.torn is (Boundary.CHARACTER if character else frame)


# --- examples ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "torn"),
    [
        (b"id: 1\ndata: \xe6\xbc", Boundary.CHARACTER),
        (b"id: 1\ndata: 1", Boundary.FRAME),
        (b"id: 1\ndata: 1\n", Boundary.FRAME),
        (b"id: 1\ndata: 1\n\n", Boundary.MESSAGE),
        (b"", Boundary.MESSAGE),
    ],
)
def test_torn_endings_are_told_apart(wire: bytes, torn: Boundary) -> None:
    """Half a character, half a frame and a missing marker are three answers."""
    for dialect in (Sse(sentinel="[DONE]"), JsonSse(), TextSse(), StrictSse()):
        run = parse([wire], dialect)
        assert len(list(run.events())) == wire.count(b"\n\n")
        assert isinstance(run.outcome, Interrupted)
        assert run.outcome.torn is torn


@pytest.mark.parametrize("dialect", [Sse(eof="completes"), TextSse(eof="completes")])
def test_a_torn_frame_never_completes(dialect: Dialect[Any, Any]) -> None:
    """The end of the transport completes only between two frames."""
    for wire in (b"data: a\n\ndata: b\n", b"data: a\n\n:", b"data: a\n\n\xe6"):
        assert read([wire], dialect)[1][0] == "Interrupted"
    assert read([b"data: a\n\n"], dialect)[1][0] == "Completed"


def test_an_overlong_frame_eats_none_that_shares_its_read() -> None:
    """The good frames before it come out, whole or byte by byte, and the fault behind them."""
    wire = b"data: 1\n\ndata: 2\n\ndata: " + b"9" * 40 + b"\n\ndata: 3\n\n"
    for dialect in (Sse(), JsonSse(), TextSse()):
        for chunks in [*every_cut(wire), bytewise(wire)]:
            events, answer = read(chunks, dialect, Limits(frame_bytes=30))
            assert len(events) == 2
            assert answer[:3] == ("Failed", "frame-limit", 18 + 30)


def test_a_bad_byte_eats_no_frame_that_shares_its_read() -> None:
    """And where the frame is too long in the midst of the bad sequence, that is the fault."""
    wire = b"data:1\n\ndata:2\n\ndata: \xe6\xbc!\n\n"
    for chunks in [*every_cut(wire), bytewise(wire)]:
        events, answer = read(chunks, JsonSse())
        assert len(events) == 2
        assert answer[:3] == ("Failed", "invalid-utf8", 22)
        events, answer = read(chunks, JsonSse(), Limits(frame_bytes=7))
        assert len(events) == 2
        assert answer[:3] == ("Failed", "frame-limit", 23)


def test_a_bad_payload_fails_behind_the_events_before_it() -> None:
    """At the first byte of the frame that carried it."""
    wire = b': hi\ndata: {"n": 1}\n\ndata: {"n":\n\ndata: 2\n\n'
    for chunks in [*every_cut(wire), bytewise(wire)]:
        events, answer = read(chunks, JsonSse())
        assert [event.data for event in events] == [{"n": 1}]
        assert answer[:3] == ("Failed", "invalid-json", 21)


@pytest.mark.parametrize("total", range(19))
def test_the_total_limit_lies_at_the_first_byte_beyond(total: int) -> None:
    """Every event completed before it is delivered."""
    wire = b"data: 1\n\ndata: 2\n\n:"
    for chunks in [*every_cut(wire), bytewise(wire)]:
        events, answer = read(chunks, Sse(), Limits(total_bytes=total))
        assert len(events) == (total >= 9) + (total >= 18)
        assert answer[:3] == ("Failed", "total-limit", total)


def test_the_value_limit_counts_bytes_of_text() -> None:
    """The delta that would pass it is not handed out."""
    wire = "data: é\n\ndata: é\n\ndata: a\n\n".encode()
    for chunks in every_cut(wire):
        events, answer = read(chunks, TextSse(), Limits(value_bytes=4))
        assert text_of(events) == "éé"
        assert answer[:3] == ("Failed", "value-limit", 20)
        assert answer[4] == "éé"


def test_the_last_id_moves_with_whole_blocks_only() -> None:
    """A block that is torn or fails does not move what a reconnecting client asks for."""
    for dialect in (Sse(sentinel="[DONE]"), JsonSse(sentinel="[DONE]")):
        partial = read([b"id: 1\ndata: 1\n\nid: 2\ndata: 2\n"], dialect)[1][4]
        assert partial == SseState("1")
        done = read([b"id: 1\ndata: 1\n\nretry: 5\nid: 3\ndata: [DONE]\n\n"], dialect)[1][1]
        assert done == SseState("3", 5)
        moved = read([b"id: 1\ndata: 1\n\nid: 4\n\n"], dialect)[1][4]
        assert moved == SseState("4")
    failed = read([b"id: 1\ndata: 1\n\nid: 2\ndata: {\n\n"], JsonSse())[1][4]
    assert failed == SseState("1")


def test_the_marker_is_named() -> None:
    """What completed is said in the dialect's own word."""
    wire = b"event: end\ndata: 1\n\n"
    assert read([wire], Sse(sentinel="1"))[1][2] == "1"
    assert read([wire], Sse(complete_when="end"))[1][2] == "end"
    assert read([wire], Sse(complete_when=lambda event: True))[1][2] == "complete_when"
    assert read([wire], Sse(eof="completes"))[1][2] == "eof"
    assert read([wire], JsonSse(complete_when="end"))[1][2] == "end"
    assert read([wire], JsonSse(complete_when=lambda value: value == 1))[1][2] == "complete_when"
    assert read([wire], JsonSse(complete_when="other"))[1][0] == "Interrupted"
    assert (
        read([b"1\n"], JsonLines(complete_when=lambda value: value == 1))[1][2] == "complete_when"
    )


@pytest.mark.parametrize("dialect", [Sse, TextSse, JsonSse, JsonLines])
def test_an_unknown_ending_is_refused(dialect: Any) -> None:
    """A word that is neither of the two is a mistake of the caller's."""
    with pytest.raises(ValueError, match='eof=\'maybe\': say "interrupts" or "completes"'):
        dialect(eof="maybe")
    with pytest.raises(ValueError, match='tail=\'maybe\': say "torn" or "accepts"'):
        JsonLines(tail="maybe")  # type: ignore[arg-type]


# --- cost -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "wire"),
    [
        (TextSse(sentinel="[DONE]"), b"data: %b\n\ndata: [DONE]\n\n"),
        (StrictSse(), b'id: 1\ndata: "%b"\n\nid: 2\ndata: {"type":"finish"}\n\n'),
        (JsonLines(eof="completes"), b'"%b"\n'),
    ],
    ids=["TextSse", "StrictSse", "JsonLines"],
)
def test_a_dripping_line_costs_what_it_is_long(dialect: Dialect[Any, Any], wire: bytes) -> None:
    """Twice the bytes, twice the calls, through all stages."""
    much = Limits(frame_bytes=1 << 25)

    def cost(size: int) -> int:
        chunks = bytewise(wire % (b"x" * size))
        run = parse(chunks, dialect, limits=much)
        return calls(lambda: list(run)).total()

    assert cost(1 << 12) < 2.1 * cost(1 << 11)


def test_an_endless_comment_costs_no_memory() -> None:
    """A MiB of it in small reads takes a few KiB, and trips no limit but the total one."""

    def run() -> None:
        chunks = (b":" * 4096 for _ in range(256))
        assert read(chunks, Sse(), Limits(frame_bytes=16))[1][0] == "Interrupted"

    run()
    assert peak(run) < 32 * 1024
