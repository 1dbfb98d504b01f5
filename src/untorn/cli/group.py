"""The group that all subcommands hang on."""

from __future__ import annotations

from typing import Any

import click

from .ctrl_c import is_ctrl_c, leave
from .demo import demo
from .read import read
from .record import record
from .replay import replay
from .serve import serve
from .timeline import timeline
from .torture import torture
from .verdict import verdict

__all__ = ["group"]

_HELP = """Read streamed responses so that a torn answer never looks whole.

\b
    untorn demo                       see the difference in five seconds
    untorn read answer.sse            read a capture
    curl -N ... | untorn read -       read what another program receives
    untorn record URL -o answer.rec   record a live response, and when each byte came
    untorn replay answer.rec          read it again, at that pace
    untorn timeline answer.rec        see its reads, events and stalls in one picture
    untorn serve answer.sse           serve it, cut and ended as told
    untorn torture answer.sse         put a parser through every cut and prefix of it
    untorn verdict                    see which endings a client notices

Exit status: 0 completed, 3 interrupted, 4 failed, 2 wrong usage.
"""


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand; a Ctrl-C that it leaves to others ends it quietly."""
        try:
            return super().invoke(ctx)
        except BaseException as error:
            if is_ctrl_c(error):
                leave()
            raise


@click.group(cls=_Group, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="untorn", prog_name="untorn")
def group() -> None:
    """Gather the subcommands."""


group.add_command(demo)
group.add_command(read)
group.add_command(record)
group.add_command(replay)
group.add_command(serve)
group.add_command(timeline)
group.add_command(torture)
group.add_command(verdict)
