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
    "chat-crlf": CHAT.replace(b"\n", b"\r\n"),
    "cjk": CJK,
    "pair": PAIR,
    "mixed": MIXED,
    "multi-line": MULTI_LINE,
    "tiny": TINY,
    "16k": BIG,
    "100k": HUGE,
}


@dataclass(frozen=True)
class Wire:
    """`count` events in reads of `read` bytes (0: one event per read)."""

    name: str
    read: int
    count: int

    @property
    def label(self) -> str:
        return f"{self.name} @ {self.read or '1 event'}"

    def chunks(self) -> list[bytes]:
        event = EVENTS[self.name]
        if not self.read:
            return [event] * self.count
        body = event * self.count
        return [body[at : at + self.read] for at in range(0, len(body), self.read)]


def wires(bytes_each: int, names: tuple[str, ...], reads: tuple[int, ...]) -> Iterator[Wire]:
    """Return a wire of about `bytes_each` bytes for each event and size of read."""
    for name in names:
        for read in reads:
            size = bytes_each // 20 if read == 1 else bytes_each
            yield Wire(name, read, max(1, size // len(EVENTS[name])))
