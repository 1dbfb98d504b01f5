import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from untorn.testing import Expectation, Finding, TornParserError, assert_untorn, replay
from untorn.testing.strategies import ndjson_wires, sse_wires

from . import broken
from .readers import NdjsonReader, SseReader, ndjson_reference, sse_reference

WIRES = int(os.environ.get("UNTORN_WIRES", "100"))
"""How many generated wires a correct reader must pass without being accused, per format."""

THOROUGH: dict[str, Any] = {
    "prompt": True,
    "empty_chunks": True,
    "exhaustive": 100,
    "samples": 8,
}

SSE_WIRES = [
    (
        "\ufeffdata: hello\r\n\r\n"
        "id: 1\ndata: one\ndata:  zwei €\n\n"
        "id: 2\0\nevent: ping\ndata\n\n"
        ":\ndata: a: b 🙂\u2028c \r\r"
        "Data: x\rdata : y\revent: empty\r\n\r\n"
        "data: \ufeffé\ndata: much longer than all the others, as somebody once wrote here\n\n"
        "data: last\n\n"
    ).encode(),
    b"data: first\n\ndata: \xff\xe2\x82\n\ndata: last\n\n",
]

NDJSON_WIRES = [
    '{"a": "é\u2028"}\r\n12\n[true, null]\n"🙂"\n5\n'.encode(),
    b'1\n\n2\n{"torn\n3\n',
]


def parser(reader: type[SseReader] | type[NdjsonReader]) -> Callable[[Iterable[bytes]], Any]:
    def parse(chunks: Iterable[bytes]) -> Iterator[Any]:
        return reader()(chunks)

    parse.__name__ = reader.__name__
    return parse


@pytest.mark.parametrize(
    ("reader", "wires", "reference"),
    [(reader, SSE_WIRES, sse_reference) for reader in broken.SSE]
    + [(reader, NDJSON_WIRES, ndjson_reference) for reader in broken.NDJSON],
    ids=[reader.__name__ for reader in [*broken.SSE, *broken.NDJSON]],
)
def test_broken_reader_is_caught_with_a_small_reproducer(
    reader: Any, wires: list[bytes], reference: Any, tmp_path: Path
) -> None:
    with pytest.raises(TornParserError) as caught:
        for wire in wires:
            assert_untorn(
                parser(reader),
                wire,
                expected=reference,
                prompt=True,
                empty_chunks=True,
                reproducers=tmp_path,
            )
    found = caught.value.finding
    size, cuts = len(found.case.capture), len(found.case.boundaries)
    limited = "Limit" in reader.__name__
    assert size <= (80 if limited else 24)
    assert cuts <= 2
    assert caught.value.path.parent == tmp_path


def test_at_least_twenty_readers_are_broken() -> None:
    assert len(broken.SSE) + len(broken.NDJSON) >= 20


@pytest.mark.parametrize(
    ("reader", "law"),
    [
        (broken.StatelessDecode, "cuts"),
        (broken.BomDroppedFromEveryRead, "cuts"),
        (broken.RemainderLost, "cuts"),
        (broken.LineEndsAtEveryRead, "cuts"),
        (broken.CrlfTornInTwo, "cuts"),
        (broken.LimitPerRead, "cuts"),
        (broken.OneEventPerRead, "cuts"),
        (broken.EmptyReadIsEof, "cuts"),
        (broken.ErrorTellsReads, "cuts"),
        (broken.TailDispatchedAtEof, "truncation"),
        (broken.TornLineTakenAtEof, "truncation"),
        (broken.OneEventBehind, "promptness"),
    ],
)
def test_reader_that_breaks_the_law_is_caught_without_knowing_the_right_events(
    reader: type[SseReader], law: str, tmp_path: Path
) -> None:
    with pytest.raises(TornParserError) as caught:
        assert_untorn(
            parser(reader), SSE_WIRES[0], prompt=True, empty_chunks=True, reproducers=tmp_path
        )
    assert caught.value.finding.law == law


