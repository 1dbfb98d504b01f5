"""Measures untorn beside its peers, in one interleaved run: `python -m bench`.

Prints one table and writes one JSON file. `--quick` takes a minute, and is there to see
that something moved; the numbers to quote are those of a full run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from . import fairness, framing, growing, http, many, memory, pipelines, startup
from .measure import FULL, QUICK, Case, Effort, Row
from .peers import left_out, versions
from .table import Table, verdicts
from .targets import Verdict, judged

_HEAD = """\
untorn beside its peers: CPU time, medians of {} interleaved rounds, ± the quartiles.
x2: takes twice what untorn takes. Delays, and a cancel of all streams, are in time of the clock."""

SECTIONS = (framing, pipelines, http, startup, fairness, memory, many, growing)


def main() -> None:
    options = _parser().parse_args()
    effort = QUICK if options.quick else FULL
    if next(cases(effort, options.only), None) is None:
        sys.exit(f"No case has {options.only!r} in its name; try 'framing' or 'pipeline'")
    began, missing = time.perf_counter(), left_out()
    print(_HEAD.format(effort.rounds))
    for name, reason in missing.items():
        print(f"left out: {name}: {reason}")
    failures: list[str] = []
    rows = list(_measured(effort, options.only, failures))
    found = [each for each in judged(rows) if each.measured is not None or options.only is None]
    print("\nWhat untorn should reach\n", *verdicts(found), sep="\n")
    seconds = time.perf_counter() - began
    _write(options.out, options.quick, seconds, missing, rows, found)
    print(f"\n{seconds:.0f} s; written to {options.out}")
    if failures:
        sys.exit("\n".join(("These failed, and their rows are missing:", *failures)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure untorn beside its peers."
    )
    parser.add_argument("--quick", action="store_true", help="less of everything: within a minute")
    parser.add_argument(
        "--only", metavar="PATTERN", help="cases whose name has this in it; may have * and ?"
    )
    parser.add_argument("--out", type=Path, default=Path("bench/results/bench.json"))
    return parser


def cases(effort: Effort, only: str | None) -> Iterator[Case]:
    """Yield the cases that are asked for, in order."""
    for case in chain.from_iterable(section.cases(effort) for section in SECTIONS):
        if only is None or fnmatch(case.name, f"*{only}*"):
            yield case


def _measured(effort: Effort, only: str | None, failures: list[str]) -> Iterator[Row]:
    """Yield all rows; a case that fails is told, and does not take the run with it."""
    table = Table()
    for case in cases(effort, only):
        try:
            for row in case.rows():
                print(*table.lines(row), sep="\n", flush=True)
                yield row
        except Exception as error:
            failures.append(f"{case.name}: {error!r}")
            print(f"  {case.subject:38} failed: {error!r}", flush=True)


def _write(
    path: Path,
    quick: bool,
    seconds: float,
    missing: dict[str, str],
    rows: list[Row],
    found: list[Verdict],
) -> None:
    result = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "quick": quick,
        "seconds": round(seconds),
        "versions": versions(),
        "left_out": missing,
        "rows": [row.as_json() for row in rows],
        "targets": [each.as_json() for each in found],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(result), indent=1, ensure_ascii=False) + "\n", "utf-8")


def _rounded(value: object) -> object:
    """Round every number to what its noise leaves of it: the file is kept."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    main()
