"""The examples run, against services on loopback."""

import runpy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest

from untorn.http import connect

pytest.importorskip("httpx2")

EXAMPLES = Path(__file__).parents[1] / "examples"
WHOLE = b"data: whole\n\ndata: [DONE]\n\n"


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


class Service(ThreadingHTTPServer):
    """Sends one body after the other, and remembers which event was asked for."""

    def __init__(self, bodies: list[bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.bodies = iter(bodies)
        self.asked_for: list[str | None] = []


class Answer(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.server.asked_for.append(self.headers["Last-Event-ID"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(next(self.server.bodies))

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def service(*bodies: bytes) -> Iterator[tuple[str, Service]]:
    with Service(list(bodies)) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", server
        finally:
            server.shutdown()
            thread.join()


def first_whole_answer(*bodies: bytes, backend: str = "asyncio") -> str | None:
    with ExitStack() as running:
        urls = [running.enter_context(service(body))[0] for body in bodies]
        ask = example("first_whole_answer")["first_whole_answer"]
        answer: str | None = anyio.run(ask, urls, backend=backend)
        return answer


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_only_a_whole_answer_is_taken(backend: str) -> None:
    """A cut answer never wins, and without a whole one there is none."""
    cut = WHOLE[:-1]
    assert first_whole_answer(cut, WHOLE, cut, backend=backend) == "whole"
    assert first_whole_answer(cut, cut, backend=backend) is None


def test_a_feed_is_resumed_where_it_broke(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the last event that it has seen whole, on any connection and in the next run."""
    monkeypatch.setitem(connect.__kwdefaults__, "random", lambda: 0.0)
    first = b"retry: 1\nid: 7\ndata: seven\n\nid: 8\nda"
    second = b"id: 7\ndata: seven\n\nid: 8\ndata: eight\n\ndata: [DONE]\n\n"
    follow, kept = example("resume")["follow"], anyio.Path(tmp_path / "id")
    with service(first, b"", second, second) as (url, server):
        anyio.run(follow, url, kept)
        anyio.run(follow, url, kept)
    assert server.asked_for == [None, "7", "7", "8"]
    assert (tmp_path / "id").read_text() == "8"
    first_run, second_run = capsys.readouterr().out.split("8 message: [DONE]\n", 1)
    assert first_run == (
        "[connected, behind nothing]\n7 message: seven\n"
        "[again in 0.0 s: The transport ended at byte 36, inside a frame]\n"
        "[connected, behind 7]\n"
        "[again in 0.0 s: The transport ended at byte 0, between frames,"
        " before the completion marker]\n"
        "[connected, behind 7]\n8 message: eight\n"
    )
    assert second_run.startswith("[connected, behind 8]\n")
