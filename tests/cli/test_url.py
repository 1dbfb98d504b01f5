"""`untorn read URL`: requests, responses that are no streams, connections that break."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx2
import pytest

from untorn.cli.request import Request
from untorn.cli.source import ResponseBytes
from untorn.testing import ChaosServer, Ending

from .commands import BACKENDS, chat, invoke, objects, plain, serving

WIRE = chat("The", " naïve ", "你好")
LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the machine has no business on the loopback address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", [(), ("--dialect", "openai-chat")], ids=["auto", "named"])
def test_a_live_endpoint_is_read(backend: str, how: tuple[str, ...]) -> None:
    """One byte per read: the same text, and status 0."""
    with serving(WIRE, cuts=range(1, len(WIRE))) as server:
        result = invoke("read", server.url, "--backend", backend, *how)
    assert (result.exit_code, result.stdout_bytes) == (0, "The naïve 你好".encode())
    assert server.requests[0].method == "GET"
    assert server.requests[0].headers["accept"].startswith("text/event-stream")


def test_the_content_type_decides_the_framing() -> None:
    """Lines of JSON are told by their media type and read as such; a content coding is undone."""
    line = '\n{"message": {"content": "你好"}, "done": true}\n'.encode()
    with serving(line, headers=LINES, content_encoding="gzip") as server:
        result = invoke("read", server.url)
    assert (result.exit_code, result.stdout) == (0, "你好")


def test_the_request_is_the_one_asked_for(tmp_path: Path) -> None:
    """Method, headers and body are sent, and no header is shown."""
    body = tmp_path / "request.json"
    body.write_bytes('{"q": "你"}'.encode())
    key = ("--header", "Authorization: Bearer SECRET", "--header", "X-Note:ü")
    with serving(WIRE) as server:
        posted = invoke("read", server.url, "--data", f"@{body}", *key)
        put = invoke("read", server.url, "--data", "a", "--method", "PUT", "--header", "accept: b")
    first, second = server.requests
    assert (first.method, first.body) == ("POST", body.read_bytes())
    assert first.headers["authorization"] == "Bearer SECRET"
    assert first.headers["x-note"].encode("latin-1") == "ü".encode()
    assert first.headers["content-type"] == "application/json"
    assert (second.method, second.body, second.headers["accept"]) == ("PUT", b"a", "b")
    assert posted.exit_code == put.exit_code == 0
    assert "SECRET" not in posted.output


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", [(), ("--dialect", "openai-chat")], ids=["auto", "named"])
def test_another_status_is_a_failure(backend: str, how: tuple[str, ...]) -> None:
    """Status 4, and what the server says in one readable line."""
    said = rb'{"error": "no \u001b[31mkey"}'
    with serving(said, status=401, headers={"content-type": "application/json"}) as server:
        result = invoke("read", server.url, "--backend", backend, *how)
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.splitlines() == [
        "Failed: The server answered 401 Unauthorized: no [31mkey; check the key that was sent "
        "[http-status]."
    ]


def test_a_redirect_is_told_and_not_followed() -> None:
    """Whoever follows it takes the headers to another host."""
    headers = {"location": "http://other.example/v2?key=SECRET"}
    with serving(b"", status=307, headers=headers) as server:
        result = invoke("read", server.url)
    assert result.exit_code == 4
    assert "answered 307 Temporary Redirect; let" in result.stderr
    assert "or ask http://other.example/v2 instead" in result.stderr
    assert "SECRET" not in result.output


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
@pytest.mark.parametrize("how", [(), ("--dialect", "openai-chat")], ids=["auto", "named"])
def test_another_media_type_is_a_failure(kind: str, how: tuple[str, ...]) -> None:
    """A page or an error under status 200 is no stream, and is shown in short."""
    page = b"<html>\n" + b"word " * 5000
    with serving(page, headers={"content-type": kind}) as server:
        result = invoke("read", server.url, *how)
        *_, outcome = objects(invoke("read", server.url, "--json", *how).stdout)
    assert result.exit_code == 4
    assert f"The server answered 200 with {kind.split(';')[0]}, not " in result.stderr
    assert "pipe the body into `untorn read -`" in result.stderr
    assert len(result.stderr) < 800
    assert outcome["error"]["code"] == "content-type"
    assert outcome["error"]["body"].startswith("<html>")


def test_a_status_without_a_name_is_shown_as_it_is() -> None:
    """Not every number has a phrase, and not every answer says something."""
    with serving(b"", status=599, headers={"content-type": ""}) as server:
        result = invoke("read", server.url)
    assert result.exit_code == 4
    assert "answered 599; ask again later" in result.stderr


def test_no_media_type_is_no_objection() -> None:
    """A server that does not say is believed to stream."""
    with serving(WIRE, headers={"content-type": ""}) as server:
        assert invoke("read", server.url).exit_code == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("ending", [Ending.MISSING_LAST_CHUNK, Ending.RESET, Ending.CLOSE])
def test_a_connection_that_breaks_is_interrupted(backend: str, ending: Ending) -> None:
    """Status 3, whatever the end looks like on the wire."""
    cut = WIRE.index("你".encode()) + 1
    with serving(WIRE[:cut], ending=ending) as server:
        result = invoke("read", server.url, "--backend", backend)
    assert result.exit_code == 3
    assert f"at byte {cut}, inside a character" in result.stderr
    assert result.stdout == "The naïve "


@pytest.mark.parametrize("backend", BACKENDS)
def test_nobody_there_is_interrupted(backend: str) -> None:
    """A connection that is refused has broken before the first byte."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    result = invoke("read", f"http://127.0.0.1:{port}/", "--backend", backend)
    assert result.exit_code == 3
    assert "Interrupted: The transport broke (ConnectError" in result.stderr
    assert "Kept: nothing" in result.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_silence_is_interrupted(backend: str) -> None:
    """The clocks count from the request on, before the first frame too."""
    with serving(WIRE[:20], ending=Ending.SILENCE) as server:
        result = invoke("read", server.url, "--idle", "1.5", "--backend", backend)
    assert result.exit_code == 3
    assert "No byte came within the time of the clock idle at byte 20" in result.stderr


