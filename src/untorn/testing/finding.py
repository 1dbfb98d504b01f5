"""Findings: which law a parser broke, on which case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

from .answer import Answer, Expectation, Parse, Raised, answer_of
from .case import Case
from .event_text import event_text

__all__ = ["SENTENCES", "Expected", "Finding", "Judge", "Law"]

Law: TypeAlias = Literal["cuts", "expected", "truncation", "promptness"]

SENTENCES: dict[Law, str] = {
    "cuts": "The answer depends on how the bytes were cut.",
    "expected": "The events are not the expected ones.",
    "truncation": "The events of a cut-off stream are not a beginning of the whole stream's.",
    "promptness": "The events handed out before the next byte are not those the bytes determine.",
}
"""What a parser does that breaks each law."""

Expected: TypeAlias = Iterable[Any] | Callable[[bytes], Iterable[Any]]
"""The right events of a wire, or a function that gives the right events of any wire."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A law that is broken, the case that shows it, and both answers."""

    law: Law
    case: Case
    expected: Expectation
    actual: Answer

    @property
    def kind(self) -> tuple[object, ...]:
        """What two findings have in common if they show the same fault, as far as one can tell.

        It is the law, and how both answers end: without an exception, or with which type. If
        they end alike, it matters too whether their events differ, or only what they end with.
        """
        ends = [_type(self.expected.raised), _type(self.actual.raised)]
        alike = replace(self.expected, raised="anything").allows(self.actual)
        return (self.law, *ends, alike and ends[0] == ends[1])


class Judge:
    """Knows what a parser must answer, and finds where it does not.

    The events must be `reference(wire)`, where that is not `None`. Beyond that the parser is
    its own measure: its answer to the same bytes in one chunk. That answer must have the events
    of the reference, or it measures nothing: a parser that is wrong about the uncut bytes breaks
    the law `expected`, and a finding must not ask for a wrong answer.
    """

    def __init__(self, parse: Parse, wire: bytes, expected: Expected | None, backend: str) -> None:
        self._parse = parse
        self._backend = backend
        self._reference = _reference(wire, expected)
        self._uncut: dict[Case, Answer] = {}

    def finding(self, case: Case) -> Finding | None:
        """Return the first law that the parser breaks on `case`, or `None`."""
        actual = self._answer(case) if case.boundaries else self.uncut(case)
        for law, expected in self._laws(case):
            if not expected.allows(actual):
                return Finding(law, case, expected, actual)
        return None

    def uncut(self, case: Case) -> Answer:
        """Return the answer to the case's bytes in one chunk."""
        whole = replace(case, rest=b"", boundaries=())
        if whole not in self._uncut:
            self._uncut[whole] = self._answer(whole)
        return self._uncut[whole]

    def _answer(self, case: Case) -> Answer:
        return answer_of(self._parse, case.chunks, end=case.end, backend=self._backend)

    def _laws(self, case: Case) -> Iterator[tuple[Law, Expectation]]:
        reference = self._reference(case.wire)
        if case.end == "silence":
            ended = self.uncut(replace(case, end="eof"))
            yield "promptness", Expectation(ended.events if reference is None else reference)
            return
        if case.boundaries and (uncut := self._measure(case)):
            yield "cuts", Expectation(uncut.events, raised=uncut.raised)
        if reference is not None:
            yield "expected", Expectation(reference)
        if case.rest and (whole := self._measure(replace(case, wire=case.capture))):
            yield "truncation", Expectation(whole.events, "beginning")

    def _measure(self, case: Case) -> Answer | None:
        """Return the answer to the case's bytes in one chunk, if the reference does not differ."""
        uncut, reference = self.uncut(case), self._reference(case.wire)
        return uncut if reference in (None, uncut.events) else None


def _reference(wire: bytes, expected: Expected | None) -> Callable[[bytes], tuple[str, ...] | None]:
    if expected is None:
        return lambda _: None
    if callable(expected):
        return cache(lambda given: _texts(expected(given)))
    if not isinstance(expected, Iterable):
        raise TypeError(f"expected={expected!r}: give the events, or a function that returns them")
    listed = _texts(expected)
    return lambda given: listed if given == wire else None


def _type(raised: Raised | str | None) -> str | None:
    return raised.type if isinstance(raised, Raised) else raised


def _texts(events: Iterable[Any]) -> tuple[str, ...]:
    return tuple(map(event_text, events))
