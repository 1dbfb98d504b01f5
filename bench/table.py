"""Rows as text: untorn's median and spread, then how many times as much the others take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from .measure import OURS, Row
from .targets import Verdict

_SHORT = {
    "launchdarkly-eventsource": "launchdarkly",
    "sseclient-py": "sseclient",
    "google-genai": "genai",
    "eventsource-parser": "es-parser",
    "floor: bytes.split": "bytes.split",
    "floor: utf_8_decode": "utf_8_decode",
    "floor: json.loads": "json.loads",
}


def _short(name: str) -> str:
    return _SHORT.get(name, name)


class Table:
    """Turns rows into lines, with a heading wherever the columns change."""

    def __init__(self) -> None:
        self._heading = ""

    def lines(self, row: Row) -> Iterator[str]:
        columns = {name: max(7, len(_short(name))) for name in row.values if name != OURS}
        names = "  ".join(_short(name).rjust(width) for name, width in columns.items())
        heading = f"\n{row.group:40}{OURS:>10}{'':19}{names}".rstrip()
        if heading != self._heading:
            self._heading = heading
            yield heading
        cells = "  ".join(_cell(row, name).rjust(width) for name, width in columns.items())
        yield f"  {row.subject:38}{_own(row)} {cells}".rstrip()
        if row.note:
            yield f"      {row.note}"


def _own(row: Row) -> str:
    if OURS not in row.values:
        return " " * 28
    spread = f"±{row.spread():.0%}" if row.spread() else ""
    return f"{number(row.median()):>10} {row.unit:11}{spread:6}"


def _cell(row: Row, name: str) -> str:
    ratio = row.ratios().get(name)
    if ratio is None or not math.isfinite(ratio):
        return number(row.median(name))
    return f"x{number(ratio)}"


def number(value: float) -> str:
    """Return three digits, or all in front of the point."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 4)}f}"


def verdicts(found: Iterable[Verdict]) -> Iterator[str]:
    """Yield the table of what untorn should reach."""
    rows: list[Sequence[str]] = [("target", "at least", "aim", "measured", "verdict")]
    rows += [verdict.cells() for verdict in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  ".join(cell.ljust(width) for cell, width in cells).rstrip()
