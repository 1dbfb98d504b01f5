"""Recordings: what came over a connection, and when, as one file of JSON lines.

One object per line, in UTF-8, each line ended by LF. The first is the head:

============  ====================================================================================
key           value
============  ====================================================================================
untorn        `"recording"`
version       1; a reader refuses any other
began         when the recording began, ISO 8601 with its offset from UTC
request       `{"method", "url"}`; the URL has neither userinfo, query nor fragment
response      `{"status", "reason", "content_type", "headers"}`, or null if none came: reason is
              the server's own phrase, content_type is null if there was none, headers are those
              of an allow list that explains how a body was sent, names in lower case; values
              are printable ASCII, and those that were not are left out
============  ====================================================================================

Then one line per read:

============  ====================================================================================
key           value
============  ====================================================================================
at            seconds since the beginning, never less than on the line before
bytes         what was read, never empty, in base64; chunked framing and content-encoding are
              taken off
============  ====================================================================================

And one for how the transport ended. Where it is missing or torn the recorder was killed; the reads
before it count:

============  ====================================================================================
key           value
============  ====================================================================================
at            seconds since the beginning
end           `"eof"`, `"error"` (the transport broke), or `"interrupted"` (it was still
              open when the recorder left it)
error         `{"type", "message"}`: the exception's class, or why the recorder left; null at
              `"eof"`
============  ====================================================================================

Other keys are passed over. There is base64 and no text, because a read may end inside a character
and what a tool makes of a JSON string (escapes, line separators, lone surrogates) is not always the
same bytes again; with one form, a reader in any language is three lines long. The bytes are those
behind the content-encoding, because they are what a dialect reads and what is cut into events.

Request headers, the request's body and cookies have no place in it. The response's body is recorded
as it is, but `untorn record` puts asterisks, as many as there were bytes, in the place of a key
that it sent and the service repeats.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from .cuts import Cutting
from .faults import Eof, Fault, Raise, Stall
from .response import Ending

__all__ = [
    "BEGINNING",
    "VERSION",
    "How",
    "Piece",
    "RecordedEnd",
    "RecordedError",
    "RecordedRequest",
    "RecordedResponse",
    "Recording",
    "RecordingError",
    "is_field_value",
    "is_recording",
    "parse_recording",
    "read_recording",
]

VERSION = 1
BEGINNING = b'{"untorn": "recording"'
"""With these bytes every recording begins."""

How: TypeAlias = Literal["eof", "error", "interrupted"]
"""How the transport of a recording ended."""


class RecordingError(ValueError):
    """A file that is no recording, or a broken one; says which line is wrong."""


class RecordedError(Exception):
    """What broke a recorded transport, raised again; its class has the recorded name."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one read gave."""

    at: float
    """Seconds since the recording began."""
    data: bytes
    """At least one byte."""

    def __post_init__(self) -> None:
        if not self.data:
            raise ValueError("a read has at least one byte")


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What was asked for."""

    method: str
    url: str
    """Without userinfo, query and fragment."""


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """How the answer began."""

    status: int
    reason: str = ""
    """The server's own phrase for the status."""
    content_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those that explain how the body was sent; names in lower case."""

    def __post_init__(self) -> None:
        if not 100 <= self.status <= 999:
            raise ValueError("'status' is not one of HTTP")


@dataclass(frozen=True, slots=True)
class RecordedEnd:
    """How the transport ended."""

    at: float
    """Seconds since the recording began."""
    how: How
    type: str = ""
    """The name of the exception's class; empty at an EOF."""
    message: str = ""
    """What the exception said, or why the recorder left."""

    def __post_init__(self) -> None:
        if self.how not in get_args(How):
            raise ValueError(f"'end' is not one of {', '.join(get_args(How))}")
        if self.how != "eof" and not self.type.isidentifier():
            raise ValueError("'type' is not the name of a class")


@dataclass(frozen=True, slots=True)
class Recording:
    """One response as it came: its reads and its end, with their times."""

    began: datetime
    request: RecordedRequest
    response: RecordedResponse | None
    """`None` if the transport broke before it came."""
    pieces: tuple[Piece, ...]
    end: RecordedEnd | None
    """`None` if the recorder was killed."""

    @property
    def cuts(self) -> Cutting:
        """The bytes of each read, as `chaos_server` and `FaultySource` take them."""
        return [piece.data for piece in self.pieces]

    @property
    def wire(self) -> bytes:
        """All bytes."""
        return b"".join(self.cuts)

    @property
    def delays(self) -> list[float]:
        """The seconds before each read, as `chaos_server` takes them."""
        times = [0.0, *(piece.at for piece in self.pieces)]
        return [later - sooner for sooner, later in pairwise(times)]

    @property
    def error(self) -> RecordedError | None:
        """What to raise where the reads end; `None` after an EOF.

        Where the recorder left, or was killed, the connection was open, and nobody knows what
        would have come: that is an error, too.
        """
        if self.end is None:
            return RecordedError("The recording has no end; its recorder was killed")
        if self.end.how == "eof":
            return None
        kind = type(self.end.type or "RecordedError", (RecordedError,), {})
        return cast("RecordedError", kind(self.end.message))

    @property
    def faults(self) -> list[Fault]:
        """The pauses and the end, as `FaultySource(wire, cuts, faults)` takes them."""
        faults: list[Fault] = []
        offset, now = 0, 0.0
        for piece in self.pieces:
            faults.append(Stall(piece.at - now, at=offset))
            offset, now = offset + len(piece.data), piece.at
        if self.end is not None:
            faults.append(Stall(self.end.at - now))
        return [*faults, Eof() if self.error is None else Raise(self.error)]

    @property
    def ending(self) -> Ending:
        """The end that comes closest, as `chaos_server` takes it.

        A broken transport lacks its last chunk: after a reset, bytes could be lost.
        """
        if self.end is None or self.end.how == "interrupted":
            return Ending.SILENCE
        return Ending.LAST_CHUNK if self.end.how == "eof" else Ending.MISSING_LAST_CHUNK


