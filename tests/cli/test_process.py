"""The command as a process: what a shell, a pipe and a terminal see."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dialects.captures import Capture, captures

from untorn import cli

from .commands import chat, invoke, plain, untorn

WIRE = chat("The", " naïve ", "你好")
unix = pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix shell")


def shell(script: str, *args: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a shell script in which `$@` is `untorn` with these arguments."""
    command = ["bash", "-c", script, "bash", sys.executable, "-m", "untorn", *args]
    return subprocess.run(command, capture_output=True, timeout=60, env=plain(), check=False)


@pytest.fixture
def answer(tmp_path: Path) -> str:
    path = tmp_path / "answer.sse"
    path.write_bytes(WIRE)
    return str(path)


@pytest.mark.parametrize("capture", captures("openai-chat", most=700))
def test_a_capture_cut_here_and_there(capture: Capture) -> None:
    """Through a real pipe: whole it is completed, cut in its midst interrupted."""
    whole = untorn("read", "-", input=capture.wire)
    assert whole.returncode == (4 if capture.failed else 0)
    for cut in (0, len(capture.wire) // 3):
        run = untorn("read", "-", input=capture.wire[:cut])
        assert run.returncode == 3
        assert f"Interrupted: The transport ended at byte {cut}, ".encode() in run.stderr


def test_piped_it_is_plain(answer: str) -> None:
    """No escape sequence and no byte that is not the answer's, in any locale."""
    for locale in ("C", "C.UTF-8"):
        environment = plain() | {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        command = [sys.executable, "-m", "untorn", "read", answer]
        run = subprocess.run(command, capture_output=True, env=environment, check=True)
        assert run.stdout == "The naïve 你好".encode()
        assert b"\x1b" not in run.stderr


@unix
def test_a_pipe_that_nobody_reads_is_left_quietly(answer: str) -> None:
    """As `head` leaves it: no word on standard error."""
    for args in (("read", "--json", answer), ("demo", "--fast")):
        run = shell('"$@" | true; echo "${PIPESTATUS[0]}"', *args)
        assert (run.stdout, run.stderr) == (b"141\n", b"")


@unix
def test_notes_that_nobody_reads_are_left_quietly(answer: str) -> None:
    """Standard error may be that pipe."""
    run = shell('"$@" 2>&1 >/dev/null | true; echo "${PIPESTATUS[0]}"', "read", answer)
    assert run.stdout.split() in ([b"141"], [b"0"])  # a pipe takes notes until its reader is gone
    assert run.stderr == b""


@unix
def test_a_full_disk_is_told(answer: str) -> None:
    """Output that cannot be written is neither lost in silence nor a traceback."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    run = shell('"$@" >/dev/full', "read", answer)
    assert run.returncode == 1
    assert b"Error: the output cannot be written: No space left on device." in run.stderr
    assert b"Traceback" not in run.stderr


@unix
def test_closed_streams_are_nowhere(answer: str) -> None:
    """What the shell has closed takes what is written, and gives nothing to read."""
    assert shell('"$@" >&-', "read", answer).returncode == 0
    silent = shell('"$@" 2>&-', "read", answer)
    assert (silent.returncode, silent.stdout) == (0, "The naïve 你好".encode())
    closed = shell('"$@" <&-', "read", "-")
    assert closed.returncode == 2
    assert b"standard input is closed" in closed.stderr


@unix
def test_text_and_notes_share_a_place_line_by_line(answer: str) -> None:
    """Where both go to one file, the outcome begins a line; the text alone stays exact."""
    run = shell('"$@" 2>&1', "read", answer)
    first, second = run.stdout.decode().splitlines()
    assert first == "The naïve 你好"
    assert second.startswith("Completed: ")


@unix
def test_a_pipe_is_read_as_it_fills(answer: str) -> None:
    """Text is written before the input ends, so that one can watch."""
    command = [sys.executable, "-m", "untorn", "read", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=plain()) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(WIRE[: WIRE.index(b"\n\n") + 2])
        process.stdin.flush()
        assert os.read(process.stdout.fileno(), 10) == b"The"
        rest, _ = process.communicate(WIRE[WIRE.index(b"\n\n") + 2 :], timeout=30)
    assert (process.returncode, rest) == (0, " naïve 你好".encode())


@unix
def test_on_a_terminal_it_has_colours_and_no_foreign_ones(tmp_path: Path) -> None:
    """The notes are coloured; what the service sends cannot steer the terminal."""
    path = tmp_path / "answer.sse"
    path.write_bytes(chat("a\\u001b[31mb").replace(b"\\\\", b"\\"))
    controller, terminal = os.openpty()
    environment = {**plain(), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "untorn", "read", str(path)]
    subprocess.run(
        command, stdout=terminal, stderr=terminal, env=environment, check=True, timeout=60
    )
    seen = os.read(controller, 4096)
    os.close(terminal)
    os.close(controller)
    assert seen.startswith(b"a\\x1b[31mb\r\n\x1b[")
    assert b"Completed: " in seen


@unix
def test_on_a_terminal_the_prompt_begins_a_line(answer: str) -> None:
    """Where the notes go elsewhere, the text is followed by a line end."""
    controller, terminal = os.openpty()
    command = [sys.executable, "-m", "untorn", "read", answer]
    subprocess.run(command, stdout=terminal, stderr=subprocess.DEVNULL, check=True, timeout=60)
    seen = os.read(controller, 4096)
    os.close(terminal)
    os.close(controller)
    assert seen == "The naïve 你好\r\n".encode()


def test_the_version_and_the_help() -> None:
    """Both name what is there; the help has examples."""
    assert untorn("--version").stdout.split() == [b"untorn,", b"version", b"0.1.0"]
    top = invoke("--help").stdout
    assert "demo" in top and "read" in top and "untorn read answer.sse" in top
    detailed = invoke("read", "-h").stdout
    assert "--dialect" in detailed and "head -c 2000" in detailed
    assert "--fast" in invoke("demo", "--help").stdout


def test_without_the_extra_it_says_what_to_install() -> None:
    """One plain sentence and status 2."""
    code = "import sys; sys.modules['httpx2'] = None; from untorn.cli import main; main()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert run.returncode == 2
    sentence = "The command line of untorn needs httpx2: pip install 'untorn[cli]'"
    assert run.stderr.decode().splitlines() == [sentence]


@pytest.mark.parametrize("name", ["click", "rich"])
def test_whatever_is_missing_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name is that of the package."""
    ours = [module for module in sys.modules if module.startswith("untorn.cli.")]
    theirs = [module for module in sys.modules if module.startswith(f"{name}.")]
    for module in (*ours, *theirs):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith(f"The command line of untorn needs {name}: pip ")


def test_a_stream_that_is_closed_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has `None` for it; what is written to it then goes nowhere."""
    written = []

    def write(**_: object) -> None:
        written.append([stream.write("x") for stream in (sys.stdout, sys.stderr)])
        sys.stdout.close()
        sys.stderr.close()

    monkeypatch.setattr("untorn.cli.group.group", write)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    cli.main()
    assert written == [[1, 1]]


def test_another_missing_module_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not blamed on the extra."""
    monkeypatch.setitem(sys.modules, "untorn.cli.group", None)
    with pytest.raises(ModuleNotFoundError, match=r"untorn\.cli\.group"):
        cli.main()


def test_ctrl_c_at_the_very_start_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even before the first command runs."""
    from untorn.cli import group

    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(group, "group", interrupted)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 130


def test_python_m_is_the_same_program() -> None:
    """`python -m untorn` runs `main`, and importing the module does not."""
    run = [sys.executable, "-m", "untorn", "--version"]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("untorn")
    imported = [sys.executable, "-c", "import untorn.__main__"]
    assert not subprocess.run(imported, capture_output=True, check=True).stdout
