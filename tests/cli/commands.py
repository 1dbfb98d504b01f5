"""What the tests of the command line share: ways to run it, and a server to read from."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import start_blocking_portal
from click.testing import CliRunner, Result

from untorn.cli.group import group
from untorn.testing import ChaosServer, chaos_server

BACKENDS = ["asyncio", "trio"]

# From click 8.2 on the two outputs are kept apart without being told.
_APART = "mix_stderr" in inspect.signature(CliRunner).parameters
RUNNER = CliRunner(**({"mix_stderr": False} if _APART else {}))


def invoke(*args: str, stdin: bytes | None = None) -> Result:
    """Run `untorn` in this process."""
    return RUNNER.invoke(group, args, input=stdin, prog_name="untorn")


def untorn(*args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m untorn` as a user would, its output piped."""
    command = [sys.executable, "-m", "untorn", *args]
    return subprocess.run(command, capture_output=True, timeout=60, env=plain(), **options)


def plain() -> dict[str, str]:
    """Return the environment without what asks for colours or for other warnings."""
    asks = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "CLICOLOR_FORCE", "PYTHONWARNINGS")
    return {name: value for name, value in os.environ.items() if name not in asks}


def objects(output: str) -> list[dict[str, Any]]:
    """Return the lines of `--json`."""
    return [json.loads(line) for line in output.splitlines()]


@contextmanager
def serving(wire: bytes, **options: Any) -> Iterator[ChaosServer]:
    """Serve `wire` on the loopback address, from a thread."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(chaos_server(wire, **options)) as server,
    ):
        yield server


def chat(*texts: str, finish: str | None = "stop", done: bool = True) -> bytes:
    """Return an answer of OpenAI's chat completions."""
    frames = [json.dumps(_chunk({"content": text}), ensure_ascii=False) for text in texts]
    if finish is not None:
        frames.append(json.dumps(_chunk({}, finish)))
    if done:
        frames.append("[DONE]")
    return "".join(f"data: {frame}\n\n" for frame in frames).encode()


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
