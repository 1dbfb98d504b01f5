import codecs
import re
from collections.abc import Iterable, Iterator

LINE_END = re.compile("\r\n|\n|\r")


def read(chunks: Iterable[bytes]) -> Iterator[str]:
    data: list[str] = []
    for line in lines(chunks):
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        if not line and data:
            yield "\n".join(data)
            data = []


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    for chunk in chunks:
        *whole, rest = LINE_END.split(rest + decoder.decode(chunk))
        yield from whole
