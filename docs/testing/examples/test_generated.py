import json
from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from untorn.testing import Cutting, assert_untorn
from untorn.testing.strategies import cuttings, damaged, ndjson_wires


def read(chunks: Iterable[bytes]) -> Iterator[Any]:
    """The code under test."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield json.loads(line.decode("utf-8-sig"))


@settings(max_examples=20, deadline=None)
@given(ndjson_wires())
def test_the_cuts_make_no_difference(wire: bytes) -> None:
    assert_untorn(read, wire, prompt=True, samples=4)


def records() -> st.SearchStrategy[bytes]:
    """Wires of a protocol of one's own."""
    values = st.dictionaries(st.sampled_from(["id", "näme"]), st.text(max_size=4))
    lines = values.map(lambda value: json.dumps(value, ensure_ascii=False).encode() + b"\n")
    return st.lists(lines, max_size=4).map(b"".join)


@settings(max_examples=20, deadline=None)
@given(damaged(records()))
def test_harm_makes_no_difference_either(wire: bytes) -> None:
    assert_untorn(read, wire, samples=4)


@settings(deadline=None)
@given(records().flatmap(cuttings))
def test_values_come_back(chunks: Cutting) -> None:
    lines = b"".join(chunks).splitlines()
    assert list(read(chunks)) == [json.loads(line) for line in lines]
