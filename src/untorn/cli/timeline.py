"""`untorn timeline`: a recording as one picture of its reads, its events and its stalls."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Any, Final

import click
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ..json_text import json_text
from ..outcome import Outcome
from ..testing.recording import Recording
from .given import seconds
from .output import Output, console_on, visible
from .picture import Moment, Picture
from .reading import dialect_option
from .recorded import judged, recording_argument
from .show import conclusion, event_object, outcome_object
from .status import backend_option, run, status_of

__all__ = ["timeline"]

COLUMNS: Final = 100
_BAR: Final = 16
_TEXT: Final = 24

_HELP = """Show what `untorn record` has recorded: when it came, and what it completed.

One line per read: when it came, how long it was waited for (the bar is the longest
wait, to scale), its bytes, and the events that were whole with it.

\b
    untorn timeline answer.rec
    untorn timeline answer.rec --stall 0.2
    untorn timeline answer.rec --json

A - stands where nothing was whole yet.

Exit status: 0 completed, 3 interrupted, 4 failed, 2 wrong usage.
"""


@click.command(help=_HELP)
@recording_argument
@click.option(
    "--stall",
    type=float,
    default=1.0,
    show_default=True,
    callback=seconds,
    help="Mark waits of so many seconds and more.",
)
@dialect_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write JSON, one object per line: the recording, each read, the end, the outcome.",
)
@backend_option
def timeline(recording: Recording, stall: float, dialect: str, as_json: bool, backend: str) -> None:
    """Draw the recording and exit with the status of its outcome."""
    write = _write_json if as_json else _write_text
    outcome = run(partial(_timeline, recording, stall, dialect, write), backend)
    raise SystemExit(status_of(outcome))


async def _timeline(recording: Recording, stall: float, name: str, write: Any) -> Outcome[Any]:
    dialect, outcome = await judged(recording, name)
    await write(Picture.of(recording, stall, dialect, outcome))
    return outcome


# --- for people ---------------------------------------------------------------------


async def _write_text(picture: Picture) -> None:
    console = console_on(sys.stdout)
    for line, style in _lines(picture):
        console.print(Text(_cropped(visible(line).rstrip(), COLUMNS), style))
    for line, style in conclusion(picture.outcome):
        console.print(Text(visible(line), style))


def _cropped(text: str, most: int) -> str:
    """Return a text in at most so many columns of a terminal."""
    return text if cell_len(text) <= most else set_cell_size(text, most - 3).rstrip() + "..."


def _lines(picture: Picture) -> Iterator[tuple[str, str]]:
    recording = picture.recording
    yield f"{recording.request.method} {recording.request.url}", "bold"
    yield f"{_response(recording)}, read as {picture.dialect}", ""
    yield "", ""
    yield f"{'at s':>9} {'wait s':>8} {'':{_BAR}} {'bytes':>7}  events", "dim"
    for moment in picture.reads:
        yield _line(picture, moment, f"{moment.bytes:7,}", _said(moment)), _style(picture, moment)
    end = recording.end.how if recording.end else "killed"
    yield (
        _line(picture, picture.end, f"{'end':>7}", _said(picture.end, end)),
        _style(picture, picture.end),
    )
    yield "", ""


def _response(recording: Recording) -> str:
    began = f"{recording.began:%Y-%m-%d %H:%M:%S %Z}".rstrip()
    response = recording.response
    if response is None:
        return f"no response, {began}"
    kind = response.content_type or "no content type"
    return f"{response.status} {response.reason}".rstrip() + f", {kind}, {began}"


def _line(picture: Picture, moment: Moment, size: str, said: str) -> str:
    longest = picture.longest
    bar = "#" * round(moment.wait / longest * _BAR) if longest else ""
    mark = "STALL  " if picture.is_stall(moment) else ""
    return f"{moment.at:9.3f} {moment.wait:8.3f} {bar:{_BAR}} {size}  {mark}{said}"


def _style(picture: Picture, moment: Moment) -> str:
    if picture.is_stall(moment):
        return "bold yellow"
    return "" if moment.events else "dim"


def _said(moment: Moment, end: str = "") -> str:
    """Return the events of a moment in words, those of one kind together."""
    named = [event_object(event) for event in moment.events]
    parts = [end] if end else []
    for kind, group in groupby(named, key=lambda event: event["kind"]):
        same = list(group)
        number = f"{len(same)} " if len(same) > 1 else ""
        text = _cropped("".join(map(_text, same)), _TEXT)
        parts.append(f"{number}{kind}" + (f" {json_text(text)}" if text else ""))
    if not parts:
        return "(behind the outcome)" if moment.is_behind else "-"
    return ", ".join(parts)


def _text(event: dict[str, Any]) -> str:
    for name in ("text", "arguments", "data"):
        if isinstance(text := event.get(name), str):
            return text
    return ""


# --- for programs -------------------------------------------------------------------


async def _write_json(picture: Picture) -> None:
    out = Output(sys.stdout.buffer)
    for value in _objects(picture):
        out.write(json_text(value) + "\n")
        await out.flush()


def _objects(picture: Picture) -> Iterator[dict[str, Any]]:
    recording, response, end = picture.recording, picture.recording.response, picture.recording.end
    yield {
        "kind": "recording",
        "began": recording.began.isoformat(),
        "method": recording.request.method,
        "url": recording.request.url,
        "status": response and response.status,
        "content_type": response and response.content_type,
        "dialect": picture.dialect,
    }
    for moment in picture.reads:
        yield {"kind": "read", **_object(picture, moment), "bytes": moment.bytes}
    yield {
        "kind": "end",
        **_object(picture, picture.end),
        "end": end and end.how,
        "error": {"type": end.type, "message": end.message} if end and end.type else None,
    }
    yield {"kind": "outcome", **outcome_object(picture.outcome)}


def _object(picture: Picture, moment: Moment) -> dict[str, Any]:
    return {
        "at": moment.at,
        "wait": round(moment.wait, 6),
        "stall": picture.is_stall(moment),
        "events": [event_object(event) for event in moment.events],
    }
