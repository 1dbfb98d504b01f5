"""`untorn record`: the file, what it holds, what it never holds, and how it ends."""

import base64
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from untorn.testing import ChaosServer, Ending, read_recording

from .commands import BACKENDS, chat, invoke, plain, serving

WIRE = chat("The", " naïve ", "你好")
SECRET = "sk-SECRET-1234"
unix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the machine has no business on the loopback address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answer.rec"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_what_came_is_recorded(backend: str, encoding: str | None, path: Path) -> None:
    """Every byte behind its content coding, in reads whose times never go back, and the end."""
    with serving(WIRE, cuts=[20, 90], delays=0.02, content_encoding=encoding) as server:
        result = invoke("record", f"{server.url}v1", "-o", str(path), "--backend", backend)
    recording = read_recording(path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert (recording.wire, recording.error) == (WIRE, None)
    assert recording.request.url == f"{server.url}v1"
    assert recording.response is not None
    assert recording.response.content_type == "text/event-stream"
    size = f"{len(recording.pieces)} reads, {len(WIRE)} bytes in "
    assert re.match(f"Recorded: {size}\\d\\.\\d\\d seconds.\nCompleted: ", result.stderr)


@unix
def test_the_file_is_its_owners_alone(path: Path) -> None:
    """Mode 0600, whatever the umask."""
    with serving(WIRE) as server:
        invoke("record", server.url, "-o", str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_there_is_kept(path: Path) -> None:
    """It is wrong usage, told before anything is asked; --force writes over it."""
    path.write_text("before")
    with serving(WIRE) as server:
        result = invoke("record", server.url, "-o", str(path))
        assert (result.exit_code, path.read_text(), server.requests) == (2, "before", [])
        assert f"{str(path)!r} is there; --force writes over it." in result.stderr
        assert invoke("record", server.url, "-o", str(path), "--force").exit_code == 0
    assert read_recording(path).wire == WIRE


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_transport_that_breaks_is_recorded(backend: str, path: Path) -> None:
    """Its exception is the end, and the status is that of the outcome."""
    cut = WIRE.index("你".encode()) + 1
    with serving(WIRE[:cut], ending=Ending.MISSING_LAST_CHUNK) as server:
        result = invoke("record", server.url, "-o", str(path), "--backend", backend)
    recording = read_recording(path)
    assert result.exit_code == 3
    assert "(RemoteProtocolError: " in result.stderr
    assert f"at byte {cut}, inside a character" in result.stderr
    assert recording.wire == WIRE[:cut]
    assert recording.end is not None
    assert (recording.end.how, recording.end.type) == ("error", "RemoteProtocolError")


# Between two reads httpx2 leaves a generator to the garbage collector, which trio reports.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--idle", "0.4"), "no byte came for 0.4 seconds"),
        (("--total", "0.4"), "0.4 seconds were over"),
        (("--total", "0.4", "--idle", "9"), "0.4 seconds were over"),
        (("--total-bytes", "20"), "more than 20 bytes came"),
    ],
)
def test_what_is_left_is_told(backend: str, option: tuple[str, ...], says: str, path: Path) -> None:
    """Where the recorder leaves, the recording says why, and the status is 3."""
    with serving(WIRE[:30], ending=Ending.SILENCE) as server:
        result = invoke("record", server.url, "-o", str(path), *option, "--backend", backend)
    recording = read_recording(path)
    assert result.exit_code == 3
    assert f"(RecordingStopped: {says})" in result.stderr
    assert recording.wire == WIRE[: 20 if "--total-bytes" in option else 30]
    assert recording.end is not None
    assert (recording.end.how, recording.end.message) == ("interrupted", says)


def test_as_many_bytes_as_allowed_are_none_too_many(path: Path) -> None:
    """The bound is passed by the first byte beyond it."""
    with serving(WIRE) as server:
        result = invoke("record", server.url, "-o", str(path), f"--total-bytes={len(WIRE)}")
    assert (result.exit_code, read_recording(path).wire) == (0, WIRE)
    assert read_recording(path).error is None


