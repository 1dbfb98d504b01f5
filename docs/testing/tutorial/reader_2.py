import codecs
from collections.abc import Iterable, Iterator


def read(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = ""
    for chunk in chunks:
        text += decoder.decode(chunk)
        *events, text = text.split("\n\n")
        for event in events:
            yield event.removeprefix("data: ")
    if text:
        yield text.removeprefix("data: ")
