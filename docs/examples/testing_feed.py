from collections.abc import Callable, Iterable, Iterator
from json import JSONDecodeError, loads
from tempfile import TemporaryDirectory
from typing import Any

from untorn.testing import TornParserError, assert_untorn


class LineParser:
    """Somebody's parser: it is fed with bytes, and calls back with the value of each line."""

    def __init__(self, on_value: Callable[[Any], object]) -> None:
        self._on_value = on_value
        self._rest = b""

    def feed(self, data: bytes) -> None:
        if not data:
            raise EOFError("The stream has ended.")
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._on_value(loads(line))


def parse(chunks: Iterable[bytes]) -> Iterator[Any]:
    found: list[Any] = []
    parser = LineParser(found.append)
    for chunk in chunks:
        try:
            parser.feed(chunk)
        finally:  # what came before an exception counts
            yield from found
            found.clear()


def expected(wire: bytes) -> Iterator[Any]:
    """The right values of any wire, in the plainest way."""
    for line in wire.split(b"\n")[:-1]:
        try:
            yield loads(line)
        except JSONDecodeError:
            return


WIRE = b'{"a": 1}\n[2, 3]\r\n"four"\n'

answer = assert_untorn(parse, WIRE, expected=expected, prompt=True)
print(*answer.events, sep="\n")

with TemporaryDirectory() as folder:
    try:
        assert_untorn(
            parse, WIRE, expected=expected, empty_chunks=True, name="lines", reproducers=folder
        )
    except TornParserError as torn:
        print(torn.finding.law, torn.finding.case.chunks, torn.finding.actual.raised)
        print(torn.path.name)
