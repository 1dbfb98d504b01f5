"""The fixture is what it must be, so that the tests that read it can fail."""

import pytest
from fixture import DELTAS, LINE_ENDS, SENTINEL, TEXT, sse


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_has_a_character_of_every_size(size: int) -> None:
    """Whoever tidies the fixture down to ASCII hears of it here."""
    assert any(len(char.encode()) == size for char in TEXT)


def test_has_spaces_that_count() -> None:
    """Deltas begin and end with spaces, and one is nothing else."""
    assert DELTAS[:3] == ("The", " quick", " brown")
    assert any(delta.endswith(" ") for delta in DELTAS)
    assert " " in DELTAS


def test_every_cut_tears_something() -> None:
    """A quarter of the answer's offsets lie inside a character: a stateless decoder fails there."""
    data = TEXT.encode()
    torn = [at for at in range(len(data)) if data[at] & 0xC0 == 0x80]
    assert len(torn) > len(data) / 4


@pytest.mark.parametrize("line_ends", LINE_ENDS)
def test_has_a_comment_and_a_sentinel_that_is_no_json(line_ends: str) -> None:
    """Each wire holds them, and the line ends it is named for."""
    wire = sse(line_ends)
    assert wire.startswith(b": ")
    assert f"data: {SENTINEL}".encode() in wire
    assert {end.encode() for end in LINE_ENDS[line_ends]} <= {
        end for end in (b"\r\n", b"\r", b"\n") if end in wire
    }
