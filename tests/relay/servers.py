"""Real servers, each a process of its own on a free port of the loopback address."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

__all__ = ["SERVERS", "Server", "need", "serve"]

# What takes the name of an application and the port, by the name of the server.
_COMMANDS = {
    "uvicorn": "uvicorn --loop asyncio --host 127.0.0.1 --port {port} --log-level warning"
    " --timeout-graceful-shutdown 1 {app}",
    "uvicorn-uvloop": "uvicorn --loop uvloop --host 127.0.0.1 --port {port} --log-level warning"
    " --timeout-graceful-shutdown 1 {app}",
    "hypercorn": "hypercorn -k asyncio -b 127.0.0.1:{port} --graceful-timeout 1 {app}",
    "hypercorn-trio": "hypercorn -k trio -b 127.0.0.1:{port} --graceful-timeout 1 {app}",
    "granian": "granian --interface asgi --no-ws --host 127.0.0.1 --port {port} --workers 1"
    " --workers-kill-timeout 3 --log-level warning {app}",
}
SERVERS = list(_COMMANDS)
START_SECONDS = 30.0
STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        """The address of its root, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Ask it to shut down, as a terminal or a container does, and wait until it has."""
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def need(name: str) -> None:
    """Skip the test where the server is not installed."""
    for module in (name.partition("-")[0], *name.split("-")[1:]):
        pytest.importorskip(module)


@contextmanager
def serve(
    name: str, app: Path, folder: Path, *, env: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Serve the ASGI application `app` of a Python file while the block runs.

    What it prints goes into a file in `folder`.
    """
    need(name)
    log = folder / f"{name}.log"
    with log.open("ab") as output:
        server = _start(name, app, log, output, {**os.environ, **(env or {})})
        try:
            yield server
        finally:
            server.stop()


def _start(name: str, app: Path, log: Path, output: IO[bytes], env: dict[str, str]) -> Server:
    port = _free_port()
    command = _COMMANDS[name].format(port=port, app=f"{app.stem}:app").split()
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=app.parent,
        env={**env, "PYTHONPATH": os.pathsep.join((str(app.parent), *_paths(env)))},
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    server = Server(name, port, process, log)
    try:
        _wait(server)
    except BaseException:
        server.stop()
        raise
    return server


def _paths(env: Mapping[str, str]) -> list[str]:
    """Return where the tests find their modules: the server runs in another directory."""
    paths = env.get("PYTHONPATH", "").split(os.pathsep)
    return [str(Path(path).resolve()) for path in paths if path]


def _free_port() -> int:
    """Return a port that nobody uses; somebody may before we do."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _wait(server: Server) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{server.name} did not start:\n{server.log.read_text()}")
