"""The error that says how a parser was torn, so that it can be read at a glance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .answer import Answer, End, Expectation
from .case import Case
from .finding import SENTENCES, Finding

__all__ = ["TornParserError", "counted"]

SHOWN = 20
"""How many events, or boundaries, are shown; the reproducer has them all."""

ENDS: dict[End, str] = {
    "eof": "the end of the stream",
    "reset": "a ConnectionResetError",
    "silence": "silence: the transport stays open",
}


class TornParserError(AssertionError):
    """A parser's answer is not what the bytes determine."""

    def __init__(self, finding: Finding, path: Path, note: str = "") -> None:
        super().__init__("\n".join(_lines(finding, path, note)))
        self.finding = finding
        """The law, the case, the expected and the actual answer."""
        self.path = path
        """Where the reproducer is."""


def _lines(finding: Finding, path: Path, note: str) -> Iterator[str]:
    yield SENTENCES[finding.law]
    yield ""
    yield from _case_lines(finding.case)
    yield from _expected_lines(finding.expected)
    yield "  actual:"
    yield from _answer_lines(finding.actual)
    yield f"  reproducer: {path}"
    if note:
        yield f"  {note}"


def _case_lines(case: Case) -> Iterator[str]:
    yield f"  wire ({counted(len(case.wire), 'byte')}): {case.wire!r}"
    if case.boundaries:
        yield f"  cut at {_some(case.boundaries)}: {_some(case.chunks)}"
    yield f"  then {ENDS[case.end]}"
    if case.rest:
        yield f"  instead of ({counted(len(case.rest), 'byte')}): {case.rest!r}"


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: `1 byte`, `2 bytes`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _some(items: Sequence[object]) -> str:
    more = [f"and {len(items) - SHOWN} more"] if len(items) > SHOWN else []
    return ", ".join([*map(repr, items[:SHOWN]), *more])


def _expected_lines(expected: Expectation) -> Iterator[str]:
    yield "  expected:" if expected.relation == "equal" else "  expected a beginning of:"
    yield from _answer_lines(expected)


def _answer_lines(answer: Answer | Expectation) -> Iterator[str]:
    for event in answer.events[:SHOWN]:
        yield f"    {event}"
    if len(answer.events) > SHOWN:
        yield f"    and {counted(len(answer.events) - SHOWN, 'more event')}"
    if not answer.events:
        yield "    no event"
    if answer.raised not in (None, "anything"):
        yield f"    then {answer.raised}"
