from hypothesis import given, settings
from reader import read

from untorn.testing import assert_untorn
from untorn.testing.strategies import sse_wires

CAPTURE = "data: one\n\ndata: café\n\ndata: three\n\n".encode()
OTHER = b"data: two\r\ndata: lines\r\n\r\ndata: one\r\n\r\n"


def test_it_reads() -> None:
    assert_untorn(read, CAPTURE, expected=["one", "café", "three"], prompt=True)


def test_it_reads_other_line_ends() -> None:
    assert_untorn(read, OTHER, expected=["two\nlines", "one"], prompt=True)


@settings(max_examples=20, deadline=None)
@given(sse_wires())
def test_it_reads_whatever_comes(wire: bytes) -> None:
    assert_untorn(read, wire, prompt=True, empty_chunks=True, samples=6)
