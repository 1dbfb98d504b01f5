"""The response of a recording, as it came: its head, its reads at their times, its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click
import httpx2
from anyio import current_time, sleep
from anyio.lowlevel import checkpoint

from ..limits import Clocks
from ..outcome import Outcome
from ..reduce import Dialect
from ..stream import collect
from ..testing.recording import RecordedResponse, Recording, RecordingError, read_recording
from .dialects import media_types
from .peek import Peeked
from .reading import dialect_of
from .request import Request, why
from .source import ResponseBytes

__all__ = ["bytes_of", "judged", "recording_argument", "recording_at"]


def recording_at(
    path: Path, ctx: click.Context | None = None, param: click.Parameter | None = None
) -> Recording:
    """Return the recording in a file; wrong usage if it holds none."""
    try:
        return read_recording(path)
    except RecordingError as error:
        said = f"{str(path)!r} cannot be used: {error}."
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        said = f"{str(path)!r} cannot be opened: {why(error)}."
    raise click.BadParameter(said, ctx, param)


def _recording(ctx: click.Context, param: click.Parameter, value: str) -> Recording:
    return recording_at(Path(value), ctx, param)


recording_argument = click.argument("recording", metavar="FILE", callback=_recording)


def bytes_of(recording: Recording, dialect: str, speed: float = 0) -> ResponseBytes:
    """Return the bytes of a recording, judged as those of a live response are.

    dialect
        The name of the dialect to which the media type must fit, or `AUTO`.
    speed
        How many times as fast as it came; 0: all at once.
    """
    asked = recording.request
    # The URL of a recording that was written by hand may be none; nothing is asked of it.
    request = Request(asked.method, httpx2.URL("http://recording.invalid/"), httpx2.Headers(), None)
    return ResponseBytes(request, media_types(dialect), _Transport(recording, speed))


async def judged(recording: Recording, name: str) -> tuple[Dialect[Any, Any], Outcome[Any]]:
    """Return the dialect of a recording, as it is called or shows itself, and how it ended."""
    async with aclosing(Peeked(bytes_of(recording, name), Clocks())) as source:
        dialect = await dialect_of(source, name)
        return dialect, await collect(source, dialect)


class _Transport(httpx2.AsyncBaseTransport):
    """Stands for the network: whatever is asked, the recorded response is the answer."""

    def __init__(self, recording: Recording, speed: float) -> None:
        self._recording = recording
        self._speed = speed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # Where no response came, or it was not HTTP, there is no head to judge.
        head = self._recording.response or RecordedResponse(200)
        kind = {} if head.content_type is None else {"content-type": head.content_type}
        # What said how the body was coded is no longer so.
        coding = ("content-encoding", "content-length", "transfer-encoding")
        kept = {name: value for name, value in head.headers.items() if name not in coding}
        return httpx2.Response(
            head.status,
            headers=kept | kind,
            stream=_Paced(self._recording, self._speed),
            extensions={"reason_phrase": head.reason.encode("ascii", "ignore")},
        )


class _Paced(httpx2.AsyncByteStream):
    """The reads of a recording, each when it is due."""

    def __init__(self, recording: Recording, speed: float) -> None:
        self._recording = recording
        self._speed = speed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        began = current_time()
        for piece in self._recording.pieces:
            await self._until(began, piece.at)
            yield piece.data
        if (end := self._recording.end) is not None:
            await self._until(began, end.at)
        if (error := self._recording.error) is not None:
            raise error

    async def _until(self, began: float, at: float) -> None:
        """Wait until it is due, counted from the beginning, so that no delay adds up."""
        due = began + (at / self._speed if self._speed else 0.0)
        seconds = due - current_time()
        await (sleep(min(seconds, _LONGEST)) if seconds > 0 else checkpoint())


# What loops can wait for: about a century.
_LONGEST = 3e9
