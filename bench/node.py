"""eventsource-parser, in a node process of its own that is kept: its compiler is warm.

It is told an event, how many of them and how they are read, and answers with the
seconds of CPU that this took; what V8 does in its other threads is counted.
"""

from __future__ import annotations

import atexit
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from . import peers
from .wires import Wire

_SCRIPT = Path(__file__).with_name("node_peer.mjs")


@cache
def _process() -> subprocess.Popen[str]:
    entry = _entry()
    process = subprocess.Popen(
        ["node", str(_SCRIPT), entry], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.kill)
    return process


def _package() -> tuple[Path, dict[str, Any]]:
    folder = peers.node_modules()
    assert folder is not None
    package = folder / peers.NODE_PEER
    return package, json.loads((package / "package.json").read_text())


def _entry() -> str:
    package, description = _package()
    entry: str = description.get("module", description["main"])
    return (package / entry).resolve().as_uri()


def _ask(**question: Any) -> Any:
    process = _process()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def seconds(wire: Wire, *, parse: bool = False) -> float:
    """Return the seconds that the wire takes; with `parse`, each event's JSON is parsed."""
    answer = _ask(event=wire.event.decode(), count=wire.count, read=wire.read, parse=parse)
    assert answer["events"] == wire.count, (wire, answer)
    return float(answer["seconds"])


def events(wire: Wire) -> list[tuple[str, str]]:
    """Return the type and the data of each event."""
    answer = _ask(event=wire.event.decode(), count=wire.count, read=wire.read, keep=True)
    return [(event, data) for event, data in answer["kept"]]


def versions() -> dict[str, str | None]:
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    return {"node": node.stdout.strip(), peers.NODE_PEER: _package()[1]["version"]}
