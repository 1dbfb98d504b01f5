"""The gateway relays an answer to a page, and keeps what came of it, whole or cut."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")
pytest.importorskip("uvicorn")

import httpx2
import uvicorn

from untorn import Completed, Outcome
from untorn.dialects import Sse
from untorn.http import stream
from untorn.relay import says_completed
from untorn.testing import ChaosServer, Ending, chaos_server

from .programs import functions, program, served, until

GATEWAY = functions("gateway")
ANSWER = GATEWAY["DEMO_ANSWER"] + " "
KEY = "sk-very-secret"


@dataclass(frozen=True)
class Gateway:
    """A gateway that runs."""

    url: str
    process: subprocess.Popen[str]

    def ask(self, *, leave_at: str | None = None) -> tuple[str, Outcome[Any]]:
        """Ask as a page does, and maybe leave at a word; return the text and how it ended."""
        return anyio.run(self._ask, leave_at)

    async def _ask(self, leave_at: str | None) -> tuple[str, Outcome[Any]]:
        dialect, text = Sse(complete_when=says_completed), ""
        async with (
            httpx2.AsyncClient() as client,
            stream(client, "GET", f"{self.url}/ask?question=why", dialect=dialect) as events,
        ):
            async for event in events.events():
                text += json.loads(event.data).get("text", "")
                if leave_at and leave_at in text:
                    break
        assert events.outcome is not None
        return text, events.outcome

    def row(self) -> dict[str, Any]:
        """Wait for the one row."""
        (row,) = until(lambda: httpx2.get(f"{self.url}/answers").json())
        return dict(row)

    def stop(self) -> str:
        """Stop it, and return what it has printed."""
        self.process.terminate()
        return self.process.communicate(timeout=10)[0]


@contextmanager
def gateway(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[Gateway]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = (*arguments, "--port", port, "--db", folder / "db")
    with program("gateway", *options, env=env) as running:
        url = f"http://127.0.0.1:{port}"
        until(lambda: answers(url))
        yield Gateway(url, running)


def answers(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return httpx2.get(url).status_code == 200
    return False


def test_a_whole_answer_reaches_the_page_and_the_database(tmp_path: Path) -> None:
    """With what it cost."""
    with gateway(tmp_path, "--demo") as running:
        text, outcome = running.ask()
        row = running.row()
    assert text == ANSWER
    assert isinstance(outcome, Completed)
    assert row == {
        "question": "why",
        "answer": ANSWER,
        "status": "whole",
        "ended": "stop",
        "delivered": 1,
        "usage": '{"completion_tokens": 16}',
    }


def test_what_a_page_did_not_wait_for_is_kept_as_cut(tmp_path: Path) -> None:
    """As much of it as had come, and no more: the upstream was closed."""
    with gateway(tmp_path, "--demo") as running:
        text, _ = running.ask(leave_at="closes")
        row = running.row()
    assert row["answer"].startswith(text)
    assert ANSWER.startswith(row["answer"])
    assert len(row["answer"]) < len(ANSWER) / 2
    assert (row["status"], row["ended"], row["delivered"]) == ("cut", "abandoned", 0)


def test_an_answer_that_is_open_when_the_gateway_has_to_stop_is_kept(tmp_path: Path) -> None:
    """The server cancels its request, and ends the application in the same moment."""
    anyio.run(stop_in_an_answer, tmp_path / "db")
    with closing(sqlite3.connect(tmp_path / "db")) as database:
        rows = database.execute("select status, ended, delivered from answers").fetchall()
    assert rows == [("cut", "cancelled", 0)]


async def stop_in_an_answer(database: Path) -> None:
    app = GATEWAY["make_app"](None, database)
    server = uvicorn.Server(uvicorn.Config(app, port=0, timeout_graceful_shutdown=0))
    async with anyio.create_task_group() as group, httpx2.AsyncClient() as client:
        group.start_soon(server.serve)
        while not server.started:
            await anyio.lowlevel.checkpoint()
        port = server.servers[0].sockets[0].getsockname()[1]
        async with client.stream("GET", f"http://127.0.0.1:{port}/ask?question=why") as response:
            with suppress(httpx2.RemoteProtocolError):
                async for _ in response.aiter_raw():
                    server.should_exit = True


def cut_service() -> ChaosServer:
    pieces = GATEWAY["demo_pieces"]()
    return chaos_server(b"".join(pieces[:7]), ending=Ending.LAST_CHUNK)


def test_an_answer_that_the_service_cut_is_told_and_kept_as_cut(tmp_path: Path) -> None:
    """Though its response ended as a whole one does."""
    with served(cut_service()) as service, gateway(tmp_path, "--url", service.url) as running:
        text, outcome = running.ask()
        row = running.row()
    assert not isinstance(outcome, Completed)
    assert row["answer"] == text != ANSWER
    assert ANSWER.startswith(text)
    assert (row["status"], row["ended"], row["delivered"]) == ("cut", "eof", 1)
    asked = json.loads(service.requests[0].body)
    assert asked["messages"] == [{"role": "user", "content": "why"}]
    assert asked["stream_options"] == {"include_usage": True}


def test_a_service_that_refuses_is_a_status(tmp_path: Path) -> None:
    """And a row without an answer."""
    refusing = chaos_server(b'{"error": {"message": "no such key"}}', status=401)
    with served(refusing) as service, gateway(tmp_path, "--url", service.url) as running:
        response = httpx2.get(f"{running.url}/ask?question=why")
        row = running.row()
    assert response.status_code == 502
    assert "no such key" not in response.text
    assert (row["answer"], row["status"], row["ended"]) == ("", "none", "http-status")


def test_a_service_that_cannot_be_reached_has_cut_nothing(tmp_path: Path) -> None:
    """There is no answer, and the row says why."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with gateway(tmp_path, "--url", f"http://127.0.0.1:{port}/") as running:
        status = httpx2.get(f"{running.url}/ask?question=why").status_code
        row = running.row()
    assert status == 502
    assert (row["answer"], row["status"], row["ended"]) == ("", "none", "transport")


def test_the_key_goes_to_the_service_and_nowhere_else(tmp_path: Path) -> None:
    """Not to the page, the database, the output, nor any representation."""
    env = {"OPENAI_API_KEY": KEY}
    with (
        served(cut_service()) as service,
        gateway(tmp_path, "--url", service.url, env=env) as running,
    ):
        page = httpx2.get(f"{running.url}/ask?question=why")
        running.row()
        written = running.stop() + page.text + str(page.headers)
    assert service.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "GET /ask" in written
    assert KEY not in written
    assert KEY.encode() not in (tmp_path / "db").read_bytes()
    assert KEY not in repr(GATEWAY["Service"]("u", "m", KEY))
