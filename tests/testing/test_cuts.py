import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn.testing import as_cutting, boundaries, bytewise, cuts_at, every_cut, seeded

WIRES = st.binary(max_size=40)


@given(WIRES, st.integers(1, 12), st.integers())
def test_every_cutting_joins_back_and_has_no_empty_chunk(wire: bytes, k: int, seed: int) -> None:
    for chunks in [*every_cut(wire), bytewise(wire), seeded(wire, k, seed), cuts_at(wire, [])]:
        assert b"".join(chunks) == wire
        assert all(chunks)


@given(WIRES, st.integers(1, 12), st.integers())
def test_cutting_with_empty_chunks_joins_back(wire: bytes, k: int, seed: int) -> None:
    assert len(seeded(wire, k, seed, empty=True)) == k
    for chunks in [*every_cut(wire, empty=True), seeded(wire, k, seed, empty=True)]:
        assert b"".join(chunks) == wire


@given(WIRES, st.lists(st.integers(0, 40)))
def test_boundaries_undo_cuts(wire: bytes, offsets: list[int]) -> None:
    inside = [offset for offset in offsets if offset <= len(wire)]
    assert list(boundaries(cuts_at(wire, inside, empty=True))) == sorted(inside)


def test_every_cut_goes_from_left_to_right() -> None:
    assert list(every_cut(b"abc")) == [[b"a", b"bc"], [b"ab", b"c"]]
    assert len(list(every_cut(b"abc", empty=True))) == 4


def test_seed_decides_the_cuts() -> None:
    wire = bytes(range(100))
    assert seeded(wire, 5, 1) == seeded(wire, 5, 1) != seeded(wire, 5, 2)
    assert len(seeded(wire, 5, 1)) == 5


def test_wire_shorter_than_k_is_cut_everywhere() -> None:
    assert seeded(b"abc", 9, 0) == bytewise(b"abc") == [b"a", b"b", b"c"]


def test_empty_wire_has_no_chunks() -> None:
    assert bytewise(b"") == seeded(b"", 3, 0) == cuts_at(b"", [0]) == []


def test_offset_given_twice_makes_an_empty_chunk_if_asked_to() -> None:
    assert cuts_at(b"ab", [1, 1]) == [b"a", b"b"]
    assert cuts_at(b"ab", [1, 1], empty=True) == [b"a", b"", b"b"]


def test_impossible_cuts_are_refused() -> None:
    with pytest.raises(ValueError, match="lie within the 2 bytes"):
        cuts_at(b"ab", [3])
    with pytest.raises(ValueError, match="at least one chunk"):
        seeded(b"ab", 0, 0)


def test_cuts_may_be_offsets_or_chunks() -> None:
    assert as_cutting(b"abc", [1]) == as_cutting(b"abc", [b"a", b"bc"]) == [b"a", b"bc"]
    assert as_cutting(b"abc", None) == as_cutting(b"abc", []) == [b"abc"]
    with pytest.raises(ValueError, match="join back"):
        as_cutting(b"abc", [b"a"])
