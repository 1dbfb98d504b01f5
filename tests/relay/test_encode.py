"""The encoder is the inverse of the framer: what was written is read, and nothing else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn import ServerSentEvent, parse
from untorn.dialects import Sse
from untorn.relay import SseEncoder
from untorn.testing.strategies import cuttings

# Every character that somebody takes for a line end, and what has a meaning in a line.
SPECIAL = "\r\n\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff: \t"
texts = st.text(st.sampled_from(SPECIAL) | st.characters(codec="utf-8"), max_size=12)
types = texts.map(lambda text: re.sub("[\r\n]", "", text))
ids = texts.map(lambda text: re.sub("[\r\n\0]", "", text))
retries = st.none() | st.integers(0, 10**18)
events = st.builds(ServerSentEvent, types, texts, ids, retries)


def written(events: list[ServerSentEvent]) -> bytes:
    encoder = SseEncoder()
    return b"".join(map(encoder.encode, events))


def read(chunks: list[bytes]) -> list[ServerSentEvent]:
    stream = parse(chunks, Sse(eof="completes", errors="strict"))
    seen = list(stream)
    stream.outcome.unwrap()
    return seen


def as_read(event: ServerSentEvent) -> ServerSentEvent:
    data = event.data.replace("\r\n", "\n").replace("\r", "\n")
    return ServerSentEvent(event.event or "message", data, event.id, event.retry)


@given(st.data(), st.lists(events, max_size=5))
def test_what_is_written_is_read_however_it_is_cut(data: st.DataObject, sent: list) -> None:
    """Any text comes back, its line ends as LF; so do names, ids that change back, and retry."""
    wire = written(sent)
    cutting = data.draw(cuttings(wire))
    assert read(list(cutting)) == list(map(as_read, sent))


@given(st.lists(events, min_size=1, max_size=5))
def test_what_was_read_is_written_as_it_was_read(sent: list) -> None:
    """Handed on by any number of hops, the events stay the same."""
    once = read([written(sent)])
    assert read([written(once)]) == once


@given(st.lists(events, max_size=4), st.sampled_from(["event", "id"]), types, types)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_no_line_end_gets_into_a_name_or_an_id(
    end: str, before: list, field: str, head: str, tail: str
) -> None:
    """What would begin a field of its own is refused, and changes nothing."""
    encoder = SseEncoder()
    wire = b"".join(map(encoder.encode, before))
    in_force = encoder.last_event_id
    bad = ServerSentEvent("message", "data", in_force)
    setattr(bad, field, head + end + tail)
    with pytest.raises(ValueError, match=f"^The {field} .* holds a (line end|NUL)"):
        encoder.encode(bad)
    rest = encoder.encode(ServerSentEvent("message", "later", in_force))
    assert read([wire + rest])[-1] == ServerSentEvent("message", "later", in_force)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (ServerSentEvent("message", "", "a\0b"), r"The id 'a\\x00b' holds a NUL"),
        (ServerSentEvent("message", "a\ud83d", ""), r"holds '\\ud83d', half a surrogate pair"),
        (ServerSentEvent("\udc00", "", ""), r"holds '\\udc00', half a surrogate pair"),
        (ServerSentEvent("message", "", "", -1), "retry=-1: give a whole number"),
        (ServerSentEvent("message", "", "", True), "retry=True: give a whole number"),
        (ServerSentEvent("message", "", "", 1.5), "retry=1.5: give a whole number"),
        (ServerSentEvent("message", "", "", 10**18 + 1), "retry has over 18 digits: give"),
        (ServerSentEvent("message", "", "", 10**5000), "retry has over 18 digits: give"),
        (ServerSentEvent("message", "", "", -(10**5000)), "retry has over 18 digits: give"),
    ],
)
def test_what_the_format_cannot_say_is_refused(bad: ServerSentEvent, sentence: str) -> None:
    """It is a ValueError with a sentence, and the encoder is as it was."""
    encoder = SseEncoder("7")
    with pytest.raises(ValueError, match=sentence):
        encoder.encode(bad)
    assert encoder.last_event_id == "7"


def test_an_event_is_written_as_plainly_as_can_be() -> None:
    """An `id` is written where it changes, and a name where it says something."""
    sent = [
        ServerSentEvent("message", "a\n\nb", "1"),
        ServerSentEvent("tick", "", "1", 500),
        ServerSentEvent("", " c", ""),
    ]
    assert written(sent) == (
        b"id: 1\ndata: a\ndata: \ndata: b\n\nevent: tick\nretry: 500\ndata: \n\nid\ndata:  c\n\n"
    )


def test_a_reader_that_has_an_id_keeps_none_that_is_over() -> None:
    """Where the reader came with an id, the first event says that it has none."""
    assert SseEncoder("7").encode(ServerSentEvent("message", "a", "")) == b"id\ndata: a\n\n"
    assert SseEncoder("7").encode(ServerSentEvent("message", "a", "7")) == b"data: a\n\n"


@pytest.mark.parametrize("digits", [18, 19, 20, 5000])
def test_any_retry_that_was_read_can_be_written(digits: int) -> None:
    """However long it was, and it is read as the same."""
    once = read([b"retry: " + b"9" * digits + b"\ndata: a\n\n"])
    assert read([written(once)]) == once