def is_recording(beginning: bytes) -> bool:
    """Say whether a file that begins with these bytes is a recording, of whatever version."""
    return beginning.startswith(BEGINNING)


def is_field_value(value: object) -> bool:
    """Say whether a header may have this value in a recording: what HTTP calls visible ASCII."""
    return isinstance(value, str) and value.isascii() and value.isprintable()


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Read a recording; raises `RecordingError` if it is none, and `OSError`."""
    return parse_recording(Path(path).read_bytes())


def parse_recording(content: bytes) -> Recording:
    """Return the recording that a file with this content holds; raises `RecordingError`."""
    if not is_recording(content):
        raise RecordingError("it is no recording: line 1 is not the head of one")
    head, *lines = _lines(content)
    if head.get("version") != VERSION:
        raise RecordingError(f"line 1 has a version that this reader does not know, not {VERSION}")
    began, request, response = _checked(1, _head, head)
    ends = [number for number, line in enumerate(lines, 2) if "end" in line]
    if ends and ends[0] <= len(lines):
        raise RecordingError(f"line {ends[0] + 1} stands behind the end")
    pieces = tuple(
        _checked(number, _piece, line) for number, line in enumerate(lines, 2) if "end" not in line
    )
    end = _checked(ends[0], _end, lines[-1]) if ends else None
    _check_order([piece.at for piece in pieces] + ([end.at] if end else []))
    return Recording(began, request, response, pieces, end)


def _lines(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the object of each line; a last one that is torn counts for nothing."""
    *whole, tail = content.split(b"\n")
    for number, line in enumerate(whole, 1):
        yield _object(number, line)
    if tail:
        try:
            yield _object(len(whole) + 1, tail)
        except RecordingError:
            if not whole:
                raise


def _object(number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise RecordingError(f"line {number} is not JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise RecordingError(f"line {number} is not an object")
    return value


def _checked(number: int, make: Any, line: dict[str, Any]) -> Any:
    """Return what a line stands for; names the line if it cannot be that."""
    try:
        return make(line)
    except KeyError as missing:
        raise RecordingError(f"line {number} has no {missing.args[0]!r}") from None
    except (TypeError, ValueError) as wrong:
        raise RecordingError(f"line {number}: {wrong}") from None


def _check_order(times: Iterable[float]) -> None:
    for number, (sooner, later) in enumerate(pairwise(times), 3):
        if later < sooner:
            raise RecordingError(f"line {number}: 'at' is less than on the line before")


def _head(line: dict[str, Any]) -> tuple[datetime, RecordedRequest, RecordedResponse | None]:
    request, response = _part(line, "request", dict), line["response"]
    began = datetime.fromisoformat(_part(line, "began", str))
    asked = RecordedRequest(_part(request, "method", str), _part(request, "url", str))
    if response is None:
        return began, asked, None
    response = _part(line, "response", dict)
    kind, headers = response["content_type"], _part(response, "headers", dict)
    if not all(map(is_field_value, headers.values())) or not (kind is None or is_field_value(kind)):
        raise ValueError("'content_type' and 'headers' are not all printable ASCII")
    status, reason = _part(response, "status", int), _part(response, "reason", str)
    return began, asked, RecordedResponse(status, reason, kind, headers)


def _piece(line: dict[str, Any]) -> Piece:
    try:
        data = base64.b64decode(_part(line, "bytes", str), validate=True)
    except ValueError:
        raise ValueError("'bytes' is not base64") from None
    return Piece(_seconds(line), data)


def _end(line: dict[str, Any]) -> RecordedEnd:
    at, how = _seconds(line), line["end"]
    # Of an end that there is not, that is said; and not that it has no error.
    error = _part(line, "error", dict) if how in ("error", "interrupted") else None
    if error is None:
        return RecordedEnd(at, how)
    return RecordedEnd(at, how, _part(error, "type", str), _part(error, "message", str))


def _seconds(line: dict[str, Any]) -> float:
    at = line["at"]
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise TypeError("'at' is not a number")
    if not 0 <= at <= sys.float_info.max:
        raise ValueError("'at' is not a time")
    return float(at)


_NAMES = {str: "a string", dict: "an object", int: "a whole number"}


def _part(line: dict[str, Any], name: str, kind: type) -> Any:
    value = line[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name!r} is not {_NAMES[kind]}")
    return value
