"""A service on this machine that streams an answer, for the examples to read."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, BaseServer, ThreadingTCPServer
from threading import Thread

ANSWER = (
    "data: Once upon a time\n\n"
    "data: , 从前,\n\n"
    "data:  there was a 🦊.\n\n"
    "data: [DONE]\n\n"
).encode()  # fmt: skip


@contextmanager
def http_service(body: bytes) -> Iterator[str]:
    """Answer each request with `body`, three bytes at a time, and close; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for start in range(0, len(body), 3):
                self.wfile.write(body[start : start + 3])

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, running(server):
        yield f"http://127.0.0.1:{server.server_port}/"


@contextmanager
def tcp_service(body: bytes) -> Iterator[int]:
    """Send `body` to whoever connects, and close; yield the port."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(body)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server, running(server):
        yield server.server_address[1]


@contextmanager
def running(server: BaseServer) -> Iterator[None]:
    """Serve in a thread until the block is left."""
    thread = Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
