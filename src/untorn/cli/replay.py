"""`untorn replay`: a recording through the pipeline, at the pace at which it came."""

from __future__ import annotations

from functools import partial
from math import inf

import click

from ..testing.recording import Recording
from .reading import Reading, dialect_option, json_option
from .recorded import bytes_of, recording_argument
from .status import backend_option, run, status_of

__all__ = ["replay"]

_HELP = """Read what `untorn record` has recorded, at the pace at which it came.

It shows what `untorn read` would have shown, and ends as the transport ended. Where
the recorder left an open connection, or was killed, the transport breaks.

\b
    untorn replay answer.rec
    untorn replay answer.rec --speed 10
    untorn replay answer.rec --speed 0 --json

Exit status: 0 completed, 3 interrupted, 4 failed, 2 wrong usage.
"""


def _speed(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if not 0 <= value < inf:
        raise click.BadParameter("give a positive number, or 0 for at once.", ctx, param)
    return value


@click.command(help=_HELP)
@recording_argument
@click.option(
    "--speed",
    type=float,
    default=1.0,
    show_default=True,
    callback=_speed,
    help="How many times as fast as it came; 0: all at once.",
)
@dialect_option
@json_option
@backend_option
def replay(recording: Recording, speed: float, dialect: str, as_json: bool, backend: str) -> None:
    """Read the recording to its end and exit with the status of its outcome."""
    reading = Reading(dialect, as_json)
    source = bytes_of(recording, dialect, speed)
    raise SystemExit(status_of(run(partial(reading.read, source), backend)))
