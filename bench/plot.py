"""Draws the ratios of a run as bars: `python -m bench.plot [bench.json] -o speed.svg`.

The drawing is plain SVG, with the colours in a style sheet of its own that knows light
and dark. The scale is logarithmic: half as long a way to the left is as much slower as
to the right is faster.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from .measure import OURS, Row

LATEST = Path(__file__).parent / "results" / "latest.json"

# Which rows are shown, under which names; the JSON has all.
PANELS: dict[str, tuple[tuple[str, str], ...]] = {
    "Bytes to events, in memory": (
        ("framing: chat @ 1 event", "framing, 1 event per read"),
        ("framing: chat @ 1460", "framing, 1460-byte reads"),
        ("framing: chat @ 64 KiB", "framing, 64 KiB reads"),
        ("framing: pair @ 64 KiB", "event and data lines, 64 KiB reads"),
        ("framing + JSON: chat @ 64 KiB", "framing and JSON, 64 KiB reads"),
        ("parse(): chat @ 64 KiB", "parse(), public events, 64 KiB reads"),
    ),
    "Three tasks, on an event loop": (
        ("pipeline, asyncio: chat @ 1 event", "asyncio, 1 event per read"),
        ("pipeline, asyncio: chat @ 64 KiB", "asyncio, 64 KiB reads"),
        ("pipeline, trio: chat @ 1 event", "trio, 1 event per read"),
        ("pipeline, trio: chat @ 64 KiB", "trio, 64 KiB reads"),
        ("pipeline + JSON, asyncio: chat @ 64 KiB", "asyncio, with JSON, 64 KiB reads"),
    ),
    "Over HTTP on loopback, with JSON": (
        ("HTTP, asyncio: 1 per chunk", "asyncio, 1 event per chunk"),
        ("HTTP, asyncio: 250 per chunk", "asyncio, 250 events per chunk"),
        ("HTTP, trio: 1 per chunk", "trio, 1 event per chunk"),
        ("HTTP, trio: 250 per chunk", "trio, 250 events per chunk"),
    ),
}

# A colour each; Okabe and Ito's, which colour-blind readers can tell apart.
COLOURS = {
    "httpx-sse": "#0072b2",
    "httpx2": "#56b4e9",
    "openai": "#009e73",
    "anthropic": "#d55e00",
    "sseclient-py": "#cc79a7",
    "launchdarkly-eventsource": "#e69f00",
    "google-genai": "#8c6d31",
    "eventsource-parser": "#999999",
}
_TITLE = "How many times untorn’s CPU time others take"
_NAMES = {"eventsource-parser": "eventsource-parser (node)"}

WIDTH, LEFT, RIGHT = 840, 272, 44
BAR, GAP, ROW_GAP, PANEL_GAP = 10, 2, 14, 46
_TOP, _FOOT = 132, 72

_STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
  .title { font-size: 19px; font-weight: 600 }
  .panel { font-size: 14px; font-weight: 600; paint-order: stroke; stroke: #fff; stroke-width: 4px }
  .small { font-size: 11px; fill: #57606a }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .even { stroke: #1f2328; stroke-width: 1.5 }
  .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .panel { stroke: #131416 }
    .small { fill: #9aa4af }
    .grid { stroke: #30363d }
    .even { stroke: #e6edf3 }
    .paper { fill: #131416 }
  }
"""


@dataclass(frozen=True)
class Scale:
    """Ratios to pixels, logarithmically, from `low` to `high`."""

    low: float
    high: float

    def x(self, ratio: float) -> float:
        whole = math.log(self.high / self.low)
        part = math.log(min(max(ratio, self.low), self.high) / self.low) / whole
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        steps = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
        return [step for step in steps if self.low <= step <= self.high]


@dataclass(frozen=True)
class Bars:
    """One row of the picture: what it is, and the ratio of each peer that took part."""

    label: str
    median: str
    ratios: dict[str, float]

    @property
    def height(self) -> int:
        return max(26, len(self.ratios) * (BAR + GAP) - GAP)


def svg(result: dict[str, object], title: str = _TITLE) -> str:
    """Return the picture of a run."""
    panels = list(_panels(result))
    found = [ratio for _, bars in panels for each in bars for ratio in each.ratios.values()]
    scale = Scale(min(0.5, *found) * 0.8, max(2.0, *found) * 1.1)
    peers = [name for name in COLOURS if any(name in each.ratios for _, b in panels for each in b)]
    body, bottom = [], _TOP + 12
    for name, bars in panels:
        lines, bottom = _panel(name, bars, scale, bottom)
        body += lines
    head = (*_heading(title), *_legend(peers), *_grid(scale, _TOP, bottom))
    foot, height = _foot(result, bottom), bottom + _FOOT
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',
            *head,
            *body,
            *foot,
            "</svg>\n",
        )
    )


