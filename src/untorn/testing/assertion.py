"""`assert_untorn`: one assertion that puts a parser through every cut and every early end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from .answer import Answer, End, Parse
from .case import (
    Case,
    Effort,
    cut_cases,
    empty_chunk_cases,
    prefix_cases,
    silent_cases,
)
from .checks import check_bytes, check_whole
from .finding import Expected, Finding, Judge
from .reproducer import Reproducer, reproducer_folder
from .smallest import smallest
from .torn_parser import TornParserError, counted

__all__ = ["assert_untorn"]


def assert_untorn(
    parse: Parse,
    wire: bytes,
    expected: Expected | None = None,
    *,
    end: End = "eof",
    prefixes: bool = True,
    prompt: bool = False,
    empty_chunks: bool = False,
    exhaustive: int = 512,
    samples: int = 24,
    seed: int = 0,
    tries: int = 3000,
    backend: str = "asyncio",
    parameters: Mapping[str, Any] | None = None,
    name: str | None = None,
    reproducers: str | os.PathLike[str] | None = None,
) -> Answer:
    """Check that what `parse` says of `wire` does not depend on how it was cut.

    `parse` is a plain function from an iterable of `bytes` to an iterable of events, or an
    async one: a coroutine function or async generator function over an async iterator of
    `bytes`, run on `backend` in virtual time. It is called anew for each case, some thousands
    of times at most, from a plain function (an async parser cannot be checked inside a running
    loop). An exception it raises is the ending of its answer and is compared too, by the name
    of its type and its text, after the events that came before it.

    What is tried: the wire in one chunk; every cutting in two; `samples` seeded cuttings in 3
    to 12 chunks; one byte at a time; and, with `prefixes`, the same for a stream that ends
    early, after each prefix. The answer must be the one to the same bytes in one chunk, and the
    events of a prefix must be a beginning of the events of the whole.

    Returns the parser's answer to the whole wire in one chunk: look at it once, for a parser
    that always raises the same exception gives the same answer to everything. A parser that
    breaks a law is a `TornParserError`; its message shows the smallest case found, which was
    also written as a reproducer.

    parse
        The parser.
    wire
        The bytes of one stream.
    expected
        The right events of this wire; or, better, a function that gives the right events of any
        bytes: then prefixes are checked against it as well, and a failure is made small without
        asking for events that it does not give. It speaks of events only, never of exceptions.
    end
        How the transport ends after the bytes.
    prefixes
        Whether to check streams that end early. Switch it off for a parser that rightly takes
        the end of the stream for the end of an event.
    prompt
        Whether to check as well that an event is handed out before the parser asks for a byte
        that is no part of it. Only for parsers that hand out events as they read. Which events
        those are is known if `expected` is a function; otherwise they are taken to be those of a
        stream that ends there, so that a parser which hands out an event late even at the end
        (or never) passes.
    empty_chunks
        Whether to try empty chunks too.
    exhaustive
        The size in bytes up to which every cut and every prefix is tried; for a longer wire,
        `samples` of them are.
    samples, seed
        How many cuttings of each kind to draw, and what they are drawn from.
    tries
        How many runs of the parser may be spent on making a failure small.
    backend
        "asyncio" or "trio", for an async parser.
    name, parameters
        What the reproducer's file name begins with (the parser's name unless given), and what to
        note in it about the parser (dialect, limits, ...).
    reproducers
        The folder for it; unless given, that of `reproducer_folder()`.
    """
    __tracebackhide__ = True  # pytest then points at the caller's line, not at ours
    check_bytes(wire)
    check_whole("tries", tries)
    judge = Judge(parse, wire, expected, backend)
    effort = Effort(exhaustive, samples, seed)
    kinds = (
        cut_cases(wire, end, effort),
        empty_chunk_cases(wire, end, effort) if empty_chunks else (),
        prefix_cases(wire, end, effort) if prefixes else (),
        silent_cases(wire, effort) if prompt else (),
    )
    found = _first_finding(judge, chain(*kinds))
    if found is not None:
        small = _smallest_finding(judge, found, tries)
        folder = Path(reproducers) if reproducers is not None else reproducer_folder()
        written = Reproducer(small, seed, parameters or {}).write(
            folder, _safe(name or _name(parse))
        )
        raise TornParserError(small, written, _note(found.case))
    return judge.uncut(Case(wire, end=end))


def _first_finding(judge: Judge, cases: Iterator[Case]) -> Finding | None:
    return next(filter(None, map(judge.finding, cases)), None)


def _smallest_finding(judge: Judge, found: Finding, tries: int) -> Finding:
    """Make the case small without changing what kind of fault it shows."""
    best = found

    def fails(case: Case) -> bool:
        nonlocal best
        seen = judge.finding(case)
        if seen is None or seen.kind != found.kind:
            return False
        best = seen
        return True

    smallest(found.case, fails, tries=tries)
    return best


def _note(case: Case) -> str:
    size, cuts = counted(len(case.capture), "byte"), counted(len(case.boundaries), "cut")
    return f"(made small from {size} with {cuts})"


def _name(parse: Parse) -> str:
    name: str = getattr(parse, "__name__", type(parse).__name__)
    return name


def _safe(name: str) -> str:
    """Return `name` as any file system takes it."""
    return re.sub(r"\W+", "_", name).strip("_") or "parser"
