"""An upstream on real sockets, which notes when whoever asked it has gone."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

__all__ = ["Asked", "Upstream", "upstream"]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class Asked:
    """One connection to it; times are `time.monotonic()`, which all processes share."""

    path: str
    sent: int = 0
    gone: threading.Event = field(default_factory=threading.Event)
    gone_at: float = 0.0


class Upstream:
    """What it answers depends on the path:

    /mute    nothing, not even a head
    /silent  a head, and nothing more
    /one     one event, and nothing more
    /steady  an event every 20 ms, for ever
    /flood   events of 1 KiB as fast as they are taken, for ever
    /count/N N events of 200 bytes, and the one that completes
    /large/N N events of 4 KiB, and the one that completes
    /cut     an event, and half of one
    /broken  half an event
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._asked: dict[str, Asked] = {}
        self._new = threading.Condition()

    def asked(self, path: str) -> Asked:
        """Wait until somebody has asked for a path (they are asked once each, by a query)."""
        with self._new:
            assert self._new.wait_for(lambda: path in self._asked, 10), f"nobody asked for {path}"
            return self._asked[path]

    def was_asked(self, path: str) -> bool:
        """Say whether anybody has asked for a path."""
        return path in self._asked

    def run(self) -> None:
        """Accept until the listener is closed."""
        with suppress(OSError):
            while True:
                accepted, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(accepted,), daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        with accepted:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (part := accepted.recv(65536)):
                    return
                head += part
            asked = Asked(head.split()[1].decode())
            with self._new:
                self._asked[asked.path] = asked
                self._new.notify_all()
            # What lies in the kernel is not to hide what lies with us.
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
            accepted.setblocking(False)
            with suppress(ConnectionError):
                _answer(accepted, asked)
            asked.gone_at = time.monotonic()
            asked.gone.set()


def _answer(to: socket.socket, asked: Asked) -> None:
    kind, _, number = asked.path.partition("?")[0].strip("/").partition("/")
    if kind == "mute":
        _until_gone(to)
        return
    _send(to, HEAD)
    pause = 0.02 if kind == "steady" else 0.0
    for event in _events(kind, number):
        if not _send(to, event, asked) or _is_gone(to, pause):
            return
    if kind in ("silent", "one"):
        _until_gone(to)


def _events(kind: str, number: str) -> Iterator[bytes]:
    match kind:
        case "one":
            yield b"id: 1\ndata: one\n\n"
        case "steady":
            while True:
                yield b"data: again\n\n"
        case "flood":
            while True:
                yield b"data: " + b"x" * 1016 + b"\n\n"
        case "count":
            for n in range(int(number)):
                yield b"id: %d\ndata: %d %s\n\n" % (n, n, b"x" * 200)
            yield b"data: END\n\n"
        case "large":
            for _ in range(int(number)):
                yield b"data: " + b"x" * 4088 + b"\n\n"
            yield b"data: END\n\n"
        case "cut":
            yield b"data: whole\n\ndata: ha"
        case "broken":
            yield b"data: ha"


def _send(to: socket.socket, data: bytes, asked: Asked | None = None) -> bool:
    """Send all of it; return `False` if the other side has gone."""
    while data:
        readable, writable, _ = select.select([to], [to], [])
        if readable and not to.recv(65536):
            return False
        if writable:
            sent = to.send(data)
            data = data[sent:]
            if asked is not None:
                asked.sent += sent
    return True


def _is_gone(to: socket.socket, seconds: float) -> bool:
    readable, _, _ = select.select([to], [], [], seconds)
    return bool(readable) and not to.recv(65536)


def _until_gone(to: socket.socket) -> None:
    while not _is_gone(to, 60):
        pass


@contextmanager
def upstream() -> Iterator[Upstream]:
    """Run one while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = Upstream(listener)
        thread = threading.Thread(target=serving.run, daemon=True)
        thread.start()
        try:
            yield serving
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)
