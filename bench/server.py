"""A server for the benchmarks, in a process of its own: events in chunks, at a pace.

`/<events>/<events per chunk>/<microseconds between chunks>/...` says what to send. It
listens on loopback alone and prints its port.
"""

from __future__ import annotations

import socketserver
import sys
import threading
import time

from .wires import CHAT

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)


class Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        target = self.rfile.readline().split()[1]
        size = 0
        while (line := self.rfile.readline().lower()) not in (b"\r\n", b""):
            if line.startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
        self.rfile.read(size)
        events, per_chunk, pause = map(int, target.split(b"/")[1:4])
        self.wfile.write(HEAD)
        time.sleep(0.005)  # so that the client has the head by itself, and waits
        self._send(events, per_chunk, pause / 1e6)

    def _send(self, events: int, per_chunk: int, pause: float) -> None:
        chunk = b"%x\r\n%b\r\n" % (len(CHAT) * per_chunk, CHAT * per_chunk)
        for _ in range(events // per_chunk):
            self.wfile.write(chunk)
            if pause:
                time.sleep(pause)
        self.wfile.write(b"0\r\n\r\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def main() -> None:
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()  # until whoever started it is gone, however it went
        server.shutdown()


if __name__ == "__main__":
    main()
