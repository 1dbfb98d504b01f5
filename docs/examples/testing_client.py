from collections.abc import Iterable, Iterator
from tempfile import TemporaryDirectory

import httpx

from untorn.testing import TornParserError, assert_untorn


def lines(url: str, client: httpx.Client) -> Iterator[str]:
    """Somebody's client: it reads lines of text from a service."""
    with client.stream("GET", url) as response:
        yield from response.iter_lines()


def parse(chunks: Iterable[bytes]) -> Iterator[str]:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=chunks)

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        yield from lines("http://service.example", client)


print(*assert_untorn(parse, "one\ntwo é\n".encode(), prefixes=False).events)

with TemporaryDirectory() as folder:
    try:
        assert_untorn(parse, b"one\n", reproducers=folder)
    except TornParserError as torn:
        print(torn.finding.law, torn.finding.actual.events, torn.finding.expected.events)