def test_a_silent_server_is_left(path: Path) -> None:
    """A clock counts before the response, too: then there is none."""
    from socket import create_server

    with create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        result = invoke("record", url, "-o", str(path), "--idle", "0.3")
    recording = read_recording(path)
    assert (result.exit_code, recording.response, recording.pieces) == (3, None, ())


def test_nobody_there_is_recorded(path: Path) -> None:
    """No response, and why."""
    from socket import create_server

    with create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    result = invoke("record", url, "-o", str(path))
    recording = read_recording(path)
    assert (result.exit_code, recording.response) == (3, None)
    assert recording.end is not None and recording.end.type == "ConnectError"


def test_a_response_that_is_no_stream_is_recorded_whole(path: Path) -> None:
    """And judged as `read` judges it."""
    page = b'{"error": "no such model"}' + b" " * 9000
    kind = {"content-type": "application/json", "retry-after": "7"}
    with serving(page, status=429, headers=kind) as server:
        result = invoke("record", server.url, "-o", str(path))
        live = invoke("read", server.url)
    recording = read_recording(path)
    assert (result.exit_code, recording.wire) == (4, page)
    assert recording.response is not None
    assert (recording.response.status, recording.response.reason) == (429, "Too Many Requests")
    assert result.stderr.partition("\n")[2] == live.stderr
    assert "no such model; ask again in 7 s" in live.stderr


def test_a_coding_that_nobody_decodes_is_told(path: Path) -> None:
    """Nothing is recorded that a reader would take for the bytes themselves."""
    with serving(WIRE, headers={"content-encoding": "secret-coding"}) as server:
        result = invoke("record", server.url, "-o", str(path))
    assert (result.exit_code, read_recording(path).pieces) == (3, ())
    assert "nothing here can decode 'secret-coding'" in result.stderr


def test_the_dialect_is_the_one_that_is_told(path: Path) -> None:
    """What was recorded is judged by it; to record, it does not matter."""
    with serving(WIRE) as server:
        result = invoke("record", server.url, "-o", str(path), "--dialect", "sse")
    assert (result.exit_code, read_recording(path).wire) == (3, WIRE)


# --- secrets ------------------------------------------------------------------------

BASIC = base64.b64encode(f"user:{SECRET}".encode()).decode()


def shown(text: str) -> list[str]:
    """Return what a text shows of the secret."""
    return [secret for secret in (SECRET, BASIC, "SECRET") if secret in text]


