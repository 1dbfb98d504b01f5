from reader import read

from untorn.testing import assert_untorn

CAPTURE = "data: one\n\ndata: café\n\ndata: three\n\n".encode()


def test_it_reads() -> None:
    assert_untorn(read, CAPTURE, expected=["one", "café", "three"])