def until_read(server: ChaosServer, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the first text has been written."""
    assert process.stdout is not None
    assert os.read(process.stdout.fileno(), 3) == b"The"


def until_asked(server: ChaosServer, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the request has arrived."""
    while not server.requests:
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("size", "wait", "says"),
    [(100, until_read, b"Kept: 1 event, 3 characters"), (20, until_asked, b"")],
    ids=["reading", "looking"],
)
def test_ctrl_c_ends_it(
    backend: str,
    size: int,
    wait: Callable[[ChaosServer, "subprocess.Popen[bytes]"], None],
    says: bytes,
) -> None:
    """Status 130, no traceback, and what there was is said."""
    with serving(WIRE[:size], ending=Ending.SILENCE) as server:
        command = [sys.executable, "-m", "untorn", "read", server.url, "--backend", backend]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=plain()) as process:
            wait(server, process)
            process.send_signal(signal.SIGINT)
            _, notes = process.communicate(timeout=30)
    assert process.returncode == 130
    assert says in notes
    assert b"Traceback" not in notes


def test_a_request_does_not_show_itself() -> None:
    """Not even in a traceback of somebody else."""
    request = Request(
        "GET", httpx2.URL("http://h/?key=SECRET"), httpx2.Headers({"a": "SECRET"}), b""
    )
    assert repr(request) == "Request(GET)"


def test_a_request_that_was_never_sent_is_closed() -> None:
    """There is nothing to close then."""
    request = Request("GET", httpx2.URL("http://h/"), httpx2.Headers(), None)
    anyio.run(ResponseBytes(request, frozenset({"*/*"})).aclose)
