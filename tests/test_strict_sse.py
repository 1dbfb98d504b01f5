"""Strict Server-Sent Events, against an independent transcription of their rules."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import Verdict, strict_sse
from wires import bytewise, cut, cuttings, dripped, every_cut, frame, read, strict_wires

from untorn import Completed, Failed, Limits, Outcome, ServiceError, parse
from untorn.dialects import StrictSse
from untorn.dialects.strict_sse import StrictSseFramer
from untorn.stage import Done

limits = st.builds(
    lambda frame, total: Limits(frame_bytes=frame, total_bytes=total),
    st.just(1024) | st.integers(1, 60),
    st.just(8192) | st.integers(0, 150),
)


def verdict(outcome: Outcome[Any] | None) -> Verdict:
    """Return an outcome as the transcription words it."""
    assert outcome is not None
    if isinstance(outcome, Failed):
        assert outcome.error.offset == outcome.position.bytes
        return Verdict(outcome.error.code, outcome.error.offset)
    word = "completed" if isinstance(outcome, Completed) else outcome.torn.value
    return Verdict(word, outcome.position.bytes)


@settings(max_examples=150)
@given(st.data(), strict_wires, limits)
def test_reads_what_the_rules_say(data: Any, wire: bytes, limits: Limits) -> None:
    """Random wires, good and bad, cut anywhere: same events, same verdict, same byte."""
    events, _, expected = strict_sse(wire, limits.frame_bytes, limits.total_bytes or 0)
    for chunks in ([wire], bytewise(wire), data.draw(cuttings(wire))):
        run = parse(chunks, StrictSse(), limits=limits)
        assert [(event.id, event.data) for event in run.events()] == events
        assert verdict(run.outcome) == expected
        assert run.value == len(events)


@given(strict_wires)
def test_every_event_is_out_with_its_last_byte(wire: bytes) -> None:
    """The LF of its blank line, and not one byte later."""
    _, ends, _ = strict_sse(wire)
    _, out, _ = dripped(wire, StrictSse())
    assert out == [sum(end <= at for end in ends) for at in range(len(out))]


@given(st.data(), strict_wires)
def test_the_framer_alone_keeps_the_books(data: Any, wire: bytes) -> None:
    """Sizes add up to what is settled at every cut, and batches are small."""
    for chunks in (bytewise(wire * 5), [wire * 70], data.draw(cuttings(wire))):
        stage = StrictSseFramer(1 << 20)
        run = frame(stage, chunks)
        assert max(run.batches, default=0) <= 64
        assert all(start < end for _, (start, end) in run.items)
        assert stage.largest == max((len(item[1]) for item, _ in run.items), default=0)


@pytest.mark.parametrize("count", [63, 64, 65, 200])
def test_no_block_is_lost_between_batches(count: int) -> None:
    """The last of one and the first of the next are there, and each is full."""
    run = frame(StrictSseFramer(1 << 20), [b'id: 1\ndata: "a"\n\n' * count])
    assert len(run.items) == count
    assert max(run.batches) == min(count, 64)


FRAME = b'id: %d\ndata: "' + b"x" * 600 + b'"\n\n'
FINISH = b'id: 9\ndata: {"type":"finish"}\n\n'


def checks_the_buffer_after_a_read(chunks: list[bytes], limit: int) -> bool:
    """Say whether a reader that checks what it holds after each read accepts the chunks."""
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        if len(buffer) > limit:
            return False
        buffer = buffer.rpartition(b"\n\n")[2]
    return True


def checks_the_rest_after_a_read(chunks: list[bytes], limit: int) -> bool:
    """The same for one that takes the whole frames out before it checks."""
    buffer = b""
    for chunk in chunks:
        buffer = (buffer + chunk).rpartition(b"\n\n")[2]
        if len(buffer) > limit:
            return False
    return True


@pytest.mark.parametrize(
    ("per_read", "wire", "code"),
    [
        (checks_the_buffer_after_a_read, FRAME % 1 + FRAME % 2 + FINISH, None),
        (checks_the_rest_after_a_read, FRAME.replace(b"x" * 600, b"x" * 1100), "frame-limit"),
    ],
    ids=["two good frames", "one too long"],
)
def test_no_limit_is_checked_per_read(per_read: Any, wire: bytes, code: str | None) -> None:
    """Where a check per read says one thing of the whole and another of its pieces, we do not."""
    assert per_read([wire], 1024) != per_read(bytewise(wire), 1024)
    answers = {
        answer[1] if answer[0] == "Failed" else None
        for chunks in [[wire], bytewise(wire), *(cut(wire, [at]) for at in range(0, len(wire), 50))]
        for _, answer in [read(chunks, StrictSse())]
    }
    assert answers == {code}


@pytest.mark.parametrize(
    ("line", "code", "offset"),
    [
        (b"retry: 1", "unsupported-field", 6),
        (b"event: x", "unsupported-field", 6),
        (b"data", "unsupported-field", 6),
        (b"Data: 1", "unsupported-field", 6),
        (b"data: NaN", "invalid-json", 0),
        (b"id: a b\ndata: 1", "invalid-id", 0),
        (b"id\ndata: 1", "unsupported-field", 6),
        (b"id:\ndata: 1", "invalid-id", 0),
        (b"id: " + b"a" * 65 + b"\ndata: 1", "invalid-id", 0),
        (b"\xff", "invalid-utf8", 6),
    ],
)
def test_each_rule_has_its_code(line: bytes, code: str, offset: int) -> None:
    """A field at its line, a frame's meaning at its first byte, a byte where it is."""
    events, answer = read([b"id: 1\n" + line + b"\n\n"], StrictSse())
    assert events == []
    assert answer[:3] == ("Failed", code, offset)


