"""A correct SSE reader and a correct NDJSON reader, taken apart so that each part can be broken;
and references that say the same of whole wires in the plainest way."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

LINE_END = re.compile("\r\n|\n|\r")


@dataclass(frozen=True)
class Event:
    event: str
    data: str
    id: str


class SseReader:
    """``SseReader()(chunks)`` yields the events. Its methods are where it can be broken."""

    def __init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.started = False
        self.after_cr = False
        self.tail = ""
        self.id = ""
        self.reset()

    def reset(self) -> None:
        self.type = ""
        self.data: list[str] = []

    def __call__(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        for chunk in chunks:
            yield from self.feed(chunk)
        yield from self.end()

    def feed(self, chunk: bytes) -> Iterator[Event]:
        for line in self.lines(self.text(chunk)):
            yield from self.line(line)

    def end(self) -> Iterator[Event]:
        return iter(())

    def decode(self, chunk: bytes) -> str:
        return self.decoder.decode(chunk)

    def text(self, chunk: bytes) -> str:
        text = self.decode(chunk)
        if text and not self.started:
            self.started = True
            text = text.removeprefix("\ufeff")
        return text

    def lines(self, text: str) -> Iterator[str]:
        if text:
            text = text.removeprefix("\n") if self.after_cr else text
            self.after_cr = text.endswith("\r")
        *lines, self.tail = LINE_END.split(self.tail + text)
        return iter(lines)

    def line(self, line: str) -> Iterator[Event]:
        if not line:
            yield from self.dispatch()
            self.reset()
        elif not line.startswith(":"):
            name, value = self.split(line)
            self.field(name, value)

    def split(self, line: str) -> tuple[str, str]:
        name, _, value = line.partition(":")
        return name, self.trim(value)

    def trim(self, value: str) -> str:
        return value.removeprefix(" ")

    def field(self, name: str, value: str) -> None:
        if name == "data":
            self.data.append(value)
        elif name == "event":
            self.type = value
        elif name == "id" and "\0" not in value:
            self.id = value

    def dispatch(self) -> Iterator[Event]:
        if self.data:
            yield Event(self.type or "message", "\n".join(self.data), self.id)


def sse_reference(wire: bytes) -> list[Event]:
    """The events of a whole wire: lines by one regular expression, the torn tail left off."""
    text = wire.decode("utf-8", "replace").removeprefix("\ufeff")
    events, data, kind, last_id = [], [], "message", ""
    for line in re.split("\r\n|\n|\r", text)[:-1]:
        name, value = re.fullmatch("([^:]*):? ?(.*)", line, re.DOTALL).groups()
        if not line:
            events += [Event(kind, "\n".join(data), last_id)] if data else []
            data, kind = [], "message"
        elif name == "data":
            data.append(value)
        elif name == "event":
            kind = value or "message"
        elif name == "id" and "\0" not in value:
            last_id = value
    return events


class NdjsonReader:
    """``NdjsonReader()(chunks)`` yields the values; a line that is no JSON raises."""

    def __init__(self) -> None:
        self.tail = b""

    def __call__(self, chunks: Iterable[bytes]) -> Iterator[Any]:
        for chunk in chunks:
            yield from self.feed(chunk)
        yield from self.end()

    def feed(self, chunk: bytes) -> Iterator[Any]:
        *lines, self.tail = self.lines(self.tail + chunk)
        for line in lines:
            if line.strip(b"\r"):
                yield self.value(line)

    def lines(self, data: bytes) -> list[bytes]:
        return data.split(b"\n")

    def value(self, line: bytes) -> Any:
        return json.loads(line.decode("utf-8"))

    def end(self) -> Iterator[Any]:
        return iter(())


def ndjson_reference(wire: bytes) -> list[Any]:
    """The values of a whole wire, up to the first line that is no JSON."""
    values = []
    for line in wire.split(b"\n")[:-1]:
        try:
            values += [json.loads(line.decode("utf-8"))] if line.strip(b"\r") else []
        except ValueError:
            break
    return values
