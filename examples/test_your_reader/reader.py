"""A small reader of Server-Sent Events, written by hand: the thing to test."""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

LINE_END = re.compile("\r\n|\n|\r")


class Reader:
    """Takes bytes as they come and gives the data of each event as soon as it is complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._at_start = True
        self._after_cr = False
        self._line = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        for line in self._lines(self._decoder.decode(chunk)):
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            if not line and self._data:
                yield "\n".join(self._data)
                self._data = []

    def _lines(self, text: str) -> list[str]:
        if text and self._at_start:
            self._at_start = False
            text = text.removeprefix("\ufeff")
        if text:
            # A CR has ended its line already; an LF that follows it belongs to the same line end.
            text = text.removeprefix("\n") if self._after_cr else text
            self._after_cr = text.endswith("\r")
        *lines, self._line = LINE_END.split(self._line + text)
        return lines


def read(chunks: Iterable[bytes]) -> Iterator[str]:
    reader = Reader()
    for chunk in chunks:
        yield from reader.feed(chunk)


async def read_async(chunks: AsyncIterable[bytes]) -> AsyncIterator[str]:
    reader = Reader()
    async for chunk in chunks:
        for data in reader.feed(chunk):
            yield data
