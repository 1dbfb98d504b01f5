"""Who is compared, and who is left out here because a package is missing."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

# The distributions that the table is about, and the module that each brings.
PEERS = {
    "httpx-sse": "httpx_sse",
    "httpx2": "httpx2",
    "openai": "openai",
    "anthropic": "anthropic",
    "sseclient-py": "sseclient",
    "launchdarkly-eventsource": "ld_eventsource",
    "google-genai": "google.genai",
}
NODE_PEER = "eventsource-parser"
AROUND = ("untorn", "anyio", "trio", "uvloop", "httpx", "jiter")


def importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package above it
        return False


def node_modules() -> Path | None:
    """Return the folder that holds the peer for node, if there is one."""
    places = (os.environ.get("UNTORN_BENCH_NODE_MODULES"), Path(__file__).parent / "node_modules")
    folders = (Path(place) for place in places if place)
    return next((path for path in folders if (path / NODE_PEER).is_dir()), None)


def left_out() -> dict[str, str]:
    """Return the peers that cannot run here, and why not."""
    missing = {
        name: f"`pip install {name}` brings it in"
        for name, module in PEERS.items()
        if not importable(module)
    }
    if shutil.which("node") is None:
        missing[NODE_PEER] = "there is no node on the PATH"
    elif node_modules() is None:
        missing[NODE_PEER] = f"`npm install --prefix bench {NODE_PEER}` brings it in"
    return missing


def versions() -> dict[str, str | None]:
    """Return the versions of all that takes part."""
    found: dict[str, str | None] = {name: _version(name) for name in (*AROUND, *PEERS)}
    return found | _node_versions()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _node_versions() -> dict[str, str | None]:
    from . import node

    return node.versions() if NODE_PEER not in left_out() else {"node": None, NODE_PEER: None}
