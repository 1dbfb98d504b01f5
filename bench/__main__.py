"""Runs all benchmarks in one go: `python -m bench [--quick]`."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import framers, memory, pipelines
from .measure import Row, interleaved
from .wires import EVENTS, wires

PEER = "httpx-sse"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer bytes and rounds")
    parser.add_argument("--out", type=Path, default=Path("bench/results/bench.json"))
    options = parser.parse_args()
    size, rounds = (200_000, 3) if options.quick else (1_000_000, 7)
    rows = []
    print(f"CPU time, medians of {rounds} interleaved rounds; x: times as fast as the peer\n")
    for row in (*framing(size, rounds), *flowing(size, rounds), *opening(rounds)):
        print(line(row))
        rows.append(row)
    held = dict(holding(200 if options.quick else 1000))
    for backend, bytes_each in held.items():
        print(f"memory of an idle open stream, {backend}: {bytes_each / 1024:.1f} KiB")
    write(options.out, rows, held)


def framing(size: int, rounds: int) -> Iterator[Row]:
    """Yield the rows of framing alone."""
    found = framers.contenders()
    for wire in wires(size, tuple(EVENTS), (0, 1460, 65536)):
        chunks = wire.chunks()
        runs = {
            name: partial(framer, chunks)
            for name, framer in found.items()
            if wire.name != "100k" or name in ("untorn", PEER, "bytes.split")
        }
        yield interleaved("framing", wire.label, wire.count, runs, rounds)


def flowing(size: int, rounds: int) -> Iterator[Row]:
    """Yield the rows of whole readers, framing only and with JSON."""
    for backend in pipelines.BACKENDS:
        for measure, readers in (("pipeline", pipelines.FRAMES), ("with JSON", pipelines.JSON)):
            for wire in wires(size, ("chat",), (0, 1460, 65536)):
                chunks, count = wire.chunks(), wire.count
                runs = {
                    name: partial(pipelines.run, backend, reader, chunks, count)
                    for name, reader in readers.items()
                }
                yield interleaved(f"{measure}, {backend}", wire.label, count, runs, rounds)


def opening(rounds: int) -> Iterator[Row]:
    """Yield the cost of opening and closing a stream."""
    for backend in pipelines.BACKENDS:
        yield memory.open_and_close(backend, 300, rounds)


def holding(count: int) -> Iterator[tuple[str, float]]:
    """Yield the memory of an idle stream."""
    for backend in pipelines.BACKENDS:
        yield backend, memory.per_stream(backend, count)


def line(row: Row) -> str:
    """Return a row as text: untorn's time, and how it compares with each peer."""
    peers = [name for name in row.ns if name != "untorn"]
    compared = "  ".join(f"{name} x{row.ratio(name):.2f}" for name in peers)
    return f"{row.measure:20} {row.subject:22} {row.median('untorn'):9.0f} ns  {compared}"


def write(path: Path, rows: list[Row], held: dict[str, float]) -> None:
    """Write all that was measured, and on what."""
    names = ("untorn", "anyio", "trio", "uvloop", "httpx", "httpx-sse", "openai", "anthropic")
    path.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {name: _version(name) for name in names},
        "rows": [row.as_json() for row in rows],
        "bytes_per_idle_stream": held,
    }
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten to {path}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