@settings(max_examples=WIRES, deadline=None, suppress_health_check=list(HealthCheck))
@given(sse_wires())
def test_correct_sse_reader_is_never_accused(wire: bytes) -> None:
    assert_untorn(parser(SseReader), wire, expected=sse_reference, **THOROUGH)


@settings(max_examples=WIRES, deadline=None, suppress_health_check=list(HealthCheck))
@given(ndjson_wires())
def test_correct_ndjson_reader_is_never_accused(wire: bytes) -> None:
    assert_untorn(parser(NdjsonReader), wire, expected=ndjson_reference, **THOROUGH)


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """A correct async reader of lines."""
    tail = b""
    async for chunk in chunks:
        *whole, tail = (tail + chunk).split(b"\n")
        for line in whole:
            yield line


async def lines_of_each_read(chunks: AsyncIterable[bytes]) -> list[bytes]:
    """A broken one, which returns a list."""
    return [line async for chunk in chunks for line in chunk.split(b"\n")]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
class TestAsyncParser:
    def test_correct_one_is_not_accused(self, backend: str) -> None:
        answer = assert_untorn(lines, b"a\nb\n", prompt=True, backend=backend)
        assert len(answer.events) == 2

    def test_broken_one_is_caught(self, backend: str, tmp_path: Path) -> None:
        with pytest.raises(TornParserError):
            assert_untorn(lines_of_each_read, b"ab\nc\n", backend=backend, reproducers=tmp_path)


def split_lines(chunks: Iterable[bytes]) -> list[bytes]:
    return b"".join(chunks).split(b"\n")[:-1]


class TestExpected:
    def test_list_of_the_right_events_is_enough(self) -> None:
        assert_untorn(split_lines, b"a\nb\n", expected=[b"a", b"b"])

    def test_whole_wire_is_checked_against_it(self, tmp_path: Path) -> None:
        with pytest.raises(TornParserError, match="not the expected ones") as caught:
            assert_untorn(split_lines, b"a\nb\n", expected=[b"a"], reproducers=tmp_path)
        assert caught.value.finding.case.wire == b"a\nb\n"

    def test_failure_of_the_reference_is_not_hidden(self) -> None:
        def reference(wire: bytes) -> list[bytes]:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            assert_untorn(split_lines, b"a\n", expected=reference)


def test_reproducer_never_asks_for_what_the_reference_does_not_give(tmp_path: Path) -> None:
    """A line without `=` is taken even uncut, so that is not where the lost rest is shown."""

    def parse(chunks: Iterable[bytes]) -> list[bytes]:
        return [line for chunk in chunks for line in chunk.split(b"\n")[:-1]]

    def repaired(chunks: Iterable[bytes]) -> list[bytes]:
        return [line for line in split_lines(chunks) if b"=" in line]

    def reference(wire: bytes) -> list[bytes]:
        return repaired([wire])

    with pytest.raises(TornParserError, match="how the bytes were cut") as caught:
        assert_untorn(parse, b"a=1\n", expected=reference, reproducers=tmp_path)
    assert caught.value.finding.case.wire == b"a=\n"
    replay(caught.value.path, repaired)


class TestKind:
    """What is shown small is the fault that was found, not another under the same law."""

    def small(self, parse: Callable[[Iterable[bytes]], Any], wire: bytes, path: Path) -> Finding:
        with pytest.raises(TornParserError) as caught:
            assert_untorn(parse, wire, reproducers=path)
        return caught.value.finding

    def test_character_stays_whole_though_its_bytes_fail_too(self, tmp_path: Path) -> None:
        """Of two bytes in three, the errors differ in their texts only."""

        def parse(chunks: Iterable[bytes]) -> list[str]:
            return ["".join(chunk.decode() for chunk in chunks)]

        found = self.small(parse, "a€b".encode(), tmp_path)
        assert found.expected == Expectation(('"\\u20ac"',), raised=None)
        assert found.actual.raised is not None

    def test_wrong_event_does_not_become_a_wrong_text(self, tmp_path: Path) -> None:
        """Every stream ends in an error whose text tells the number of reads."""

        def parse(chunks: Iterable[bytes]) -> Iterator[bytes]:
            read = list(chunks)
            yield from (chunk for chunk in read if b"x" in chunk)
            raise EOFError(f"{len(read)} reads")

        found = self.small(parse, b"axb", tmp_path)
        assert found.case.wire.count(b"x") == 1
        assert found.actual.events != found.expected.events