def endings(server: ChaosServer, path: Path) -> list[list[str]]:
    """Return the arguments of runs that hold a secret in every place."""
    host = server.url.partition("//")[2]
    url = f"http://user:{SECRET}@{host}v1?key={SECRET}&k2=${{UNTORN_TEST_KEY}}#{SECRET}"
    given = [
        "--header", f"X-Token: Bearer {SECRET}", "--header", "X-Key: ${UNTORN_TEST_KEY}",
        "--header", f"Cookie: session={SECRET}", "--data", f'{{"key": "{SECRET}"}}',
    ]  # fmt: skip
    record = ["record", url, "-o", str(path), "--force", "--idle", "0.5", *given]
    return [record, ["read", url, "--idle", "0.5", *given], ["read", url, "--json", *given]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"status": 401, "headers": {"content-type": "application/json"}},
        {"headers": {"content-type": "text/html", "set-cookie": f"id={SECRET}"}},
        {"status": 307, "headers": {"location": f"http://u:{SECRET}@h/?key={SECRET}"}},
        {"ending": Ending.MISSING_LAST_CHUNK},
        {"ending": Ending.RESET},
        {"headers": {"x-echo": SECRET, "content-encoding": "unheard-of"}},
    ],
    ids=["good", "refused", "page", "redirect", "broken", "reset", "undecodable"],
)
def test_a_secret_is_sent_and_nowhere_else(
    options: dict[str, object], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not on standard output, not among the notes, not in the file; good runs and bad ones."""
    monkeypatch.setenv("UNTORN_TEST_KEY", SECRET)
    with serving(WIRE, **options) as server:
        for args in endings(server, path):
            result = invoke(*args)
            assert result.exit_code in (0, 3, 4)
            assert not shown(result.output + result.stderr), args[0]
    asked = server.requests[0]
    assert asked.headers["x-key"] == SECRET
    assert asked.headers["authorization"] == f"Basic {BASIC}"
    assert f"k2={SECRET}" in asked.target
    assert SECRET.encode() in asked.body
    assert not shown(path.read_text())
    for args in (["replay", str(path), "--json"], ["timeline", str(path)]):
        result = invoke(*args)
        assert not shown(result.output + result.stderr)


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("at", range(len(SECRET) + 1))
def test_what_a_service_repeats_is_not_recorded(status: int, at: int, path: Path) -> None:
    """Not even in two reads; as many asterisks are, so that every byte stays where it was."""
    said = f'{{"error": "no such key: {SECRET}"}} {SECRET[:5]}'.encode()
    cut = said.index(SECRET.encode()) + at
    assert said.endswith(b"sk-SE")  # the beginning of a key at the very end is none
    kind = {"content-type": "application/json"}
    with serving(said, status=status, headers=kind, cuts=[cut], delays=0.01) as server:
        header = ("--header", f"Authorization: Bearer {SECRET}")
        result = invoke("record", server.url, "-o", str(path), *header)
    assert read_recording(path).wire == said.replace(SECRET.encode(), b"*" * len(SECRET))
    assert (result.exit_code, SECRET in result.stderr) == (4, False)


def test_what_a_service_repeats_in_its_head_is_not_recorded(path: Path) -> None:
    """Nor in any of the fields that are kept."""
    kept = ("content-type", "x-request-id", "via", "location")
    with serving(WIRE, headers=dict.fromkeys(kept, f"text/event-stream; a={SECRET}")) as server:
        invoke("record", server.url, "-o", str(path), "--header", f"X-Key: {SECRET}")
    response = read_recording(path).response
    assert response is not None
    assert {response.content_type, *(response.headers[name] for name in kept[1:])} == {
        f"text/event-stream; a={'*' * len(SECRET)}"
    }
    assert not shown(path.read_text())


@pytest.mark.parametrize(
    "args",
    [
        ["--header", "X-Api: ${UNTORN_TEST_KEY}"],
        ["--data", '{"key": "${UNTORN_TEST_KEY}"}'],
        ["--data", "${UNTORN_TEST_KEY}", "--header", "User-Agent: ${UNTORN_TEST_KEY}"],
    ],
)
@pytest.mark.parametrize("at", ["", "${UNTORN_TEST_KEY}/v1", "?k=${UNTORN_TEST_KEY}"])
@pytest.mark.parametrize("status", [200, 400])
def test_what_is_put_in_is_secret(
    args: list[str], at: str, status: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is sent, and whatever its name is."""
    key = "a/b+SECRET é"
    monkeypatch.setenv("UNTORN_TEST_KEY", key)
    forms = [key, "a%2Fb%2BSECRET%20%C3%A9", json.dumps(key)[1:-1]]
    kind = {"content-type": "text/plain", "via": forms[1]}
    with serving(" ".join(forms).encode(), status=status, headers=kind) as server:
        recorded = invoke("record", f"{server.url}{at}", "-o", str(path), *args)
        read = invoke("read", f"{server.url}{at}", *args)
    assert (recorded.exit_code, read.exit_code) == (4, 4)
    said = recorded.output + recorded.stderr + read.stderr + path.read_text()
    assert "SECRET" not in said
    assert b"SECRET" not in read_recording(path).wire


@pytest.mark.parametrize(
    ("wire", "key", "filler"),
    [
        (b'{"created": 1234567, "code": 1234567.5}', "1234567", "1"),
        (b'{"created": 1111111, "at": [1111111]}', "1111111", "2"),
        ('{"k": "schl\xfcssel"}'.encode("latin-1"), "schl\xfcssel", "*"),
        ('{"k": "schl\xfcssel"}'.encode(), "schl\xfcssel", "*"),
        (rb'{"k": "\"quoted\\"}', '"quoted\\', "*"),
    ],
)
def test_what_is_hidden_leaves_json_what_it_was(
    wire: bytes, key: str, filler: str, path: Path
) -> None:
    """A number is one still, and so is a text; in either encoding."""
    with serving(wire, headers={"content-type": "application/json"}) as server:
        invoke("record", server.url, "-o", str(path), "--header", f"X-Key: {key}")
    recorded = read_recording(path).wire.decode("latin-1")
    assert len(recorded) == len(wire)
    assert json.loads(recorded).keys() == json.loads(wire.decode("latin-1")).keys()
    assert key not in recorded and filler * 7 in recorded


@pytest.mark.parametrize("command", ["read", "record"])
@pytest.mark.parametrize(
    "args",
    [
        ["http://127.0.0.1:1/", "--header", f"X: {SECRET}${{UNTORN_TEST_NONE}}"],
        ["http://127.0.0.1:1/", "--data", f"{SECRET}${{UNTORN_TEST_NONE}}"],
        [f"http://127.0.0.1:1/{SECRET}?key=${{UNTORN_TEST_NONE}}"],
    ],
    ids=["header", "data", "url"],
)
def test_a_variable_that_is_not_set_is_named(command: str, args: list[str], path: Path) -> None:
    """And nothing else of what was given is."""
    output = ["-o", str(path)] if command == "record" else []
    result = invoke(command, *args, *output)
    assert (result.exit_code, path.exists()) == (2, False)
    assert "the environment variable UNTORN_TEST_NONE is not set." in result.stderr
    assert SECRET not in result.stderr


def test_a_variable_is_put_in_where_it_stands(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In values and not in names; quoted in a URL; never in a file or twice."""
    monkeypatch.setenv("UNTORN_TEST_KEY", "a&b=${HOME}")
    body = tmp_path / "body"
    body.write_bytes(b"${UNTORN_TEST_KEY}")
    args = ("--header", "X: <${UNTORN_TEST_KEY}> $HOME ${}", "--data", f"@{body}")
    with serving(WIRE) as server:
        invoke("read", f"{server.url}?k=${{UNTORN_TEST_KEY}}", *args)
        invoke("read", server.url, "--data", "${UNTORN_TEST_KEY}")
    first, second = server.requests
    assert first.headers["x"] == "<a&b=${HOME}> $HOME ${}"
    assert first.target == "/?k=a%26b%3D%24%7BHOME%7D"
    assert (first.body, second.body) == (b"${UNTORN_TEST_KEY}", b"a&b=${HOME}")


def test_a_variable_cannot_end_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line end in it is refused as one that is given, and not shown."""
    monkeypatch.setenv("UNTORN_TEST_KEY", f"{SECRET}\r\nX: y")
    result = invoke("read", "http://127.0.0.1:1/", "--header", "A: ${UNTORN_TEST_KEY}")
    assert result.exit_code == 2
    assert "write it as 'Name: value'" in result.stderr and SECRET not in result.stderr


@pytest.mark.parametrize("command", ["read", "record"])
def test_half_a_header_is_not_repeated(command: str) -> None:
    """A header without its quotes is several arguments, one of which is the key."""
    args = ("http://127.0.0.1:1/", "--header", "Authorization:", "Bearer", SECRET)
    result = invoke(command, *args, *(["-o", "x"] if command == "record" else []))
    assert result.exit_code == 2
    assert "2 too many arguments; put quotes around each" in result.stderr
    assert SECRET not in result.stderr


@pytest.mark.parametrize("command", ["read", "record"])
def test_a_proxy_that_cannot_be_used_is_not_shown(
    command: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its user and password are part of its URL."""
    monkeypatch.setenv("HTTP_PROXY", f"gopher://{SECRET}:{SECRET}@h")
    output = ["-o", str(path)] if command == "record" else []
    result = invoke(command, "http://127.0.0.1:1/", *output)
    assert (result.exit_code, path.exists()) == (2, False)
    assert "look at HTTP_PROXY" in result.stderr and SECRET not in result.stderr


# --- what can go wrong --------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["http://127.0.0.1:1/"], "Missing option '-o' / '--output'"),
        (["-o", "x"], "Missing argument 'URL'"),
        (["answer.sse", "-o", "x"], "give an http:// or https:// URL with a host"),
        (["http://127.0.0.1:1/", "-o", "missing/x"], "'missing/x' cannot be written: No such"),
        (["http://127.0.0.1:1/", "-o", "."], "'.' cannot be written: it is not a regular file"),
        (["http://127.0.0.1:1/", "-o", "a\0b"], "embedded null"),
        (["http://127.0.0.1:1/", "-o", "x", "--idle", "0"], "give a positive number of seconds"),
    ],
)
def test_wrong_usage_is_a_sentence(args: list[str], says: str) -> None:
    """Status 2, and nothing is written."""
    result = invoke("record", *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not Path("x").exists()


@unix
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A device is left alone, too."""
    result = invoke("record", "http://127.0.0.1:1/", "-o", "/dev/null", "--force")
    assert (result.exit_code, "not a regular file" in result.stderr) == (2, True)
    if os.getuid():
        tmp_path.chmod(0o500)
        result = invoke("record", "http://127.0.0.1:1/", "-o", str(tmp_path / "x"))
        assert (result.exit_code, "Permission denied" in result.stderr) == (2, True)


@unix
def test_a_full_disk_is_told(path: Path) -> None:
    """It is not blamed on the service."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with serving(WIRE * 50) as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
        try:
            result = invoke("record", server.url, "-o", str(path))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.exit_code == 1
    assert "Error: the output cannot be written: File too large." in result.stderr


def until_read(path: Path, server: ChaosServer) -> None:
    while not path.exists() or path.read_bytes().count(b"\n") < 2:
        time.sleep(0.02)


def until_asked(path: Path, server: ChaosServer) -> None:
    while not server.requests:
        time.sleep(0.02)


@unix
@pytest.mark.parametrize("backend", BACKENDS)
def test_ctrl_c_leaves_what_had_come(backend: str, path: Path) -> None:
    """Status 130, no traceback, and a recording that says that it was stopped."""
    ran, notes = stopped(signal.SIGINT, path, until_read, "--backend", backend)
    recording = read_recording(path)
    assert (ran, b"Traceback" in notes) == (130, False)
    assert notes.startswith(b"Recorded: 1 read, 100 bytes in ")
    assert recording.wire == WIRE[:100]
    assert recording.end is not None and recording.end.how == "interrupted"


@unix
def test_one_that_is_killed_leaves_a_recording(path: Path) -> None:
    """Without its last line; the reads count, and a replay says that it has no end."""
    ran, _ = stopped(signal.SIGKILL, path, until_read)
    assert ran == -signal.SIGKILL
    assert (read_recording(path).wire, read_recording(path).end) == (WIRE[:100], None)
    result = invoke("replay", str(path), "--speed", "0")
    assert result.exit_code == 3
    assert "The recording has no end; its recorder was killed" in result.stderr


def stopped(
    how: signal.Signals, path: Path, wait: Callable[[Path, ChaosServer], None], *options: str
) -> tuple[int, bytes]:
    """Record a server that falls silent, and stop it once there is what is waited for."""
    with serving(WIRE[:100], ending=Ending.SILENCE) as server:
        command = [sys.executable, "-m", "untorn", "record", server.url, "-o", str(path)]
        pipe = subprocess.PIPE
        with subprocess.Popen([*command, *options], stderr=pipe, env=plain()) as process:
            wait(path, server)
            process.send_signal(how)
            _, notes = process.communicate(timeout=30)
    return process.returncode, notes


@unix
def test_a_terminal_sees_how_much_there_is(path: Path) -> None:
    """While it comes; what it draws is gone when the outcome is told."""
    controller, terminal = os.openpty()
    environment = {**plain(), "TERM": "xterm-256color", "NO_PROXY": "127.0.0.1"}
    with serving(WIRE, cuts=[50], delays=0.3) as server:
        command = [sys.executable, "-m", "untorn", "record", server.url, "-o", str(path)]
        subprocess.run(command, stderr=terminal, env=environment, check=True, timeout=60)
    seen = os.read(controller, 65536)
    os.close(terminal)
    os.close(controller)
    assert b"Waiting for the response" in seen
    assert seen.index(b"1 read, 50 bytes in ") < seen.index(b"Recorded: 2 reads")
