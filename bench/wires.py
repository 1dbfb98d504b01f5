"""The streams that are read: one event repeated, and what a read of it may hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

CHAT = (
    b'data: {"id":"chatcmpl-9xKq2mVbT1","object":"chat.completion.chunk","created":1780000000,'
    b'"model":"a-model-2026-05-01","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,'
    b'"delta":{"content":" hello"},"logprobs":null,"finish_reason":null}],"usage":null}\n\n'
)
CJK = CHAT.replace(b" hello", " 你好，世界 🙂".encode())
PAIR = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" hi"}}\n\n'
)
MIXED = b'id: 17\nevent: update\ndata: {"a": 1,\ndata:  "b": "two"}\n\n'
MULTI_LINE = b'data: {"a": "the first line",\ndata: "b": "the second line",\ndata: "c": 3}\n\n'
TINY = b'data: {"t":"a"}\n\n'
BIG = b'data: {"text":"' + b"x" * 16_366 + b'"}\n\n'
HUGE = b'data: {"text":"' + b"x" * 102_382 + b'"}\n\n'

EVENTS = {
    "chat": CHAT,
    "pair": PAIR,
    "mixed": MIXED,
    "multi-line": MULTI_LINE,
    "tiny": TINY,
    "CRLF": CHAT.replace(b"\n", b"\r\n"),
    "CJK": CJK,
    "16 KiB": BIG,
    "100 KiB": HUGE,
}

# Bytes per read; 0 stands for one event per read.
READS = (0, 1460, 65536, 1)
_READ_NAMES = {0: "1 event", 1: "1 byte", 1024: "1 KiB", 65536: "64 KiB", 1 << 20: "1 MiB"}


@dataclass(frozen=True)
class Wire:
    """`count` events in reads of `read` bytes (0: one event per read)."""

    name: str
    read: int
    count: int

    @property
    def event(self) -> bytes:
        return EVENTS[self.name]

    @property
    def label(self) -> str:
        return label(self.name, self.read)

    def chunks(self) -> list[bytes]:
        return list(cut(self.event * self.count, self.read or len(self.event)))


def label(name: str, read: int) -> str:
    return f"{name} @ {_READ_NAMES.get(read, str(read))}"


def cut(body: bytes, read: int) -> Iterator[bytes]:
    """Yield the body in reads of `read` bytes."""
    return (body[at : at + read] for at in range(0, len(body), read))


def least(name: str, read: int) -> int:
    """Return how many events make four reads, or one event where it takes many reads."""
    return max(1, 4 * read // len(EVENTS[name])) if read != 1 else 1
