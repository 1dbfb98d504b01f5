from collections.abc import Iterable, Iterator


def read(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Words, each of which ends with a space."""
    for chunk in chunks:
        *words, _ = chunk.split(b" ")
        yield from words
