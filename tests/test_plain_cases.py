"""Every reported stream of the plain dialects comes out as the reports say it must."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from dialects.cases import Case, cases
from wires import answer, bytewise, cut, every_cut

from untorn import Dialect, Limits, parse
from untorn.dialects import JsonLines, JsonSse, Sse
from untorn.payload import parse_json

# The reports say what a client makes of an untorn body: that its clean end completes.
DIALECTS: dict[str, Dialect[Any, Any]] = {
    "sse": Sse(eof="completes"),
    "mastodon": Sse(eof="completes"),
    "dify": Sse(eof="completes"),
    "json-sse": JsonSse(eof="completes"),
    "ndjson": JsonLines(eof="completes"),
}
ELSEWHERE = {"body-05": "the verdict is the status's, and `parse` sees none"}
SMALL = Limits(frame_bytes=1 << 18)
"""So that what grows without end is found out soon."""

EACH = pytest.mark.parametrize(
    "case", cases(*DIALECTS, where=lambda case: case.id not in ELSEWHERE)
)


def unzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Do what a client does below us for a body that is compressed."""
    unzip = zlib.decompressobj(wbits=31)
    yield from map(unzip.decompress, chunks)
    if not unzip.eof:
        raise EOFError("the compressed body ended without its trailer")


def ended(case: Case, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield these chunks of the wire, and end as reported."""
    yield from unzipped(chunks) if case.id.startswith("gzip") else chunks
    if case.end == "reset":
        raise ConnectionResetError


def whole(case: Case) -> Iterable[bytes]:
    """Return the wire in one chunk; an endless one goes on."""
    return case.chunks(()) if case.end == "endless" else [case.wire]


def read(case: Case, dialect: Dialect[Any, Any], chunks: Iterable[bytes]) -> tuple[Any, ...]:
    """Return events, value and answer, without the transport's exception: each is a new one."""
    run = parse(ended(case, chunks), dialect, limits=SMALL)
    events = list(run.events())
    kind, *said = answer(run.outcome)
    return events, run.value, kind, *(what for what in said if not isinstance(what, Exception))


def expected_frames(case: Case) -> list[tuple[str | None, str, str | None]]:
    """Return what a standard framer dispatches: type, data, id."""
    events = [(event["event"], event["data"], event["id"]) for event in case.expected["events"]]
    return events if case.end == "endless" else events * int(case.expand.get("repeat_whole", 1))


@EACH
def test_the_frames_are_the_standard_s(case: Case) -> None:
    """Whatever the payloads are."""
    if case.framing == "ndjson" or case.id.startswith("deep"):
        pytest.skip("it is no event stream, or the report lists no frame that is refused later")
    events, *_ = read(case, Sse(eof="completes"), whole(case))
    assert [(event.event, event.data, event.id) for event in events] == expected_frames(case)


@EACH
def test_the_outcome_is_the_reported_one(case: Case) -> None:
    """With what a client can do next: the id to resume from, the time to wait."""
    dialect = DIALECTS[case.dialect]
    events, value, kind, *_ = read(case, dialect, whole(case))
    assert kind == case.outcome
    if kind == "Completed" and not isinstance(dialect, Sse):
        payloads = [parse_json(data) for _, data, _ in expected_frames(case)]
        assert [event.data for event in events] == payloads
    for name, wanted in case.reduced.items():
        assert getattr(value, name) == wanted


def cuttings(case: Case) -> Iterator[list[bytes]]:
    """Cut where the fault showed; at every byte and byte by byte, or a large wire coarsely."""
    yield cut(case.wire, case.cuts)
    if len(case.wire) < 1000:
        yield bytewise(case.wire)
        yield from every_cut(case.wire)
    else:
        yield cut(case.wire, range(0, len(case.wire), 10_007))


@pytest.mark.parametrize(
    "case",
    cases(*DIALECTS, where=lambda case: case.id not in ELSEWHERE and case.end != "endless"),
)
def test_no_cut_makes_a_difference(case: Case) -> None:
    """However the wire of a report is cut, it gives the same."""
    dialect = DIALECTS[case.dialect]
    expected = read(case, dialect, whole(case))
    for chunks in cuttings(case):
        assert read(case, dialect, chunks) == expected
