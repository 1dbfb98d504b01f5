"""The smallest case that still fails: what is not needed to show a fault is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from .case import Case

__all__ = ["smallest"]

Fails: TypeAlias = Callable[[Case], bool]

BLOCK = re.compile(rb".*?(?:(?>\r\n|\n|\r)){2}|.+", re.DOTALL)
LINE = re.compile(rb".*?(?>\r\n|\n|\r)|.+", re.DOTALL)
CHARACTER = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+|.", re.DOTALL)
BYTE = re.compile(rb".", re.DOTALL)
"""What is left out, in this order: blocks up to a blank line (events), lines, characters, and
bytes. Each divides any bytes without a remainder."""


def smallest(case: Case, fails: Fails, *, tries: int) -> Case:
    """Return a small case of those that `case` contains and that still fail.

    First events are dropped, then lines and data, then cuts; and again, until nothing more can
    go or `fails` has been asked `tries` times.
    """
    asked = _at_most(tries, fails)
    before = None
    while case != before:
        before = case
        for pattern in (BLOCK, LINE, CHARACTER, BYTE):
            case = _with_fewer_bytes(case, pattern, asked)
        case = _with_fewer_cuts(case, asked)
    return case


def _at_most(tries: int, fails: Fails) -> Fails:
    left = iter(range(tries))
    return lambda case: next(left, None) is not None and fails(case)


def _with_fewer_bytes(case: Case, pattern: re.Pattern[bytes], fails: Fails) -> Case:
    def without(case: Case, first: int, last: int) -> Case:
        edges = _edges(case, pattern)
        return case.without(edges[first], edges[last])

    return _with_fewer(case, lambda case: len(_edges(case, pattern)) - 1, without, fails)


def _with_fewer_cuts(case: Case, fails: Fails) -> Case:
    def without(case: Case, first: int, last: int) -> Case:
        return replace(case, boundaries=case.boundaries[:first] + case.boundaries[last:])

    return _with_fewer(case, lambda case: len(case.boundaries), without, fails)


def _with_fewer(
    case: Case,
    count: Callable[[Case], int],
    without: Callable[[Case, int, int], Case],
    fails: Fails,
) -> Case:
    """Drop runs of things: all of them, if that still fails, then halves, down to single ones."""
    run = count(case)
    while run:
        at = 0
        while at < count(case):
            fewer = without(case, at, min(at + run, count(case)))
            if fails(fewer):
                case = fewer
            else:
                at += run
        run //= 2
    return case


def _edges(case: Case, pattern: re.Pattern[bytes]) -> Sequence[int]:
    return [0, *(found.end() for found in pattern.finditer(case.capture))]
