"""Streams that other readers are reported to get wrong, and the right answer to each.

    @pytest.mark.parametrize("case", cases("anthropic"))
    def test_a_reported_stream(case: Case) -> None:
        events, outcome = read(case.chunks(), AnthropicMessages())

They live in `shared/cases` beside the checkout; without it the tests are skipped.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import pytest

from .captures import SHARED

FILE = SHARED / "cases" / "cases.json"

NEEDS_THE_PIPELINE = {
    "stall": "silence is told from waiting by a clock, which only the pipeline has",
    "cancel_after_event_1": "only a task can be cancelled",
    "consumer_raises_after_event_1": "only a block can be left by an exception",
    "overflow_close": "only a buffer between tasks can overflow",
    "connect_error": "there is no stream yet that could be parsed",
}
"""Ends that `parse` cannot act out, and why."""


@dataclass(frozen=True)
class Case:
    """One reported stream.

    `end` says how the transport ends, `cuts` where the reported fault shows, `expected` holds
    `outcome`, `reason`, `events` (those a standard framer dispatches) and `reduced`.
    """

    id: str
    dialect: str
    framing: str
    seed: bytes
    cuts: tuple[int, ...]
    end: str
    expand: dict[str, Any]
    expected: dict[str, Any]
    confidence: str

    @property
    def outcome(self) -> str:
        return str(self.expected["outcome"])

    @property
    def reduced(self) -> dict[str, Any]:
        return self.expected.get("reduced") or {}

    @cached_property
    def wire(self) -> bytes:
        """All bytes; of an endless stream, those before it repeats itself."""
        expand, seed = self.expand, self.seed
        find = _bytes(expand.get("find", ""))
        if self.end == "endless":
            return seed.split(find)[0] if find else b""
        if "repeat_whole" in expand:
            return seed * int(expand["repeat_whole"])
        if "then_repeat" in expand:
            return seed + self._repeated * int(expand["repeat"])
        return seed.replace(find, self._repeated * int(expand["repeat"])) if find else seed

    @property
    def _repeated(self) -> bytes:
        """The bytes that an expansion repeats."""
        if "then_repeat" in self.expand:
            return b"data: " + self.expand["then_repeat"].encode() + b"\n\n"
        if "repeat_whole" in self.expand:
            return self.seed
        return _bytes(self.expand.get("fill", self.expand["find"]))

    def chunks(self, cuts: Iterable[int] | None = None) -> Iterator[bytes]:
        """Yield the wire, cut where the fault shows or at `cuts`, and then end as reported.

        An endless stream goes on for as long as it is asked.
        """
        places = [0, *sorted(self.cuts if cuts is None else cuts), len(self.wire)]
        yield from (self.wire[start:stop] for start, stop in pairwise(places))
        if self.end == "reset":
            raise ConnectionResetError("the peer reset the connection")
        while self.end == "endless":
            yield self._repeated * 1024


def _bytes(readable: str) -> bytes:
    """Return the bytes of the body of a Python bytes literal."""
    return readable.encode().decode("unicode_escape").encode("latin-1")


def _case(entry: dict[str, Any]) -> Case:
    return Case(
        entry["id"],
        entry["dialect"],
        entry["framing"],
        base64.b64decode(entry["wire_b64"]),
        tuple(entry.get("cuts") or ()),
        entry["end"],
        entry.get("expand") or {},
        entry["expected"],
        entry["confidence"],
    )


def cases(
    *dialects: str,
    skip: Collection[str] = tuple(NEEDS_THE_PIPELINE),
    where: Callable[[Case], bool] = lambda case: True,
) -> list[Any]:
    """Return a pytest parameter for each case of these dialects (of all, if none is named).

    Those whose end is in `skip` are marked as skipped: the tests of the pipeline pass `skip=()`.
    """
    if not FILE.is_file():
        absent = pytest.mark.skip(reason="there is no shared/cases beside the checkout")
        return [pytest.param(None, id="absent", marks=absent)]
    every = map(_case, json.loads(FILE.read_text("utf-8")))
    return [
        pytest.param(case, id=case.id, marks=_marks(case, skip))
        for case in every
        if (not dialects or case.dialect in dialects) and where(case)
    ]


def _marks(case: Case, skip: Collection[str]) -> list[pytest.MarkDecorator]:
    if case.end not in skip:
        return []
    return [pytest.mark.skip(reason=NEEDS_THE_PIPELINE.get(case.end, case.end))]
