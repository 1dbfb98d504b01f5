from collections.abc import Iterable, Iterator


def read(chunks: Iterable[bytes]) -> Iterator[str]:
    text = ""
    for chunk in chunks:
        text += chunk.decode()
        *events, text = text.split("\n\n")
        for event in events:
            yield event.removeprefix("data: ")
    if text:
        yield text.removeprefix("data: ")
