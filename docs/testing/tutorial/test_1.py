from reader import read

CAPTURE = "data: one\n\ndata: café\n\ndata: three\n\n".encode()


def test_it_reads() -> None:
    assert list(read([CAPTURE])) == ["one", "café", "three"]
