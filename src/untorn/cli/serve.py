"""`untorn serve`: a capture over HTTP, cut and ended as told, for a client in any language."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import click

from ..testing.chaos import ChaosServer
from ..testing.cuts import Cutting, boundaries, bytewise, cuts_at, seeded
from ..testing.recording import RecordedResponse, is_recording
from ..testing.response import ContentEncoding, Ending, Response
from .given import header, pause
from .output import Notes, Output
from .recorded import recording_at
from .status import COMPLETED, run

__all__ = ["serve"]

_HELP = """Serve a file to every request, cut and ended as told.

A recording of `untorn record` is served as it came: its status, its media type, its
reads at their times, and the end that comes closest (silence, if the recorder left).
Whatever is told goes before; other cuts are served without its times.

The address is written to standard output, a line for each request to standard
error. Only this machine can connect. Each piece is one HTTP chunk.

\b
    untorn serve answer.sse
    untorn serve answer.rec
    untorn serve answer.sse --bytewise --delay 0.01
    untorn serve answer.sse --until 700 --ending missing-last-chunk
    untorn serve answer.sse --seeded 9 --seed 3 --encoding gzip --once
    untorn serve busy.json --status 503 --header "Content-Type: application/json"

Endings: last-chunk (properly), missing-last-chunk, close (no length and no chunks),
reset (TCP RST), silence, comments.

Exit status: 0 after the last of --requests, 2 wrong usage, 130 after Ctrl-C.
"""


def _headers(ctx: click.Context, param: click.Parameter, lines: tuple[str, ...]) -> dict[str, str]:
    pairs = [header(ctx, param, line) for line in lines]
    return {name.decode().lower(): value.decode("latin-1") for name, value in pairs}


_count: Final = click.IntRange(min=1)


@click.command(help=_HELP)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--until", type=click.IntRange(min=0), help="Serve only so many bytes.")
@click.option("--every", type=_count, help="Cut after every so many bytes.")
@click.option("--at", "offsets", type=_count, multiple=True, help="Cut at this byte; repeat it.")
@click.option("--bytewise", "is_bytewise", is_flag=True, help="Cut between all bytes.")
@click.option("--seeded", "pieces", type=_count, help="Cut into so many pieces, at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="What --seeded draws from.")
@click.option("--delay", type=float, callback=pause, help="Seconds before each piece.")
@click.option(
    "--ending",
    type=click.Choice([ending.value for ending in Ending]),
    help="How the body ends; last-chunk, or as recorded, if not given.",
)
@click.option(
    "--ping",
    type=float,
    default=1.0,
    show_default=True,
    callback=pause,
    help="Seconds between the comments of that ending.",
)
@click.option(
    "--status",
    type=click.IntRange(200, 599),
    help="The status; 200, or the recorded one, if not given.",
)
@click.option(
    "--header", "headers", multiple=True, callback=_headers, help="'Name: value' to send."
)
@click.option("--encoding", type=click.Choice(["gzip", "deflate"]), help="The content-encoding.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port; any free one if not given."
)
@click.option("--requests", type=_count, help="Stop after so many requests.")
@click.option("--once", is_flag=True, help="The same as --requests 1.")
def serve(
    file: Path,
    until: int | None,
    delay: float | None,
    ending: str | None,
    ping: float,
    status: int | None,
    headers: dict[str, str],
    encoding: ContentEncoding | None,
    port: int,
    requests: int | None,
    once: bool,
    **cuts: Any,
) -> None:
    """Serve the file until Ctrl-C, or for so many requests."""
    if once and requests is not None:
        raise click.UsageError("give --once or --requests, not both.")
    served = _served(file)
    wire = served.wire[:until]
    told = _Cuts(**cuts).of(wire)
    pieces = served.pieces_until(len(wire)) if told is None else told
    response = Response(
        pieces,
        status or served.status,
        {**served.headers, **headers},
        encoding,
        served.ending if ending is None else Ending(ending),
    )
    delays = served.delays if delay is None and told is None else delay or 0.0
    server = _Server(response, delays, ping, port)
    server.most = 1 if once else requests
    # Without --backend: a server for others, whose loop is nobody's business.
    run(partial(_serve, server), "asyncio")
    raise SystemExit(COMPLETED)


@dataclass(frozen=True, slots=True)
class _Served:
    """What a file says of how it is served."""

    pieces: Cutting
    delays: Sequence[float] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = Ending.LAST_CHUNK

    @property
    def wire(self) -> bytes:
        return b"".join(self.pieces)

    def pieces_until(self, stop: int) -> Cutting:
        return cuts_at(self.wire[:stop], [cut for cut in boundaries(self.pieces) if cut < stop])


def _served(file: Path) -> _Served:
    content = file.read_bytes()
    if not is_recording(content):
        return _Served([content])
    recording = recording_at(file)
    response = recording.response or RecordedResponse(200)
    headers = {"content-type": response.content_type} if response.content_type else {}
    return _Served(recording.cuts, recording.delays, response.status, headers, recording.ending)


@dataclass(frozen=True, slots=True)
class _Cuts:
    """The options that say where to cut."""

    every: int | None
    offsets: tuple[int, ...]
    is_bytewise: bool
    pieces: int | None
    seed: int

    def of(self, wire: bytes) -> Cutting | None:
        """Return the pieces; `None` if none of the options was given."""
        given = [self.every, self.offsets or None, self.is_bytewise or None, self.pieces]
        if len([option for option in given if option is not None]) > 1:
            raise click.UsageError("give one of --every, --at, --bytewise and --seeded.")
        if self.is_bytewise:
            return bytewise(wire)
        if self.pieces is not None:
            return seeded(wire, self.pieces, self.seed)
        if not self.every and not self.offsets:
            return None
        offsets = range(self.every, len(wire), self.every) if self.every else self.offsets
        try:
            return cuts_at(wire, offsets)
        except ValueError:
            raise click.UsageError(f"--at lies beyond the {len(wire)} bytes served.") from None


class _Server(ChaosServer):
    """The chaos server, which tells of each request and counts the answered ones."""

    most: int | None = None

    async def __aenter__(self) -> _Server:
        self._notes = Notes()
        self._answered = 0
        self.is_done = anyio.Event()
        await super().__aenter__()
        return self

    async def _respond(self, connection: Any) -> None:
        asked = self.requests[-1]
        size = f", {len(asked.body)} bytes" if asked.body else ""
        number = len(self.requests)
        where = f"connection {asked.connection + 1}"
        self._notes.piece(f"{number}. {asked.method} {asked.target}{size} ({where})\n")
        try:
            await super()._respond(connection)
        finally:
            self._answered += 1
            if self._answered == self.most:
                self.is_done.set()


async def _serve(server: _Server) -> None:
    try:
        await server.__aenter__()
    except OSError as error:
        raise click.ClickException(
            f"the port {server.port} cannot be listened on: {error.strerror}."
        ) from None
    try:
        out = Output(sys.stdout.buffer)
        out.write(f"{server.url}\n")
        await out.flush()
        await server.is_done.wait()
    finally:
        await server.__aexit__(None, None, None)
