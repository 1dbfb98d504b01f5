"""Recordings that the tests of the command line play."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from untorn.testing import (
    Piece,
    RecordedEnd,
    RecordedRequest,
    RecordedResponse,
    Recording,
    write_recording,
)

EVENT_STREAM = RecordedResponse(200, "OK", "text/event-stream")


def recording(
    wire: bytes,
    *,
    cuts: Iterable[int] = (),
    step: float = 0.0,
    response: RecordedResponse | None = EVENT_STREAM,
    end: RecordedEnd | None = None,
    killed: bool = False,
) -> Recording:
    """Return a recording of `wire`, a read every `step` seconds, ended properly if not told."""
    places = [0, *cuts, len(wire)]
    pieces = tuple(
        Piece(step * number, wire[start:stop])
        for number, (start, stop) in enumerate(pairwise(places), 1)
        if stop > start
    )
    last = end or RecordedEnd(step * (len(pieces) + 1), "eof")
    request = RecordedRequest("GET", "http://service.example/v1/chat")
    began = datetime(2026, 11, 30, 12, tzinfo=UTC)
    return Recording(began, request, response, pieces, None if killed else last)


def written(path: Path, made: Recording) -> str:
    """Write a recording, and return where."""
    write_recording(path, made, force=True)
    return str(path)
