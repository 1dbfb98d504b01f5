"""What a measurement is: cases to choose from, contenders taken in turn, and rows of numbers.

Contenders run one after the other within each round, so that what a shared machine
does to one it does to all. Times are of the CPU, for the thread that does the work.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

OURS = "untorn"

# A contender that takes so many seconds for one run is not run again.
PATIENCE = 2.0

Run = Callable[[], float | None]
"""Does the work once; returns the seconds it took, if it knows better than the caller."""


@dataclass(frozen=True)
class Effort:
    """How much is measured: rounds, and the seconds that untorn may take in each."""

    rounds: int
    seconds: float
    quick: bool = False

    def pick(self, full: int, quick: int) -> int:
        return quick if self.quick else full


FULL = Effort(7, 0.012)
QUICK = Effort(3, 0.002, quick=True)


@dataclass(frozen=True)
class Row:
    """The numbers of one measure, for each contender, one a round."""

    group: str
    subject: str
    unit: str
    values: dict[str, list[float]]
    note: str = ""
    points: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.group}: {self.subject}"

    def median(self, contender: str = OURS) -> float:
        return statistics.median(self.values[contender])

    def spread(self, contender: str = OURS) -> float:
        """The distance between the quartiles, as a part of the median."""
        values = self.values[contender]
        if len(values) < 3 or not self.median(contender):
            return 0.0
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        return (high - low) / abs(self.median(contender))

    def ratio(self, peer: str) -> float:
        """How many times what untorn takes `peer` takes: the median of the rounds' ratios."""
        ours, theirs = self.values[OURS], self.values[peer]
        if len(ours) != len(theirs):
            return statistics.median(theirs) / statistics.median(ours)
        return statistics.median(their / our for our, their in zip(ours, theirs, strict=True))

    def ratios(self) -> dict[str, float]:
        """The ratios of all others, where they mean something."""
        if OURS not in self.values or self.unit == "exponent" or not self.median():
            return {}
        return {name: self.ratio(name) for name in self.values if name != OURS}

    def as_json(self) -> dict[str, Any]:
        medians = {name: self.median(name) for name in self.values}
        spreads = {name: self.spread(name) for name in self.values}
        return asdict(self) | {"median": medians, "spread": spreads, "ratio": self.ratios()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Row:
        names = ("group", "subject", "unit", "values", "note", "points")
        return cls(**{name: kept[name] for name in names})


@dataclass(frozen=True)
class Case:
    """A row or more that can be measured by themselves."""

    group: str
    subject: str
    rows: Callable[[], Iterable[Row]]

    @property
    def name(self) -> str:
        return f"{self.group}: {self.subject}"


def interleaved(
    group: str,
    subject: str,
    runs: Mapping[str, Run],
    rounds: int,
    count: int,
    unit: str = "ns/event",
) -> Row:
    """Run every contender once per round, after one round that warms up.

    `count` is what the time of a run is divided by.
    """
    factor = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}[unit.partition("/")[0]] / count
    values: dict[str, list[float]] = {name: [] for name in runs}
    with _set_aside():
        warm = {name: _seconds(run) * factor for name, run in runs.items()}
        for _ in range(rounds):
            for name, run in runs.items():
                if warm[name] < PATIENCE * factor:
                    values[name].append(_seconds(run) * factor)
    return Row(group, subject, unit, {name: got or [warm[name]] for name, got in values.items()})


@contextmanager
def _set_aside() -> Iterator[None]:
    """Keep what the program holds already from the garbage collector.

    So collecting costs each contender what its own garbage costs, and not what all the
    packages cost that were imported for the others.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _seconds(run: Run) -> float:
    gc.collect()
    began = time.thread_time()
    took = run()
    return time.thread_time() - began if took is None else took


def grown(run: Callable[[int], Any], seconds: float, least: int) -> int:
    """Return how much work takes `seconds`, found by doubling it from `least` on."""
    amount = least
    with _set_aside():
        run(amount)
        while (took := _seconds(partial(run, amount))) < seconds / 2:
            amount *= min(16, max(2, int(seconds / max(took, 1e-6) / 2)))
    return amount


def growth(
    run: Callable[[int], Any], sizes: Sequence[int], rounds: int, patience: float
) -> list[tuple[int, float]]:
    """Return the seconds that each size takes; a size that would take too long ends the list."""
    points: list[tuple[int, float]] = []
    with _set_aside():
        run(sizes[0])
        for size in sizes:
            if points and points[-1][1] * _step(points, size) > patience:
                break
            took = [_seconds(partial(run, size))]
            if took[0] < patience / 10:
                took += [_seconds(partial(run, size)) for _ in range(rounds - 1)]
            points.append((size, statistics.median(took)))
    return points


def _step(points: Sequence[tuple[int, float]], size: int) -> float:
    """How many times as long as the last one the next size may take, as things look so far."""
    (last, _), factor = points[-1], 1.0
    if len(points) > 1:
        (before, then), (_, now) = points[-2:]
        factor = max(1.0, math.log(now / then) / math.log(last / before)) if then else 1.0
    return float((size / last) ** factor)


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of a straight line through the points, both axes logarithmic.

    1: twice the length costs twice as much; 2: it costs four times as much.
    """
    if len(points) < 2 or any(x >= y for (x, _), (y, _) in pairwise(points)):
        raise ValueError(f"Give two points or more, in order of length, not {points!r}")
    logs = [(math.log(size), math.log(cost)) for size, cost in points]
    return float(statistics.linear_regression(*zip(*logs, strict=True)).slope)
