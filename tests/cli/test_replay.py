"""`untorn replay`: what `read` showed, at the pace at which it came, to the end that it had."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from anyio import current_time

from untorn import Cause, Completed, Interrupted, collect
from untorn.cli.dialects import AUTO
from untorn.cli.recorded import bytes_of
from untorn.dialects.openai_chat import OpenAIChat
from untorn.testing import Ending, RecordedEnd, RecordedResponse, Recording, run_virtual

from .commands import BACKENDS, chat, invoke, plain, serving, untorn
from .recordings import recording, written

WIRE = chat("The", " naïve ", "你好")
BROKEN = RecordedEnd(9.0, "error", "ReadError", "gone")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answer.rec"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the machine has no business on the loopback address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def read(made: Recording, speed: float, backend: str) -> tuple[Any, list[float]]:
    """Return the outcome, and when each read came, in virtual time."""
    times = []

    async def timed() -> Any:
        async for chunk in bytes_of(made, AUTO, speed):
            times.append(current_time() - began)
            yield chunk

    async def main() -> Any:
        nonlocal began
        began = current_time()
        return await collect(timed(), OpenAIChat())

    began = 0.0
    return run_virtual(main, backend=backend), times


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("speed", "times"),
    [(1, [100, 200, 300]), (10, [10, 20, 30]), (0.5, [200, 400, 600]), (0, [0, 0, 0])],
)
def test_the_pace_is_the_recorded_one(backend: str, speed: float, times: list[float]) -> None:
    """Each read comes when it is due, counted from the beginning; or at once."""
    outcome, came = read(recording(WIRE, cuts=[40, 90], step=100), speed, backend)
    assert isinstance(outcome, Completed)
    assert came == pytest.approx(times, abs=0.01)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("speed", [0, 1])
def test_the_end_is_the_recorded_one(backend: str, speed: float) -> None:
    """The exception that was recorded breaks the transport, under its own name."""
    outcome, _ = read(recording(WIRE[:50], end=BROKEN), speed, backend)
    assert isinstance(outcome, Interrupted)
    assert (outcome.cause, repr(outcome.error)) == (Cause.TRANSPORT, "ReadError('gone')")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", [(), ("--json",), ("--dialect", "openai-chat")])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ending": Ending.MISSING_LAST_CHUNK},
        {"ending": Ending.CLOSE, "content_encoding": "gzip"},
        {"status": 401, "headers": {"content-type": "application/json"}},
        {"status": 429, "headers": {"retry-after": "7", "x-request-id": "r1"}},
        {"status": 307, "headers": {"location": "/there?key=1"}},
        {"status": 599, "headers": {"content-type": ""}},
        {"headers": {"content-type": "text/html"}},
    ],
    ids=["whole", "broken", "closed", "401", "429", "307", "599", "page"],
)
def test_it_shows_what_read_showed(
    options: dict[str, Any], how: tuple[str, ...], backend: str, path: Path
) -> None:
    """To the last byte, with the same status, whatever the response was."""
    cut = len(WIRE) if options.get("ending") is None else WIRE.index("你".encode()) + 1
    with serving(WIRE[:cut], cuts=[7, 60], **options) as server:
        live = invoke("read", server.url, "--backend", backend, *how)
        invoke("record", server.url, "-o", str(path))
    replayed = invoke("replay", str(path), "--speed", "0", "--backend", backend, *how)
    assert (replayed.stdout, replayed.stderr) == (live.stdout, live.stderr)
    assert replayed.exit_code == live.exit_code


def test_a_recording_without_a_response_broke_before_it(path: Path) -> None:
    """There is no head to judge."""
    made = recording(b"", response=None, end=RecordedEnd(0.0, "error", "ConnectError", "no"))
    result = invoke("replay", written(path, made))
    assert result.exit_code == 3
    assert "(ConnectError: no) at byte 0" in result.stderr


def test_a_status_has_the_words_of_its_server(path: Path) -> None:
    """Not those that somebody else has for the number."""
    made = recording(b"", response=RecordedResponse(404, "Nothing here"))
    assert "answered 404 Nothing here; " in invoke("replay", written(path, made)).stderr


def test_other_bytes_can_be_recorded(path: Path) -> None:
    """Without a response, what was read is taken as it is: of a socket, of a queue."""
    result = invoke("replay", written(path, recording(WIRE, response=None)))
    assert (result.exit_code, result.stdout) == (0, "The naïve 你好")


def test_one_that_has_no_end_is_interrupted(path: Path) -> None:
    """Unless the answer was complete before the recorder was killed."""
    whole = invoke("replay", written(path, recording(WIRE, killed=True)))
    assert whole.exit_code == 0
    part = invoke("replay", written(path, recording(WIRE[:200], killed=True)))
    assert (part.exit_code, "its recorder was killed" in part.stderr) == (3, True)


def test_a_recording_is_no_capture(path: Path) -> None:
    """`read` says what to type; it reads it as what it is told to."""
    written(path, recording(WIRE))
    result = invoke("read", str(path))
    assert result.exit_code == 2
    assert "that is a recording; untorn replay shows what was recorded" in result.stderr
    lines = invoke("read", str(path), "--dialect", "json-lines")
    assert lines.stdout.startswith('{"untorn": "recording"')
    assert invoke("read", "-", stdin=path.read_bytes()).exit_code == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be opened: No such file"),
        (b"", "cannot be used: it is no recording"),
        (WIRE, "cannot be used: it is no recording: line 1"),
        (b'{"untorn": "recording"', "cannot be used: line 1 is not JSON"),
        (b'{"untorn": "recording", "version": 7}\n', "line 1 has a version"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "timeline"])
def test_what_is_no_recording_is_told(
    command: str, content: bytes | None, says: str, path: Path
) -> None:
    """Status 2, the file and the line."""
    if content is not None:
        path.write_bytes(content)
    result = invoke(command, str(path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr and str(path) in result.stderr


@pytest.mark.parametrize("command", ["replay", "timeline"])
def test_a_broken_recording_is_told(command: str, path: Path) -> None:
    """Base64 that is cut short is the sentence, and no traceback."""
    written(path, recording(WIRE, cuts=[50]))
    head, first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([head, first.replace(b'"}', b'A"}'), *rest]))
    result = invoke(command, str(path))
    assert result.exit_code == 2
    assert "line 2: 'bytes' is not base64." in result.stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--speed", "-1"], "give a positive number, or 0 for at once"),
        (["--speed", "nan"], "give a positive number, or 0 for at once"),
        (["--speed", "inf"], "give a positive number, or 0 for at once"),
        (["--dialect", "nope"], "'nope' is not one of"),
    ],
)
def test_wrong_usage_is_a_sentence(args: list[str], says: str, path: Path) -> None:
    """Status 2."""
    result = invoke("replay", written(path, recording(WIRE)), *args)
    assert (result.exit_code, says in result.stderr) == (2, True)


@pytest.mark.parametrize("args", [["."], ["a\0b"]])
def test_what_cannot_be_opened_is_told(args: list[str]) -> None:
    """A folder; a name that is none."""
    result = invoke("replay", *args)
    assert (result.exit_code, "cannot be opened" in result.stderr) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix shell")
@pytest.mark.parametrize("command", ["replay", "timeline"])
def test_a_pipe_that_nobody_reads_is_left_quietly(command: str, path: Path) -> None:
    """With the status of a shell; and a full disk is told."""
    written(path, recording(WIRE * 200, response=RecordedResponse(200)))
    run = [sys.executable, "-m", "untorn", command, str(path), "--dialect", "sse"]
    script = '"$@" | true; echo "${PIPESTATUS[0]}"; "$@" >/dev/full; echo $?'
    ran = subprocess.run(["bash", "-c", script, "bash", *run], capture_output=True, env=plain())
    assert ran.stdout.split()[0] == b"141"
    assert b"Traceback" not in ran.stderr
    if Path("/dev/full").exists():
        assert ran.stdout.split()[1] == b"1"
        assert b"the output cannot be written: No space left on device." in ran.stderr


def test_a_process_has_its_status(path: Path) -> None:
    """As a user runs it."""
    ran = untorn("replay", written(path, recording(WIRE[:100], end=BROKEN)), "--speed", "0")
    assert (ran.returncode, ran.stdout) == (3, b"The")
