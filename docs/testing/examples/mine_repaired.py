from collections.abc import Iterable, Iterator


def read(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Words, each of which ends with a space."""
    rest = b""
    for chunk in chunks:
        *words, rest = (rest + chunk).split(b" ")
        yield from words
