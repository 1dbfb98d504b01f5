"""Times of contenders, taken in turn: what a shared machine does to one it does to all."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """One measure: ns of CPU per event for each contender, over some rounds."""

    measure: str
    subject: str
    events: int
    ns: dict[str, list[float]]

    def median(self, contender: str) -> float:
        return statistics.median(self.ns[contender])

    def ratio(self, peer: str) -> float:
        """How many times as fast as `peer` untorn is: the median of the rounds' ratios."""
        pairs = zip(self.ns[peer], self.ns["untorn"], strict=True)
        return statistics.median(theirs / ours for theirs, ours in pairs)

    def as_json(self) -> dict[str, object]:
        ratios = {name: self.ratio(name) for name in self.ns if name != "untorn"}
        medians = {name: self.median(name) for name in self.ns}
        return asdict(self) | {"median": medians, "times_as_fast": ratios}


def interleaved(
    measure: str, subject: str, events: int, runs: Mapping[str, Callable[[], object]], rounds: int
) -> Row:
    """Run every contender once per round, after one round that does not count."""
    ns: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            gc.collect()
            began = time.thread_time()
            run()
            if number:
                ns[name].append((time.thread_time() - began) / events * 1e9)
    return Row(measure, subject, events, ns)