class TestEffort:
    def count(self, size: int, **options: Any) -> int:
        calls = 0

        def parse(chunks: Iterable[bytes]) -> list[bytes]:
            nonlocal calls
            calls += 1
            return split_lines(chunks)

        assert_untorn(parse, b"\n" * size, **options)
        return calls

    def test_long_wire_is_sampled(self) -> None:
        assert self.count(5000, samples=3) < 30

    def test_short_wire_is_cut_everywhere(self) -> None:
        assert self.count(20, prefixes=False, samples=0) == 1 + 19 + 1

    def test_empty_wire_is_no_special_case(self) -> None:
        assert self.count(0, prompt=True, empty_chunks=True) > 0


def test_transport_that_is_reset_is_checked_like_one_that_ends() -> None:
    answer = assert_untorn(parser(SseReader), b"data: a\n\ndata: b", end="reset")
    assert len(answer.events) == 1
    assert answer.raised is not None
    assert answer.raised.type == "ConnectionResetError"


def test_reproducer_is_written_in_the_default_folder_under_the_parsers_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNTORN_REPRODUCERS", raising=False)
    with pytest.raises(TornParserError) as caught:
        assert_untorn(lambda chunks: list(chunks), b"ab")
    assert caught.value.path.parent == Path(".untorn-reproducers")
    assert caught.value.path.name.startswith("lambda-cuts-")
    assert "made small from 2 bytes with 1 cut)" in str(caught.value)


def test_message_shows_wire_cuts_answers_and_path(tmp_path: Path) -> None:
    with pytest.raises(TornParserError) as caught:
        assert_untorn(
            lambda chunks: map(bytes.decode, chunks), "é".encode(), name="x/y", reproducers=tmp_path
        )
    assert str(caught.value).splitlines() == [
        "The answer depends on how the bytes were cut.",
        "",
        "  wire (2 bytes): b'\\xc3\\xa9'",
        "  cut at 1: b'\\xc3', b'\\xa9'",
        "  then the end of the stream",
        "  expected:",
        '    "\\u00e9"',
        "  actual:",
        "    no event",
        "    then UnicodeDecodeError: 'utf-8' codec can't decode byte 0xc3 in position 0: "
        "unexpected end of data",
        f"  reproducer: {caught.value.path}",
        "  (made small from 2 bytes with 1 cut)",
    ]


def test_long_answers_and_cuts_are_shown_in_part(tmp_path: Path) -> None:
    """Fails when every byte comes alone, and only then."""

    def parse(chunks: Iterable[bytes]) -> list[bytes]:
        read = list(chunks)
        return [b"x"] * (40 if len(read) == 40 else 30)

    with pytest.raises(TornParserError) as caught:
        assert_untorn(parse, b"a" * 40, prefixes=False, reproducers=tmp_path)
    assert "and 19 more: " in str(caught.value)
    assert "and 20 more events" in str(caught.value)


def test_stream_that_ends_early_is_shown_with_what_was_to_follow(tmp_path: Path) -> None:
    with pytest.raises(TornParserError) as caught:
        assert_untorn(lambda chunks: [b"".join(chunks)], b"ab", reproducers=tmp_path)
    assert "  wire (0 bytes): b''" in str(caught.value)
    assert "  instead of (1 byte): b" in str(caught.value)
    assert "expected a beginning of:" in str(caught.value)
