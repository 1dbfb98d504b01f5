"""Bytes to frames, nothing else: untorn's stages, its peers, and the floors.

A contender takes chunks and returns how many frames it made of them.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from untorn.sse import SseFramer
from untorn.text import Utf8Decoder

Framer = Callable[[Iterable[bytes]], int]


def untorn(chunks: Iterable[bytes]) -> int:
    decoder, framer, count = Utf8Decoder("replace"), SseFramer(16 << 20), 0
    for chunk in chunks:
        for text in decoder.feed(chunk):
            for frames in framer.feed(text):
                count += len(frames.items)
    return count


def httpx_sse(chunks: Iterable[bytes]) -> int:
    from httpx_sse._decoders import SSEDecoder, SSELineDecoder

    text = codecs.getincrementaldecoder("utf-8")("replace")
    lines, events, count = SSELineDecoder(), SSEDecoder(), 0
    for chunk in chunks:
        for line in lines.decode(text.decode(chunk)):
            count += events.decode(line) is not None
    return count


def openai(chunks: Iterable[bytes]) -> int:
    from openai._streaming import SSEDecoder

    return sum(1 for _ in SSEDecoder().iter_bytes(iter(chunks)))


def anthropic(chunks: Iterable[bytes]) -> int:
    from anthropic._streaming import SSEDecoder

    return sum(1 for _ in SSEDecoder().iter_bytes(iter(chunks)))


def sseclient(chunks: Iterable[bytes]) -> int:
    from sseclient import SSEClient

    class Source(list[bytes]):
        def close(self) -> None: ...

    return sum(1 for _ in SSEClient(Source(chunks)).events())


def launchdarkly(chunks: Iterable[bytes]) -> int:
    reader = import_module("ld_eventsource.reader")
    lines = reader._BufferedLineReader.lines_from(iter(chunks))
    return sum(1 for _ in reader._SSEReader(lines).events_and_comments)


def bytes_split(chunks: Iterable[bytes]) -> int:
    """The floor: LF only, blocks of bytes, no text."""
    rest, count = b"", 0
    for chunk in chunks:
        *blocks, rest = (rest + chunk).split(b"\n\n")
        count += len(blocks)
    return count


_NEEDS = {
    httpx_sse: "httpx_sse",
    openai: "openai",
    anthropic: "anthropic",
    sseclient: "sseclient",
    launchdarkly: "ld_eventsource",
}


def contenders() -> dict[str, Framer]:
    """Return those that can run here."""
    found: dict[str, Framer] = {"untorn": untorn}
    for framer, module in _NEEDS.items():
        if _importable(module):
            found[framer.__name__.replace("_", "-")] = framer
    return found | {"bytes.split": bytes_split}


def _importable(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        return None
