"""The values that pass between the stages."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn.frame import Pieces, size_of


@given(st.lists(st.text(max_size=3), max_size=40))
def test_pieces_are_taken_joined(pieces: list[str]) -> None:
    """What was put in comes out as one text, once."""
    held = Pieces()
    for piece in pieces:
        held.add(piece)
    assert held.take() == "".join(pieces)
    assert held.take() == ""


@pytest.mark.parametrize("char", ["x", "é", "你"])
def test_many_pieces_take_little_more_than_their_text(char: str) -> None:
    """A long line in one-byte reads is not kept as a string for each character."""
    count = 1 << 17
    size = len((char * count).encode("utf-16-le")) if char == "你" else count
    tracemalloc.start()
    held = Pieces()
    for number in range(count):
        held.add("".join((char, "")) if number % 2 else bytes(char, "utf-8").decode())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * size + 600_000
    assert held.take() == char * count


def test_a_piece_of_replacements_knows_where_each_stands() -> None:
    """They are all of one width, so the bytes need not be kept."""
    piece = ("\ufffd" * 3, 10, 16, 0, 3)
    assert [size_of(piece, 0, index) for index in range(4)] == [0, 2, 4, 6]