def test_lone_crs_end_no_line() -> None:
    """Only LF and CRLF do; a CR is a character of its line."""
    wire = b"id: 1\ndata: [1,\r2]\n\nid: 2\rdata: 3\n\n"
    events, answer = read([wire], StrictSse())
    assert [event.data for event in events] == [[1, 2]]
    assert answer[:2] == ("Interrupted", answer[1])


def test_ids_do_not_persist() -> None:
    """Each frame with data has its own; a frame without data needs none."""
    events, answer = read([b"id: 1\ndata: 1\n\n: c\n\nid: 2\n\ndata: 2\n\n"], StrictSse())
    assert [(event.id, event.data) for event in events] == [("1", 1)]
    assert answer[:3] == ("Failed", "invalid-id", 27)
    assert "has no id" in answer[3]


def test_repeated_frames_are_kept() -> None:
    """Deduplication is the application's."""
    events, _ = read([b"id: 1\ndata: 1\n\n" * 3], StrictSse())
    assert len(events) == 3


def test_comments_count_towards_the_frame() -> None:
    """Unlike in plain Server-Sent Events; the fault is the same at every cut."""
    wire = b"id: 1\n:" + b"c" * 40 + b"\ndata: 1\n\n"
    for chunks in every_cut(wire):
        answer = read(chunks, StrictSse(), Limits(frame_bytes=50))[1]
        assert answer[:3] == ("Failed", "frame-limit", 50)
        assert read(chunks, StrictSse(), Limits(frame_bytes=56))[0] != []


def test_a_service_error_carries_the_service_s_words() -> None:
    """Only words that are text, or a number for the code."""
    run = parse([b'id: 1\ndata: {"type":"error","message":"no","code":7}\n\n'], StrictSse())
    assert list(run.events()) == []
    assert isinstance(run.outcome, Failed)
    error = run.outcome.error
    assert isinstance(error, ServiceError)
    assert (error.type, error.message, error.service_code) == ("error", "no", 7)
    _, answer = read([b'id: 1\ndata: {"type":"error","message":1,"code":[]}\n\n'], StrictSse())
    assert answer[3] == "The service reported an error: no message (error) [service-error, byte 0]"


def test_finish_and_error_are_settable() -> None:
    """Other words take their place, and the usual ones are plain payloads then."""
    wire = b'id: 1\ndata: {"type":"finish"}\n\nid: 2\ndata: {"type":"end"}\n\n'
    events, answer = read([wire], StrictSse(finish="end", error="finished"))
    assert len(events) == 2
    assert answer[:3] == ("Completed", 2, "end")


def test_only_a_cut_can_tear() -> None:
    """A completion passes through a framer that holds half a frame."""
    stage = StrictSseFramer(10)
    frame(stage, [b"id: 1"])
    assert stage.open == 5
    assert stage.end(Done("finish", 5)) == ([], Done("finish", 5))
