"""`untorn serve`: the chaos server for a client in any language."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest

from untorn.cli import serve as serve_module
from untorn.testing import Ending, RecordedEnd, RecordedResponse, boundaries, seeded

from .commands import chat, invoke, plain
from .functions import HTTP
from .recordings import recording, written

WIRE = chat("naïve ", "你好")


@pytest.fixture
def answer(tmp_path: Path) -> str:
    path = tmp_path / "answer.sse"
    path.write_bytes(WIRE)
    return str(path)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The servers that would have been run."""
    servers: list[Any] = []
    monkeypatch.setattr(serve_module, "run", lambda main, backend: servers.append(main.args[0]))
    return servers


@contextmanager
def start(*args: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Run the command; it is killed if the test leaves it running."""
    command = [sys.executable, "-m", "untorn", "serve", *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=plain()) as process:
        try:
            yield process
        finally:
            process.kill()


def address(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    url = process.stdout.readline().decode().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
    return url


def test_it_serves_so_many_requests_and_tells_of_each(answer: str) -> None:
    """The address on standard output, the requests on standard error, then status 0."""
    with start(answer, "--every", "9", "--requests", "2") as process:
        url = address(process)
        with HTTP.open(f"{url}v1/chat?x=1", timeout=30) as response:
            assert response.read() == WIRE
        with HTTP.open(url, data=b"ask", timeout=30) as response:
            assert response.headers["content-type"] == "text/event-stream"
        rest, notes = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, b"")
    assert notes.decode().splitlines() == [
        "1. GET /v1/chat?x=1 (connection 1)",
        "2. POST /, 3 bytes (connection 2)",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_ends_it_quietly(answer: str) -> None:
    """With 130, and without a word, even while a client is waiting."""
    with start(answer, "--until", "20", "--ending", "silence") as process:
        url = address(process)
        with HTTP.open(url, timeout=30) as response:
            assert response.read(20) == WIRE[:20]
            process.send_signal(signal.SIGINT)
            rest, notes = process.communicate(timeout=30)
    assert (process.returncode, rest) == (130, b"")
    assert notes == b"1. GET / (connection 1)\n"


def test_a_torn_answer_is_torn(answer: str) -> None:
    """What is served is what was asked for, and then the connection breaks."""
    with start(answer, "--until", "30", "--ending", "missing-last-chunk", "--once") as process:
        url = address(process)
        with pytest.raises(IncompleteRead) as broken:
            HTTP.open(url, timeout=30).read()
        assert process.wait(timeout=30) == 0
        process.communicate()
    assert broken.value.partial == WIRE[:30]


@pytest.mark.parametrize(
    ("options", "cuts"),
    [
        ([], []),
        (["--every", "50"], range(50, len(WIRE), 50)),
        (["--at", "7", "--at", "3"], [3, 7]),
        (["--bytewise"], range(1, len(WIRE))),
        (["--seeded", "4", "--seed", "9"], boundaries(seeded(WIRE, 4, 9))),
    ],
    ids=["whole", "every", "at", "bytewise", "seeded"],
)
def test_cuts(options: list[str], cuts: Any, answer: str, served: list[Any]) -> None:
    """Each option cuts where it says."""
    assert invoke("serve", answer, *options).exit_code == 0
    (server,) = served
    assert b"".join(server._response.pieces) == WIRE
    assert list(boundaries(server._response.pieces)) == list(cuts)


@pytest.mark.parametrize("ending", Ending)
def test_endings(ending: Ending, answer: str, served: list[Any]) -> None:
    """All six, by their names."""
    invoke("serve", answer, "--ending", ending.value)
    assert served[0]._response.ending is ending


def test_other_options(answer: str, served: list[Any]) -> None:
    """Status, headers, encoding, delay, pings and port are handed on."""
    options = ("--status=503", "--encoding=gzip", "--delay=0.5", "--ping=2", "--port=8123")
    header = "Content-Type: application/json"
    assert invoke("serve", answer, *options, "--once", "--header", header).exit_code == 0
    (server,) = served
    response = server._response
    assert (response.status, response.content_encoding) == (503, "gzip")
    assert response.headers == {"content-type": "application/json"}
    assert (server._delays, server._ping_seconds, server.port, server.most) == (0.5, 2, 8123, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--every", "3", "--bytewise"], "give one of --every, --at, --bytewise and --seeded"),
        (["--at", "99999"], f"--at lies beyond the {len(WIRE)} bytes served"),
        (["--once", "--requests", "2"], "give --once or --requests, not both"),
        (["--header", "no colon"], "write it as 'Name: value', on one line"),
        (["--header", "a: b\r\nc: d"], "write it as 'Name: value', on one line"),
        (["--delay", "nan"], "give a number of seconds"),
        (["--ending", "happy"], "'happy' is not one of"),
    ],
)
def test_wrong_usage(options: list[str], says: str, answer: str, served: list[Any]) -> None:
    """Status 2 and a plain sentence; nothing is served."""
    result = invoke("serve", answer, *options)
    assert (result.exit_code, served) == (2, [])
    assert says in result.stderr


def test_a_port_that_is_taken_is_told(answer: str) -> None:
    """It is not blamed on the output."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = invoke("serve", answer, "--port", str(port))
    assert result.exit_code == 1
    assert f"the port {port} cannot be listened on: " in result.stderr


# --- a recording --------------------------------------------------------------------


@pytest.fixture
def taped(tmp_path: Path) -> str:
    """A recording of a refused request, in three reads, that broke off."""
    response = RecordedResponse(503, "Busy", "application/json", {"server": "s"})
    end = RecordedEnd(9.0, "error", "ReadError", "")
    made = recording(WIRE, cuts=[20, 90], step=2.0, response=response, end=end)
    return written(tmp_path / "answer.rec", made)


def test_a_recording_is_served_as_it_came(taped: str, served: list[Any]) -> None:
    """Its status, its media type, its cuts, its times, and the end that comes closest."""
    assert invoke("serve", taped).exit_code == 0
    (server,) = served
    response = server._response
    assert list(boundaries(response.pieces)) == [20, 90]
    assert (list(server._delays), response.status) == ([2.0, 2.0, 2.0], 503)
    assert response.headers == {"content-type": "application/json"}
    assert response.ending is Ending.MISSING_LAST_CHUNK


def test_what_is_told_goes_before_what_was_recorded(taped: str, served: list[Any]) -> None:
    """Other cuts have no recorded times; a delay, an end, a status and a header are one's own."""
    header = ("--header", "Content-Type: text/plain")
    options = ("--status=200", "--ending=last-chunk", "--delay=0", *header)
    assert invoke("serve", taped, *options, "--until", "60").exit_code == 0
    assert invoke("serve", taped, "--every", "50").exit_code == 0
    first, second = served
    assert (first._response.status, first._response.ending) == (200, Ending.LAST_CHUNK)
    assert first._response.headers == {"content-type": "text/plain"}
    assert list(boundaries(first._response.pieces)) == [20]
    assert b"".join(first._response.pieces) == WIRE[:60]
    assert (first._delays, second._delays) == (0.0, 0.0)
    assert list(boundaries(second._response.pieces)) == list(range(50, len(WIRE), 50))


def test_a_client_gets_the_recording(tmp_path: Path) -> None:
    """Over a real socket: the bytes, and the end."""
    made = written(tmp_path / "a.rec", recording(WIRE, cuts=[20], step=0.05))
    with start(made, "--once") as process:
        with HTTP.open(address(process), timeout=30) as response:
            assert response.read() == WIRE
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_broken_recording_is_not_served(taped: str, served: list[Any]) -> None:
    """It is told, and not served as if it were a capture."""
    path = Path(taped)
    path.write_bytes(path.read_bytes().replace(b'"at": 2.0', b'"at": "x"'))
    result = invoke("serve", taped)
    assert (result.exit_code, served) == (2, [])
    assert "line 2: 'at' is not a number" in result.stderr


@pytest.mark.parametrize("line", ["X Y: 1", "X : 1", ": 1", "X", "X: a\x00", "X: a\r\nb: c"])
def test_headers_follow_the_rule_of_requests(answer: str, line: str) -> None:
    """What `read --header` refuses, `serve --header` refuses in the same words."""
    said = "write it as 'Name: value', on one line."
    for command in (("serve", answer), ("read", "http://127.0.0.1:1/")):
        result = invoke(*command, "--header", line)
        assert result.exit_code == 2
        assert said in result.stderr


def test_headers_are_sent_in_utf_8(answer: str, served: list[Any]) -> None:
    """As those of a request are; names in small letters."""
    assert invoke("serve", answer, "--header", "X-City: 北京").exit_code == 0
    assert "\r\nx-city: 北京\r\n".encode() in served[0]._response.head()


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_no_option_waits_for_what_is_no_time(answer: str, seconds: str) -> None:
    """One rule for all options that are given seconds."""
    for option in ("--delay", "--ping"):
        assert invoke("serve", answer, option, seconds).exit_code == 2
    for option in ("--idle", "--total"):
        assert invoke("read", answer, option, seconds).exit_code == 2
