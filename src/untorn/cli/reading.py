"""A source read to its end and shown, and the options that say how."""

from __future__ import annotations

import sys
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Final

import click
from anyio import CancelScope, get_cancelled_exc_class

from ..event import Message
from ..faults import LimitExceeded
from ..limits import Clocks, Limits
from ..outcome import Cause, Failed, Interrupted, Outcome
from ..reduce import Dialect
from ..stream import open_stream
from .dialects import AUTO, DIALECTS
from .given import seconds
from .output import Notes, Output
from .peek import Peeked
from .redaction import Redaction
from .show import JsonShow, Show, TextShow
from .source import Bytes

__all__ = [
    "Reading",
    "count",
    "dialect_of",
    "dialect_option",
    "idle_option",
    "json_option",
    "total_bytes_option",
    "total_option",
]


count: Final = click.IntRange(min=1)

dialect_option: Final = click.option(
    "--dialect",
    type=click.Choice([AUTO, *DIALECTS]),
    default=AUTO,
    show_default=True,
    help="What the bytes mean; auto looks at the content type and the first frame.",
)
json_option: Final = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write JSON, one object per line: each event, then the outcome.",
)
idle_option: Final = click.option(
    "--idle", type=float, callback=seconds, help="Wait at most so many seconds for the next byte."
)
total_option: Final = click.option(
    "--total", type=float, callback=seconds, help="Wait at most so many seconds in all."
)
total_bytes_option: Final = click.option(
    "--total-bytes", type=count, help="The longest stream that is read."
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a source is read and shown."""

    dialect: str
    as_json: bool
    limits: dict[str, int | None] = field(default_factory=dict)
    """Those that were given; the dialect has the others."""
    clocks: Clocks = field(default_factory=Clocks)
    keys: set[str] = field(default_factory=set, repr=False)
    """What is not shown, though it may be in the stream."""

    async def read(self, opened: Bytes) -> Outcome[Any]:
        """Read a source to its end, show it, and return the outcome."""
        async with aclosing(Peeked(opened, self.clocks)) as source:
            dialect = await dialect_of(source, self.dialect)
            stream = show = None
            try:
                async with open_stream(
                    source, dialect, limits=self._limits(dialect), clocks=source.clocks
                ) as stream:
                    show = self._show(stream.value)
                    async for event in stream.events():
                        await show.event(event)
            except (KeyboardInterrupt, get_cancelled_exc_class()):
                if stream is not None and show is not None and stream.outcome is not None:
                    with CancelScope(shield=True):
                        await show.outcome(_cancelled(stream.outcome))
                raise
            assert stream.outcome is not None
            self._name_the_option(stream.outcome)
            await show.outcome(stream.outcome)
            return stream.outcome

    def _name_the_option(self, outcome: Outcome[Any]) -> None:
        """Let a limit be raised by the option of the command, where it has one."""
        fault = outcome.error if isinstance(outcome, Failed) else None
        if isinstance(fault, LimitExceeded) and fault.limit in self.limits:
            option = f"--{fault.limit.replace('_', '-')}"
            fault.sentence = fault.sentence.replace(f"Limits({fault.limit}=...)", option)

    def _limits(self, dialect: Dialect[Any, Any]) -> Limits:
        given = {name: value for name, value in self.limits.items() if value is not None}
        return replace(dialect.limits, **given)

    def _show(self, value: Any) -> Show:
        # Each has its own, for each is a text of its own.
        redaction, stdout = Redaction(self.keys), sys.stdout.buffer
        if self.as_json:
            return JsonShow(Output(stdout), redaction)
        notes = Notes(Redaction(self.keys))
        return TextShow(Output(stdout, redaction), notes, is_chat=isinstance(value, Message))


def _cancelled(outcome: Outcome[Any]) -> Outcome[Any]:
    """Return the outcome after Ctrl-C, which is no cancellation where trio raises it."""
    if isinstance(outcome, Interrupted) and outcome.cause is Cause.ABANDONED:
        return replace(outcome, cause=Cause.CANCELLED)
    return outcome


async def dialect_of(source: Peeked, name: str) -> Dialect[Any, Any]:
    """Return the dialect of this name; for `AUTO`, what the source shows itself to be."""
    named = DIALECTS.get(name)
    return await source.dialect() if named is None else named.dialect()
