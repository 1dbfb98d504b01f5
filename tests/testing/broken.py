"""Readers that are broken, each in one way that has been seen in the wild."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .readers import Event, NdjsonReader, SseReader


class StatelessDecode(SseReader):
    def decode(self, chunk: bytes) -> str:
        return chunk.decode("utf-8", "replace")


class HalfCharacterDropped(SseReader):
    def decode(self, chunk: bytes) -> str:
        return chunk.decode("utf-8", "ignore")


class StrictStatelessDecode(SseReader):
    def decode(self, chunk: bytes) -> str:
        return chunk.decode("utf-8")


class DecodeBeforeFraming(SseReader):
    """Loses the good events that shared a read with an ill-formed byte."""

    def __init__(self) -> None:
        super().__init__()
        self.decoder.errors = "strict"


class Latin1(SseReader):
    def decode(self, chunk: bytes) -> str:
        return chunk.decode("latin-1")


class BomKept(SseReader):
    started = property(lambda self: True, lambda self, value: None)


class BomDroppedFromEveryRead(SseReader):
    started = property(lambda self: False, lambda self, value: None)


class EveryBomDropped(SseReader):
    def text(self, chunk: bytes) -> str:
        return super().text(chunk).replace("\ufeff", "")


class BlankLfLineOnly(SseReader):
    def feed(self, chunk: bytes) -> Iterator[Event]:
        self.tail += self.text(chunk)
        *blocks, self.tail = self.tail.split("\n\n")
        for block in blocks:
            for line in [*block.split("\n"), ""]:
                yield from self.line(line)


class RemainderLost(SseReader):
    def feed(self, chunk: bytes) -> Iterator[Event]:
        yield from super().feed(chunk)
        self.tail = ""


class LineEndsAtEveryRead(SseReader):
    def feed(self, chunk: bytes) -> Iterator[Event]:
        for line in re.split("\r\n|\n|\r", self.text(chunk)):
            yield from self.line(line)


class SplitLines(SseReader):
    def lines(self, text: str) -> Iterator[str]:
        *lines, self.tail = (self.tail + text + "|").splitlines()
        self.tail = self.tail.removesuffix("|")
        return iter(lines)


class CarriageReturnHeldBack(SseReader):
    """Waits for the byte after a CR, to see whether it is an LF."""

    def lines(self, text: str) -> Iterator[str]:
        *lines, self.tail = re.split("\r\n|\n|\r(?=.)", self.tail + text, flags=re.DOTALL)
        return iter(lines)


class CrlfTornInTwo(SseReader):
    """Forgets between two reads that the last one ended with a CR."""

    def feed(self, chunk: bytes) -> Iterator[Event]:
        self.after_cr = False
        return super().feed(chunk)


class CrIsNoLineEnd(SseReader):
    def lines(self, text: str) -> Iterator[str]:
        *lines, self.tail = re.split("\r?\n", self.tail + text)
        return iter(lines)


class DataStripped(SseReader):
    def trim(self, value: str) -> str:
        return value.strip()


class AllLeadingSpacesDropped(SseReader):
    def trim(self, value: str) -> str:
        return value.lstrip(" ")


class LeadingSpaceKept(SseReader):
    def trim(self, value: str) -> str:
        return value


class RestOfColonsLost(SseReader):
    def split(self, line: str) -> tuple[str, str]:
        name, value, *_ = [*line.split(":"), ""]
        return name, self.trim(value)


class NameInAnyCase(SseReader):
    def field(self, name: str, value: str) -> None:
        super().field(name.lower(), value)


class NameStripped(SseReader):
    def field(self, name: str, value: str) -> None:
        super().field(name.strip(), value)


class LineWithoutColonIgnored(SseReader):
    def line(self, line: str) -> Iterator[Event]:
        return super().line(line if ":" in line or not line else ":")


class LastDataLineWins(SseReader):
    def field(self, name: str, value: str) -> None:
        if name == "data":
            self.data.clear()
        super().field(name, value)


class DataJoinedWithoutLf(SseReader):
    def dispatch(self) -> Iterator[Event]:
        for event in super().dispatch():
            yield Event(event.event, "".join(self.data), event.id)


class EmptyDataDropped(SseReader):
    def dispatch(self) -> Iterator[Event]:
        return super().dispatch() if any(self.data) else iter(())


class DispatchedWithoutData(SseReader):
    def dispatch(self) -> Iterator[Event]:
        yield Event(self.type or "message", "\n".join(self.data), self.id)


class IdNotSticky(SseReader):
    def reset(self) -> None:
        super().reset()
        self.id = ""


class NulInId(SseReader):
    def field(self, name: str, value: str) -> None:
        super().field(name, value.replace("\0", "") if name == "id" else value)


class TypeSticky(SseReader):
    type = ""

    def reset(self) -> None:
        self.data = []


class TailDispatchedAtEof(SseReader):
    def end(self) -> Iterator[Event]:
        return self.dispatch()


class TornLineTakenAtEof(SseReader):
    def end(self) -> Iterator[Event]:
        yield from self.line(self.tail)
        yield from self.dispatch()


class LimitPerRead(SseReader):
    def feed(self, chunk: bytes) -> Iterator[Event]:
        if len(chunk) > 64:
            raise ValueError("The frame is too long.")
        return super().feed(chunk)


class LimitBeforeFraming(SseReader):
    """Counts what is buffered before it looks for line ends in it."""

    def lines(self, text: str) -> Iterator[str]:
        if len(self.tail + text) > 64:
            raise ValueError("The frame is too long.")
        return super().lines(text)


class OneEventPerRead(SseReader):
    def feed(self, chunk: bytes) -> Iterator[Event]:
        yield from list(super().feed(chunk))[:1]


class OneEventBehind(SseReader):
    """Hands out an event only when the next one comes, or the stream ends."""

    held: tuple[Event, ...] = ()

    def feed(self, chunk: bytes) -> Iterator[Event]:
        ready = (*self.held, *super().feed(chunk))
        self.held = ready[-1:]
        return iter(ready[:-1])

    def end(self) -> Iterator[Event]:
        return iter(self.held)


class EmptyReadIsEof(SseReader):
    def __call__(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        for chunk in chunks:
            if not chunk:
                break
            yield from self.feed(chunk)


class ErrorTellsReads(SseReader):
    """Ends with an exception whose text depends on the number of reads."""

    reads = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        self.reads += 1
        return super().feed(chunk)

    def end(self) -> Iterator[Event]:
        raise EOFError(f"The stream ended after {self.reads} reads.")


SSE = [
    made
    for made in list(vars().values())
    if isinstance(made, type) and issubclass(made, SseReader) and made is not SseReader
]


class JsonPerRead(NdjsonReader):
    def feed(self, chunk: bytes) -> Iterator[Any]:
        for line in filter(None, chunk.split(b"\n")):
            yield self.value(line)


class JsonRemainderLost(NdjsonReader):
    def feed(self, chunk: bytes) -> Iterator[Any]:
        yield from super().feed(chunk)
        self.tail = b""


class JsonSplitLines(NdjsonReader):
    def lines(self, data: bytes) -> list[bytes]:
        whole, _, tail = data.rpartition(b"\n")
        return [*(line.encode() for line in whole.decode("utf-8", "replace").splitlines()), tail]


class JsonTailAtEof(NdjsonReader):
    def end(self) -> Iterator[Any]:
        if self.tail:
            yield self.value(self.tail)


class JsonErrorsSkipped(NdjsonReader):
    """Drops what it cannot parse, as if it had never been sent."""

    def feed(self, chunk: bytes) -> Iterator[Any]:
        *lines, self.tail = (self.tail + chunk).split(b"\n")
        for line in lines:
            try:
                yield self.value(line)
            except ValueError:
                continue


class JsonBatchBeforeFault(NdjsonReader):
    """Parses all lines of a read before it hands out the first."""

    def feed(self, chunk: bytes) -> Iterator[Any]:
        return iter(list(super().feed(chunk)))


class JsonHalfCharacterDropped(NdjsonReader):
    def feed(self, chunk: bytes) -> Iterator[Any]:
        return super().feed(chunk.decode("utf-8", "ignore").encode())


class JsonBlankLineRaises(NdjsonReader):
    def feed(self, chunk: bytes) -> Iterator[Any]:
        *lines, self.tail = (self.tail + chunk).split(b"\n")
        return map(json.loads, lines)


NDJSON = [
    made
    for made in list(vars().values())
    if isinstance(made, type) and issubclass(made, NdjsonReader) and made is not NdjsonReader
]
