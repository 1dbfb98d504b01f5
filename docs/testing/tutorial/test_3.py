from reader import read

from untorn.testing import assert_untorn

CAPTURE = "data: one\n\ndata: café\n\ndata: three\n\n".encode()
OTHER = b"data: two\r\ndata: lines\r\n\r\ndata: one\r\n\r\n"


def test_it_reads() -> None:
    assert_untorn(read, CAPTURE, expected=["one", "café", "three"])


def test_it_reads_other_line_ends() -> None:
    assert_untorn(read, OTHER, expected=["two\nlines", "one"])
