"""The recorder: writes a recording while it happens, and nothing that could be a secret."""

from __future__ import annotations

import base64
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, BinaryIO, Self
from urllib.parse import urlsplit, urlunsplit

from .recording import (
    VERSION,
    How,
    Piece,
    RecordedEnd,
    RecordedRequest,
    RecordedResponse,
    Recording,
    is_field_value,
)

__all__ = ["Recorder", "harmless", "open_recording", "write_recording"]

# What tells how a body was sent, and by whom. Whatever is not listed is left out: cookies, links
# with tokens in them, ids of accounts and organisations.
HARMLESS = frozenset(
    {
        "age",
        "cache-control",
        "connection",
        "content-encoding",
        "content-length",
        "date",
        "keep-alive",
        "location",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "server",
        "transfer-encoding",
        "via",
        "x-accel-buffering",
        "x-amzn-requestid",
        "x-request-id",
    }
)


class Recorder:
    """Writes a recording line by line, each flushed as it is written.

    Call `response` when the head of the response is there, `piece` for each read, and `end`.
    Where the block is left without an end, the recorder has left an open connection, and that is
    the end which is written. The time counts from when it is made; nothing is written before the
    first call.

    file
        Where to write; it is closed when the block is left.
    method, url
        Those of the request; userinfo, query and fragment of the URL are left out.
    clock
        Returns the time, in seconds.
    """

    def __init__(
        self,
        file: BinaryIO,
        method: str,
        url: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = file
        self._request = RecordedRequest(method, harmless(url))
        self._clock = clock
        self._started = clock()
        self._began = datetime.now(UTC)
        self._has_head = self._has_end = False
        self.reads = 0
        """How many reads were recorded."""
        self.bytes = 0
        """How many bytes were recorded."""

    @property
    def seconds(self) -> float:
        """The time since the beginning, in seconds, to the microsecond."""
        return round(self._clock() - self._started, 6)

    def __enter__(self) -> Self:
        """Return the recorder."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write the end if there was none, and close the file."""
        try:
            if not self._has_end:
                self.end("interrupted", "RecordingStopped", "The recorder was stopped")
        finally:
            self._file.close()

    def response(
        self, status: int, reason: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Write the head; of the headers, only those that are on the allow list."""
        given = {
            name.lower(): value for name, value in (headers or {}).items() if is_field_value(value)
        }
        kind = given.get("content-type")
        self._head(RecordedResponse(status, reason, kind, dict(_harmless_of(given))))

    def piece(self, data: bytes) -> None:
        """Write what one read gave, now; nothing if it gave nothing."""
        if not data:
            return
        self._head(None)
        self.reads += 1
        self.bytes += len(data)
        _write(self._file, _piece(Piece(self.seconds, data)))

    def end(self, how: How, type: str = "", message: str = "") -> None:
        """Write how the transport ended, now: the exception, unless it is an EOF."""
        end = RecordedEnd(self.seconds, how, type, message)
        self._has_end = True
        self._head(None)
        _write(self._file, _end(end))

    def _head(self, response: RecordedResponse | None) -> None:
        if not self._has_head:
            self._has_head = True
            _write(self._file, _head(self._began, self._request, response))


def write_recording(
    path: str | os.PathLike[str], recording: Recording, *, force: bool = False
) -> None:
    """Write a recording to a file; `read_recording` of it gives the same again.

    Raises `FileExistsError` if it is there, unless `force` says to write over it.
    """
    with open_recording(path, force=force) as file:
        _write(file, _head(recording.began, recording.request, recording.response))
        for piece in recording.pieces:
            _write(file, _piece(piece))
        if recording.end is not None:
            _write(file, _end(recording.end))


def open_recording(path: str | os.PathLike[str], *, force: bool = False) -> BinaryIO:
    """Create the file for a recording, for its owner's eyes only (mode 0600).

    Raises `FileExistsError` if it is there, unless `force` says to write over it.
    """
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | (os.O_TRUNC if force else os.O_EXCL), 0o600)
    # A file that was there has kept its mode. A device is not ours to close to others.
    if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "wb")


def harmless(url: str) -> str:
    """Return a URL without userinfo, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _harmless_of(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in headers.items():
        if name == "location":
            with suppress(ValueError):  # what is no URL is left out
                yield name, harmless(value)
        elif name in HARMLESS:
            yield name, value


def _head(
    began: datetime, request: RecordedRequest, response: RecordedResponse | None
) -> dict[str, Any]:
    head: dict[str, Any] = {"untorn": "recording", "version": VERSION, "began": began.isoformat()}
    head["request"] = {"method": request.method, "url": request.url}
    head["response"] = response and {
        "status": response.status,
        "reason": response.reason,
        "content_type": response.content_type,
        "headers": dict(response.headers),
    }
    return head


def _piece(piece: Piece) -> dict[str, Any]:
    return {"at": piece.at, "bytes": base64.b64encode(piece.data).decode("ascii")}


def _end(end: RecordedEnd) -> dict[str, Any]:
    error = None if end.how == "eof" else {"type": end.type, "message": end.message}
    return {"at": end.at, "end": end.how, "error": error}


def _write(file: BinaryIO, line: dict[str, Any]) -> None:
    # In ASCII: whatever a server's phrase or an exception holds can be written so.
    file.write(json.dumps(line).encode("ascii") + b"\n")
    file.flush()