def _panels(result: dict[str, object]) -> Iterator[tuple[str, list[Bars]]]:
    kept: Iterable[dict[str, object]] = result["rows"]  # type: ignore[assignment]
    rows = {row.name: row for row in map(Row.from_json, kept)}
    for name, chosen in PANELS.items():
        bars = [_bars(rows[key], label) for key, label in chosen if key in rows]
        if bars:
            yield name, bars


def _bars(row: Row, label: str) -> Bars:
    ratios = {name: ratio for name, ratio in row.ratios().items() if name in COLOURS}
    median, unit = row.median(OURS), row.unit.partition("/")[0]
    if unit == "ns" and median >= 1000:
        median, unit = median / 1000, "us"
    return Bars(label, f"{median:.3g} {unit.replace('us', 'µs')}", ratios)


def _panel(name: str, bars: Sequence[Bars], scale: Scale, top: int) -> tuple[list[str], int]:
    lines = [_text(24, top + 16, name, "panel")]
    at = top + 30
    for each in bars:
        lines += _row(each, scale, at)
        at += each.height + ROW_GAP
    return lines, at + PANEL_GAP - 30 - ROW_GAP


def _row(bars: Bars, scale: Scale, top: int) -> Iterator[str]:
    middle = top + bars.height // 2
    yield _text(LEFT - 14, middle - 1, bars.label, anchor="end")
    yield _text(LEFT - 14, middle + 13, f"untorn: {bars.median} an event", "small", "end")
    for number, (name, ratio) in enumerate(bars.ratios.items()):
        yield _bar(name, ratio, scale, top + number * (BAR + GAP))


def _bar(name: str, ratio: float, scale: Scale, top: int) -> str:
    even, end = scale.x(1), scale.x(ratio)
    left, width = min(even, end), max(abs(end - even), 1)
    tip = escape(f"{name}: {ratio:.2f} times untorn’s time")
    # A number stands beyond its bar, on the side that the bar points to.
    at, anchor = (end + 4, "start") if ratio >= 1 else (end - 4, "end")
    number = f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"
    return (
        f'<g><title>{tip}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" '
        f'height="{BAR}" fill="{COLOURS[name]}"/>'
        f'<text class="small" style="font-size:10.5px" x="{at:.1f}" y="{top + BAR - 0.5}" '
        f'text-anchor="{anchor}">{number}</text></g>'
    )


def _grid(scale: Scale, top: int, bottom: int) -> Iterator[str]:
    for tick in scale.ticks():
        x, kind = scale.x(tick), "even" if tick == 1 else "grid"
        yield f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom - 6}"/>'
        label = f"{tick:g}×" if tick != 1 else "untorn"
        yield _text(x, top - 6, label, "small", "middle")
    yield _text(scale.x(1) - 14, top - 22, "← takes less", "small", "end")
    yield _text(scale.x(1) + 14, top - 22, "takes more →", "small")


def _heading(title: str) -> Iterator[str]:
    yield _text(24, 34, title, "title")


def _legend(peers: Sequence[str]) -> Iterator[str]:
    x, y = 24.0, 54
    for name in peers:
        shown = _NAMES.get(name, name)
        width = 24 + 7.0 * len(shown)
        if x + width > WIDTH - 20:
            x, y = 24.0, y + 18
        yield f'<rect x="{x:.1f}" y="{y}" width="11" height="11" fill="{COLOURS[name]}"/>'
        yield _text(x + 16, y + 10, shown)
        x += width


def _foot(result: dict[str, object], bottom: int) -> Iterator[str]:
    versions: dict[str, str | None] = result["versions"]  # type: ignore[assignment]
    names = (*COLOURS, "node", "trio", "uvloop")
    shown = [f"{name} {versions[name]}" for name in names if versions.get(name)]
    machine = f"Python {result['python']}, {result['machine']}; medians of interleaved rounds."
    yield _text(24, bottom + 20, f"{machine} Chat events of 263 bytes. Logarithmic scale.", "small")
    for number, some in enumerate((shown[:6], shown[6:])):
        yield _text(24, bottom + 38 + 16 * number, ", ".join(some), "small")


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.plot")
    parser.add_argument("result", nargs="?", type=Path, default=LATEST, help="a run's JSON file")
    parser.add_argument("-o", "--out", type=Path, default=Path("docs/_static/speed.svg"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(svg(json.loads(options.result.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
