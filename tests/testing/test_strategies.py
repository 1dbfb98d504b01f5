import json
from collections.abc import Callable
from functools import partial

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from untorn.testing import bytewise
from untorn.testing.strategies import ILL_FORMED, cuttings, damaged, ndjson_wires, sse_wires

from .readers import sse_reference

WIRE = "data: é\r\n\r\n".encode()
# What is smallest takes a search in full, whatever the profile says.
find = partial(
    hypothesis.find,
    settings=settings(max_examples=1000, deadline=None, derandomize=True, database=None),
)


@given(st.binary(max_size=12).flatmap(lambda wire: st.tuples(st.just(wire), cuttings(wire))))
def test_cutting_joins_back(drawn: tuple[bytes, list[bytes]]) -> None:
    wire, chunks = drawn
    assert b"".join(chunks) == wire
    assert all(chunks)


def test_cuttings_shrink_to_few_cuts() -> None:
    assert find(cuttings(WIRE), lambda _: True) == [WIRE]
    # Bytewise is one choice, and so to hypothesis no less simple than one cut.
    cut = find(cuttings(WIRE), lambda chunks: len(chunks) > 1)
    assert cut in ([b"d", WIRE[1:]], bytewise(WIRE))
    assert len(find(cuttings(WIRE), lambda chunks: 1 < len(chunks) < len(WIRE))) == 2


def test_bytewise_cutting_is_reached() -> None:
    assert find(cuttings(WIRE), lambda chunks: len(chunks) == len(WIRE)) == bytewise(WIRE)


TROUBLES: dict[str, Callable[[bytes], bool]] = {
    "BOM": lambda wire: wire.startswith(b"\xef\xbb\xbf"),
    "LF": lambda wire: b"\n\n" in wire,
    "CRLF": lambda wire: b"\r\n\r\n" in wire,
    "CR": lambda wire: b"\r\r" in wire,
    "mixed line ends": lambda wire: b"\n\r\n" in wire and b"\r\r" in wire,
    "four-byte character": lambda wire: "🙂".encode() in wire,
    "NUL in an id": lambda wire: b"id: 1\0" in wire,
    "retry": lambda wire: b"retry: " in wire,
    "comment": lambda wire: b"\n:" in wire,
    "two spaces": lambda wire: b"data:  " in wire,
    "long line": lambda wire: max(map(len, wire.split(b"\n"))) > 60,
    "ill-formed byte": lambda wire: b"\xff" in wire,
    "several events": lambda wire: len(sse_reference(wire)) > 2,
}


def test_sse_wires_hold_every_trouble() -> None:
    seen: set[str] = set()

    @settings(max_examples=250, database=None, derandomize=True, deadline=None)
    @given(sse_wires())
    def look(wire: bytes) -> None:
        seen.update(name for name, holds in TROUBLES.items() if holds(wire))

    look()
    assert seen == set(TROUBLES)


def test_wires_shrink_to_short_ones() -> None:
    assert find(sse_wires(), lambda _: True) == b""
    assert len(find(sse_wires(), lambda wire: len(sse_reference(wire)) == 1)) <= 8
    assert len(find(ndjson_wires(), lambda wire: b"{" in wire)) <= 4


@given(sse_wires(damaged=False))
def test_valid_sse_wire_is_utf8_and_complete(wire: bytes) -> None:
    wire.decode("utf-8")
    assert sse_reference(wire) == sse_reference(wire + b"\n\n")


@given(ndjson_wires(damaged=False))
def test_valid_ndjson_wire_holds_one_value_a_line(wire: bytes) -> None:
    *lines, tail = wire.replace(b"\xef\xbb\xbf", b"").split(b"\n")
    assert tail == b""
    for line in lines:
        assert not line.strip() or json.loads(line) is not ...


def test_damage_tears_characters_and_lines() -> None:
    assert find(damaged(st.just(WIRE)), lambda wire: len(wire) < len(WIRE)) == b""
    for bad in ILL_FORMED:
        assert find(damaged(st.just(b"")), lambda wire, bad=bad: bad in wire) == bad


@pytest.mark.parametrize("wires", [sse_wires, ndjson_wires])
def test_damaged_wires_are_offered_for_each_format(
    wires: Callable[..., SearchStrategy[bytes]],
) -> None:
    ill_formed = []

    @settings(max_examples=100, database=None, derandomize=True, deadline=None)
    @given(wires(damaged=True))
    def look(wire: bytes) -> None:
        ill_formed.append("\ufffd".encode() in wire.decode("utf-8", "replace").encode())

    look()
    assert any(ill_formed)
