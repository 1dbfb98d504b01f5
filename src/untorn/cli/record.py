"""`untorn record`: a live response into a file, byte for byte, and when each came."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import click
import httpx2
from anyio import current_time, move_on_after
from rich.progress import Progress, TextColumn

from ..outcome import Outcome
from ..testing.recorder import Recorder, open_recording
from .dialects import media_types
from .output import Notes, console_on
from .reading import dialect_option, idle_option, total_bytes_option, total_option
from .recorded import judged, recording_at
from .redaction import Redaction
from .request import Asking, request_of, request_options, url_of, why
from .show import conclusion
from .source import UnjudgedBytes
from .status import backend_option, run, status_of

__all__ = ["record"]

T = TypeVar("T")

_HELP = """Record the response to a request: its bytes, and when each read came.

The file is one JSON object per line, written as the bytes come, for its owner's eyes
only. It holds no header and no body of the request, no cookie, no query of the URL;
but the whole body of the response, with asterisks for a key that the service repeats.
It is written to the end of the transport, whatever the bytes mean, and judged then.

\b
    untorn record https://api.example.com/v1/chat/completions -o answer.rec \\
        --header 'Authorization: Bearer ${API_KEY}' --data @request.json
    untorn replay answer.rec
    untorn timeline answer.rec
    untorn serve answer.rec

In single quotes ${API_KEY} is left to untorn, which puts in the environment
variable: so the key stands in no list of processes.

Exit status, of what was recorded: 0 completed, 3 interrupted, 4 failed; 2 wrong
usage, 130 after Ctrl-C, which leaves a recording of what had come.
"""


@click.command(cls=Asking, help=_HELP)
@click.argument("url", metavar="URL", callback=url_of)
@click.option(
    "-o",
    "--output",
    "path",
    required=True,
    metavar="FILE",
    type=Path,
    help="The file to write; it must not be there yet.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@dialect_option
@backend_option
@idle_option
@total_option
@total_bytes_option
@request_options
def record(
    url: httpx2.URL,
    path: Path,
    force: bool,
    dialect: str,
    backend: str,
    idle: float | None,
    total: float | None,
    total_bytes: int | None,
    headers: list[tuple[bytes, bytes]],
    data: bytes | None,
    method: str | None,
) -> None:
    """Record the response to its end and exit with the status of its outcome."""
    request = request_of(url, headers, data, method)
    source = UnjudgedBytes(request, media_types(dialect))
    most = sys.maxsize if total_bytes is None else total_bytes
    bounds = _Bounds(idle or inf, total or inf, most)
    redaction = Redaction(source.secrets)
    opened = partial(_recorder, request.method, redaction.text(str(url)), path, force)
    run(partial(_record, source, bounds, redaction, opened), backend)
    raise SystemExit(status_of(run(partial(_judge, path, dialect), backend)))


async def _judge(path: Path, dialect: str) -> Outcome[Any]:
    """Return how the response ended that was recorded, and say it."""
    _, outcome = await judged(recording_at(path), dialect)
    notes = Notes()
    for line, style in conclusion(outcome):
        notes.piece(f"{line}\n", style)
    return outcome


async def _record(
    source: UnjudgedBytes,
    bounds: _Bounds,
    redaction: Redaction,
    opened: Callable[[], AbstractContextManager[Recorder]],
) -> None:
    with opened() as recorder, _counting(recorder) as tick:
        try:
            await _Copy(source, recorder, bounds, redaction, tick).to_the_end()
            recorder.end("eof")
        except _Left as left:
            recorder.end("interrupted", "RecordingStopped", str(left))
        except _Broken as broken:
            recorder.end("error", broken.type, str(broken))


@contextmanager
def _recorder(method: str, url: str, path: Path, force: bool) -> Iterator[Recorder]:
    """Open the file, and say at the end what is in it."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is not a regular file")
        file = open_recording(path, force=force)
    except FileExistsError:
        raise click.UsageError(f"{str(path)!r} is there; --force writes over it.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name, too
        raise click.UsageError(f"{str(path)!r} cannot be written: {why(error)}.") from None
    recorder = Recorder(file, method, url)
    try:
        with recorder:
            yield recorder
    finally:
        Notes().piece(f"Recorded: {_so_far(recorder)}.\n")


@contextmanager
def _counting(recorder: Recorder) -> Iterator[Callable[[], None]]:
    """Yield what shows, on a terminal, how much there is."""
    console = console_on(sys.stderr)
    progress = Progress(TextColumn("{task.description}"), console=console, transient=True)
    with progress if console.is_terminal else nullcontext():
        task = progress.add_task("Waiting for the response")
        yield lambda: progress.update(task, description=_so_far(recorder))


def _so_far(recorder: Recorder) -> str:
    reads = "1 read" if recorder.reads == 1 else f"{recorder.reads:,} reads"
    return f"{reads}, {recorder.bytes:,} bytes in {recorder.seconds:.2f} seconds"


# --- what is recorded ---------------------------------------------------------------


class _Left(Exception):
    """The recorder leaves an open connection, and says why."""


class _Broken(Exception):
    """The transport broke: the name of its exception, and what it says."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.type = type(error).__name__


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How long the recorder waits at most, in seconds, and what it takes at most, in bytes."""

    idle: float
    total: float
    bytes: int


class _Copy:
    """One response, copied into a recorder."""

    def __init__(
        self,
        source: UnjudgedBytes,
        recorder: Recorder,
        bounds: _Bounds,
        redaction: Redaction,
        tick: Callable[[], None],
    ) -> None:
        self._source = source
        self._recorder = recorder
        self._bounds = bounds
        self._redaction = redaction
        self._room = bounds.bytes
        self._tick = tick
        self._until = current_time() + bounds.total

    async def to_the_end(self) -> None:
        """Copy it to the end of the transport; raises `_Broken` and `_Left`."""
        try:
            answer = await self._in_time(self._source.head())
            shown = self._redaction.text
            headers = {name: shown(value) for name, value in answer.response.headers.items()}
            self._recorder.response(answer.status, shown(answer.reason), headers)
            if answer.undecodable:
                given = headers.get("content-encoding", "")
                coding = (
                    answer.undecodable[0] if given == answer.field("content-encoding") else given
                )
                raise _Left(f"nothing here can decode {coding!r}")
            while (chunk := await self._in_time(anext(self._source, None))) is not None:
                self._take(chunk)
                self._tick()
        finally:
            self._recorder.piece(self._redaction.end().encode("latin-1"))
            with suppress(Exception):  # what there was is recorded
                await self._source.aclose()

    def _take(self, chunk: bytes) -> None:
        self._recorder.piece(self._redaction.octets(chunk[: self._room]))
        self._room -= len(chunk)
        if self._room < 0:
            raise _Left(f"more than {self._bounds.bytes:,} bytes came")

    async def _in_time(self, waiting: Awaitable[T]) -> T:
        """Wait for what the connection gives; only this can break it, and not the file."""
        left = self._until - current_time()
        with move_on_after(min(self._bounds.idle, left)):
            try:
                return await waiting
            except Exception as error:
                raise _Broken(error) from None
        if left <= self._bounds.idle:
            raise _Left(f"{self._bounds.total:g} seconds were over")
        raise _Left(f"no byte came for {self._bounds.idle:g} seconds")
