"""Writes the tables of the documentation from the kept run: `python -m bench.page [bench.json]`.

The numbers of `docs/explanation/speed.rst` are those of `bench/results/latest.json`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .measure import OURS, Row
from .plot import LATEST, svg
from .table import number

DOCS = Path(__file__).parents[1] / "docs"
TABLES = DOCS / "explanation" / "speed_tables.inc"
PICTURE = DOCS / "_static" / "speed.svg"

_HEADER = ".. Written by `python -m bench.page`; a test compares it with the run that is kept.\n"

_TIMES = (
    ("framing", "Framing alone", "ns an event"),
    ("framing + JSON", "Framing and JSON", "ns an event"),
    ("parse()", "``parse()`` and whole synchronous readers", "ns an event"),
    ("pipeline, asyncio", "Three tasks on asyncio", "ns an event"),
    ("pipeline, uvloop", "Three tasks on uvloop", "ns an event"),
    ("pipeline, trio", "Three tasks on trio", "ns an event"),
    ("pipeline + JSON, asyncio", "Three tasks and JSON, asyncio", "ns an event"),
    ("pipeline + JSON, uvloop", "Three tasks and JSON, uvloop", "ns an event"),
    ("pipeline + JSON, trio", "Three tasks and JSON, trio", "ns an event"),
    ("HTTP, asyncio", "Over HTTP on loopback, asyncio", "µs an event"),
    ("HTTP, uvloop", "Over HTTP on loopback, uvloop", "µs an event"),
    ("HTTP, trio", "Over HTTP on loopback, trio", "µs an event"),
)

_SHORT = {
    "launchdarkly-eventsource": "launch\u00addarkly",
    "eventsource-parser": "eventsource-parser (node)",
    "sseclient-py": "sseclient",
}


def tables(result: dict[str, Any]) -> str:
    """Return the content of the file that the page includes."""
    rows = [Row.from_json(kept) for kept in result["rows"]]
    lines = [
        _HEADER,
        *_measured_with(result),
        *_times(rows),
        *_costs(rows),
        *_growth(rows),
        *_targets(result["targets"]),
    ]
    return "\n".join(lines)


def _measured_with(result: dict[str, Any]) -> Iterator[str]:
    found = [f"{name} {version}" for name, version in result["versions"].items() if version]
    if result["quick"]:
        yield from ("**These are the numbers of a quick run, and rough.**", "")
    yield f"Python {result['python']} on {result['machine']}, with {', '.join(found)}."
    yield ""
    for name, reason in result["left_out"].items():
        yield f"``{name}`` did not take part: {reason}."
        yield ""


def _targets(targets: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield from _title("What it should reach")
    yield (
        "The targets were set from prototypes of several designs, before the library was built. "
        "What is missed is in bold."
    )
    yield ""
    yield _summary([each["verdict"] for each in targets])
    yield ""
    head = ("target", "at least", "aim", "measured", "verdict")
    yield from _table(head, (_target(**each) for each in targets))


def _summary(verdicts: Sequence[str]) -> str:
    missed = sum("missed" in verdict for verdict in verdicts)
    aims, met = verdicts.count("aim"), verdicts.count("met")
    return (
        f"Of {len(verdicts)} targets {aims} reach their aim, "
        f"{met} are met, and {missed} are missed. A ratio says how many times what untorn takes "
        "the other takes."
    )


def _target(target: dict[str, Any], measured: float | None, verdict: str) -> tuple[str, ...]:
    sign = "≤" if target["most"] else "≥"
    bounds = (target["least"], target["aim"])
    least, aim = ("" if bound is None else f"{sign} {bound:.3g}" for bound in bounds)
    found = "" if measured is None else f"{measured:.3g}"
    return target["name"], least, aim, found, f"**{verdict}**" if "miss" in verdict else verdict


def _times(rows: Sequence[Row]) -> Iterator[str]:
    yield from _title("Times, and how many times as much the others take")
    for group, title, unit in _TIMES:
        found = [row for row in rows if row.group == group]
        names = list(dict.fromkeys(name for row in found for name in row.values if name != OURS))
        if found:
            yield from _title(title, "~")
            head = ("", f"untorn, {unit}", *(_SHORT.get(name, name) for name in names))
            yield from _table(head, (_cells(row, names) for row in found))


def _cells(row: Row, names: Sequence[str]) -> tuple[str, ...]:
    return row.subject, _own(row), *(_ratio(row, name) for name in names)


def _own(row: Row) -> str:
    return f"{number(row.median())} ±{row.spread():.0%}" if row.spread() else number(row.median())


def _ratio(row: Row, name: str) -> str:
    ratio = row.ratios().get(name)
    return f"{ratio:.2g}×" if ratio is not None and ratio < 10 else f"{ratio:.0f}×" if ratio else ""


def _costs(rows: Iterable[Row]) -> Iterator[str]:
    timed = {group for group, _, _ in _TIMES}
    found = [row for row in rows if row.group not in timed and row.unit != "exponent"]
    body = (
        (
            f"{row.group}: {row.subject}",
            f"{number(row.median())} {row.unit}",
            ", ".join(
                f"{name} {number(row.median(name))}"
                for name in row.values
                if name != OURS and math.isfinite(row.median(name))
            ),
        )
        for row in found
    )
    yield from _title("Memory, fairness, start-up, many streams")
    yield from _table(("measure", "untorn", "others, in the same unit"), body)


def _growth(rows: Iterable[Row]) -> Iterator[str]:
    found = [row for row in rows if row.unit == "exponent"]
    body = (
        (row.subject, f"{row.median():.2f}", _others(row), f"{row.points[OURS][-1][0]:,}")
        for row in found
    )
    yield from _title("Cost against length")
    yield from _table(("what grows", "untorn", "others", "largest of untorn's"), body)


def _others(row: Row) -> str:
    return ", ".join(f"{name} {row.median(name):.2f}" for name in row.values if name != OURS)


def _title(text: str, line: str = "-") -> Iterator[str]:
    yield from (text, line * len(text), "")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in (head, *rows):
        yield f"   * - {row[0]}"
        yield from (f"     - {cell}".rstrip() for cell in row[1:])
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description="Write the tables.")
    parser.add_argument("result", nargs="?", type=Path, default=LATEST, help="a run's JSON file")
    result = json.loads(parser.parse_args().result.read_text("utf-8"))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    TABLES.write_text(tables(result), "utf-8")
    PICTURE.write_text(svg(result), "utf-8")


if __name__ == "__main__":
    main()
