"""Ctrl-C: status 130 and not a word, however often it comes."""

import os
import signal
import subprocess
import sys
import time

import pytest

from untorn.cli.ctrl_c import counting_once, is_ctrl_c

from .commands import BACKENDS, plain

unix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
GAPS = (0.0, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.015, 0.03)


def interrupted_twice(*args: str, gap: float) -> tuple[int, str]:
    """Start to read a pipe, send two SIGINTs; return the status and standard error."""
    command = [sys.executable, "-m", "untorn", *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=plain()) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"data: one\n\n")
        process.stdin.flush()
        assert os.read(process.stdout.fileno(), 3) == b"one"
        process.send_signal(signal.SIGINT)
        time.sleep(gap)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        return process.returncode, said.decode()


@unix
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_two_are_as_good_as_one(backend: str, gap: float) -> None:
    """The outcome is told, and no traceback and no warning, wherever the second one comes."""
    args = ("read", "--dialect", "text-sse", "--backend", backend, "-")
    status, said = interrupted_twice(*args, gap=gap)
    assert status == 130
    first, *rest = said.strip().splitlines()
    assert first.startswith("Interrupted: ") and [line[:5] for line in rest] == ["Kept:"]


@unix
def test_only_the_first_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second is not heard; one that comes after a second of time ends the process."""
    now, handed, ended = [0.0], [], []
    monkeypatch.setattr("untorn.cli.ctrl_c.monotonic", lambda: now[0])
    monkeypatch.setattr("untorn.cli.ctrl_c.os._exit", ended.append)
    before = signal.signal(signal.SIGINT, lambda *_: handed.append(now[0]))
    try:
        with counting_once():
            for now[0] in (1.0, 1.5, 2.0, 2.1):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (handed, ended) == ([1.0], [130])


@unix
def test_without_ctrl_c_nothing_is_left() -> None:
    """The handler of before is the handler of after; where there is none, nothing is done."""
    before = signal.getsignal(signal.SIGINT)
    with counting_once():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with counting_once():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_is_found_in_groups() -> None:
    """On trio it comes out of task groups."""
    inner = BaseExceptionGroup("", [KeyboardInterrupt(), ValueError()])
    assert is_ctrl_c(KeyboardInterrupt()) and is_ctrl_c(BaseExceptionGroup("", [inner]))
    assert not is_ctrl_c(ValueError()) and not is_ctrl_c(ExceptionGroup("", [ValueError()]))
