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
    after_cr = False
    for chunk in chunks:
        text = decoder.decode(chunk)
        if text:
            text = text.removeprefix("\n") if after_cr else text
            after_cr = text.endswith("\r")
        *whole, rest = LINE_END.split(rest + text)
        yield from whole
