"""What untorn should reach: each row has what it must at least do, an aim, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .measure import OURS, Row

BACKENDS = ("asyncio", "uvloop", "trio")


@dataclass(frozen=True)
class Target:
    """A bound on one number of one row.

    With `peer` the number is how many times what untorn takes the peer takes; without,
    it is untorn's own median. `most`: it may be at most so much, not at least.
    """

    name: str
    row: str
    least: float | None
    aim: float | None
    peer: str = ""
    most: bool = False


@dataclass(frozen=True)
class Verdict:
    target: Target
    measured: float | None

    @property
    def verdict(self) -> str:
        least, aim = self.target.least, self.target.aim
        if self.measured is None:
            return "not measured"
        if aim is not None and self._reaches(aim):
            return "aim"
        if least is not None and not self._reaches(least):
            return f"missed by {self._distance(least)}"
        return "met" if least is not None else f"aim missed by {self._distance(aim)}"

    def _reaches(self, bound: float) -> bool:
        assert self.measured is not None
        return self.measured <= bound if self.target.most else self.measured >= bound

    def _distance(self, bound: float | None) -> str:
        assert self.measured is not None and bound is not None
        distance = abs(self.measured / bound - 1)
        return f"{distance:.0%}" if distance > 0.01 else f"{distance:.2%}"

    def cells(self) -> tuple[str, str, str, str, str]:
        measured = "-" if self.measured is None else f"{self.measured:.3g}"
        bounds = (self._bound(self.target.least), self._bound(self.target.aim))
        return (self.target.name, *bounds, measured, self.verdict)

    def _bound(self, bound: float | None) -> str:
        if bound is None:
            return "-"
        return f"{'<=' if self.target.most else '>='} {bound:.3g}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict}


def _at_least(name: str, row: str, peer: str, least: float | None, aim: float | None) -> Target:
    return Target(name, row, least, aim, peer)


def _at_most(name: str, row: str, least: float | None, aim: float | None) -> Target:
    return Target(name, row, least, aim, most=True)


def _framing() -> Iterator[Target]:
    peer = "httpx-sse"
    for read, least, aim in (("1 event", 2.2, 2.5), ("1460", 1.9, 2.2), ("64 KiB", 2.7, 3.0)):
        row = f"framing: chat @ {read}"
        yield _at_least(f"framing, data alone, {read}", row, peer, least, aim)
    row = "framing: chat @ 64 KiB"
    name = "framing, data alone, 64 KiB, beside bytes.split"
    yield _at_least(name, row, "floor: bytes.split", None, 1 / 1.7)
    name = "framing, data alone, 64 KiB, against openai"
    yield _at_least(name, row, "openai", 7.5, 9.0)
    for read, least, aim in (("1 event", 1.7, 1.9), ("64 KiB", 2.1, 2.4)):
        row = f"framing: pair @ {read}"
        yield _at_least(f"framing, event and data, {read}", row, peer, least, aim)
    yield _at_least("framing, 16 KiB events, 64 KiB", "framing: 16 KiB @ 64 KiB", peer, 1.0, 1.3)
    for read in ("1 event", "1460", "64 KiB"):
        yield _at_least(f"framing, mixed, {read}", f"framing: mixed @ {read}", peer, 1.3, 1.7)


def _readers() -> Iterator[Target]:
    for read, least in (("1 event", 1.8), ("1460", 1.8), ("64 KiB", 2.2)):
        row = f"parse(): chat @ {read}"
        yield _at_least(f"parse(), {read}", row, "httpx-sse", least, None)
        name = f"parse(), {read}, against eventsource-parser"
        yield _at_least(name, row, "eventsource-parser", None, 1.0)
    for backend, slowest in (("asyncio", 1.5), ("trio", 1.6)):
        for read, least in (("1 event", 1 / slowest), ("1460", 1.0), ("64 KiB", 1.8)):
            row = f"pipeline, {backend}: chat @ {read}"
            aim = max(1.0, least)
            yield _at_least(f"pipeline, {backend}, {read}", row, "httpx-sse", least, aim)
    for read, least, aim in (("1 event", 0.65, 0.9), ("1460", 1.0, 1.2), ("64 KiB", 1.4, 1.6)):
        row = f"pipeline + JSON, asyncio: chat @ {read}"
        yield _at_least(f"pipeline and JSON, asyncio, {read}", row, "httpx-sse", least, aim)


def _bounds() -> Iterator[Target]:
    for read in ("1 byte", "1 KiB", "64 KiB"):
        row = f"cost against length: a line @ {read}"
        yield _at_most(f"a line of 16 MiB @ {read}, exponent", row, 1.1, None)
    for size, read in (("16 MiB", "64 KiB"), ("16 MiB", "1 KiB"), ("512 KiB", "1 byte")):
        row = f"memory: peak, a line of {size} @ {read}"
        yield _at_most(f"a line of {size} @ {read}, times its memory", row, None, 3.0)
    for backend in BACKENDS:
        row = f"HTTP, {backend}: 1 per chunk"
        name = f"end to end, {backend}, 1 event per chunk"
        yield _at_least(name, row, "httpx-sse", 1 / 1.2, 1 / 1.05)
    for wire in ("tiny", "chat", "100 KiB"):
        for read in ("1460", "64 KiB", "1 MiB"):
            row = f"fairness: read ahead, {wire} @ {read}"
            yield _at_most(f"read ahead, {wire} @ {read}, of the bound", row, 1.0, None)
    row = "fairness: read ahead, chat @ 64 KiB: reads"
    yield _at_most("read ahead, chat @ 64 KiB, in reads", row, None, 2.0)


def _costs() -> Iterator[Target]:
    for backend in BACKENDS:
        row = f"fairness: a rival's longest wait, {backend}"
        yield _at_most(f"a rival's wait, {backend}, ms", row, 5.0, 2.0)
        for number, how in (("1,000", "traced"), ("5,000", "resident")):
            row = f"memory: {number} idle streams, {backend}, {how}"
            yield _at_most(f"{number} idle streams, {backend}, KiB each", row, 32, 22)
        row = f"5,000 slow streams, {backend}: fewest events of a stream"
        yield _at_least(f"5,000 at once, {backend}, events had of those due", row, "", 1.0, None)
        row = f"start-up: open, one event, close, {backend}"
        yield _at_most(f"open and close, {backend}, us", row, 200, 100)


TARGETS = (*_framing(), *_readers(), *_bounds(), *_costs())


def judged(rows: Iterable[Row]) -> list[Verdict]:
    """Return a verdict on each target, whether its row was measured or not."""
    found = {row.name: row for row in rows}
    return [Verdict(target, _number(found, target)) for target in TARGETS]


def _number(rows: Mapping[str, Row], target: Target) -> float | None:
    row = rows.get(target.row)
    if row is None or target.peer not in {"", *row.values}:
        return None
    number = row.ratio(target.peer) if target.peer else row.median(OURS)
    return number if math.isfinite(number) else None
