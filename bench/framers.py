"""Bytes to events in memory: untorn's stages, its peers, and the floors below them all.

A framer takes chunks and yields batches of its own events, as it makes them: nothing
is added to what it does.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from untorn import Limits
from untorn.dialects import Sse
from untorn.fold import Stages

from .measure import OURS
from .peers import PEERS, importable
from .wires import EVENTS

Batches = Iterator[Iterable[Any]]

# No line of a benchmark is too long for untorn.
LIMITS = Limits(frame_bytes=1 << 28)


@dataclass(frozen=True)
class Framer:
    """A contender: how it reads, and what type and data an event of its own has."""

    name: str
    read: Callable[[Iterable[bytes]], Batches]
    pair: Callable[[Any], tuple[str, str]]
    data: Callable[[Any], str]
    data_only: bool = False

    def reads(self, wire: str) -> bool:
        return not self.data_only or EVENTS[wire].startswith(b"data: ")

    def drain(self, chunks: Iterable[bytes]) -> None:
        for batch in self.read(chunks):
            if type(batch) is not list:
                deque(batch, maxlen=0)

    def feed(self, chunks: Iterable[bytes], take: Callable[[str], object]) -> None:
        """Hand the data of each event to `take`."""
        data = self.data
        for batch in self.read(chunks):
            for event in batch:
                take(data(event))


def _untorn(chunks: Iterable[bytes]) -> Batches:
    stages = Stages(Sse(), LIMITS)
    decode, frame = stages.decoder.feed, stages.framer.feed
    for chunk in chunks:
        for text in decode(chunk):
            for frames in frame(text):
                yield frames[0]


def _httpx_sse(chunks: Iterable[bytes]) -> Batches:
    from httpx_sse._decoders import SSEDecoder, SSELineDecoder

    text = codecs.getincrementaldecoder("utf-8")("replace")  # as httpx does
    lines, events = SSELineDecoder(), SSEDecoder()
    for chunk in chunks:
        yield filter(None, map(events.decode, lines.decode(text.decode(chunk))))


def _httpx2(chunks: Iterable[bytes]) -> Batches:
    from httpx2._sse import _SSEParser

    text = codecs.getincrementaldecoder("utf-8")("replace")
    parser = _SSEParser(LIMITS.frame_bytes)
    for chunk in chunks:
        yield parser.decode(text.decode(chunk))


def _openai(chunks: Iterable[bytes]) -> Batches:
    from openai._streaming import SSEDecoder

    yield SSEDecoder().iter_bytes(iter(chunks))


def _anthropic(chunks: Iterable[bytes]) -> Batches:
    from anthropic._streaming import SSEDecoder

    yield SSEDecoder().iter_bytes(iter(chunks))


def _sseclient(chunks: Iterable[bytes]) -> Batches:
    from sseclient import SSEClient

    yield SSEClient(iter(chunks)).events()


def _launchdarkly(chunks: Iterable[bytes]) -> Batches:
    from ld_eventsource.reader import (  # type: ignore[import-untyped]
        _BufferedLineReader,
        _SSEReader,
    )

    yield _SSEReader(_BufferedLineReader.lines_from(iter(chunks))).events_and_comments()


def _google_genai(chunks: Iterable[bytes]) -> Batches:
    """It reads lines of data only, and takes nothing but a response."""
    import httpx
    from google.genai._api_client import HttpResponse

    class Response(httpx.Response):
        def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]:
            return iter(chunks)

    yield HttpResponse({}, response_stream=Response(200))._iter_response_stream()


def _named(event: Any) -> tuple[str, str]:
    return event.event or "message", event.data


def _data(event: Any) -> str:
    return str(event.data)


_OURS = Framer(OURS, _untorn, lambda frame: (frame[0], frame[1]), lambda frame: frame[1])
_THEIRS = (
    Framer("httpx-sse", _httpx_sse, _named, _data),
    Framer("httpx2", _httpx2, _named, _data),
    Framer("openai", _openai, _named, _data),
    Framer("anthropic", _anthropic, _named, _data),
    Framer("sseclient-py", _sseclient, _named, _data),
    Framer("launchdarkly-eventsource", _launchdarkly, _named, _data),
    Framer("google-genai", _google_genai, lambda data: ("message", data), str, data_only=True),
)


def framers() -> list[Framer]:
    """Return those that can run here, untorn first."""
    return [_OURS, *(each for each in _THEIRS if importable(PEERS[each.name]))]


def bytes_split(chunks: Iterable[bytes], blank_line: bytes) -> None:
    """The floor for framing: blocks of bytes, one kind of line end, no text."""
    rest = b""
    for chunk in chunks:
        *_, rest = (rest + chunk).split(blank_line)


def utf8_decode(chunks: Iterable[bytes]) -> None:
    """The floor for text: what arrived, decoded and dropped."""
    decode, rest = codecs.utf_8_decode, b""
    for chunk in chunks:
        data = rest + chunk
        _, used = decode(data, "replace", False)
        rest = data[used:]
