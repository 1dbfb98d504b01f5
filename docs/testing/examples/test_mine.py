from mine import read

from untorn.testing import assert_untorn


def expected(wire: bytes) -> list[bytes]:
    return wire.split(b" ")[:-1]


def test_words_are_whole() -> None:
    assert_untorn(read, b"one two three ", expected=expected, parameters={"version": 1})
