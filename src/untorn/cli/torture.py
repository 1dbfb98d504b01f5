"""`untorn torture`: every cut and every prefix of a capture, through our parsers or another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import click
from rich.console import Console
from rich.progress import Progress

from ..dialects.detect import detect
from ..fold import parse
from ..reduce import Dialect
from ..testing.answer import Answer, Chunks, Parse
from ..testing.assertion import assert_untorn
from ..testing.case import Effort, cut_cases, prefix_cases, silent_cases
from ..testing.finding import Expected
from ..testing.parsers import OURS, PARSERS
from ..testing.torn_parser import TornParserError
from .ctrl_c import counting_once
from .dialects import AUTO, DIALECTS
from .named import listed, named, own
from .output import console_on, visible

__all__ = ["torture"]

AnyDialect: TypeAlias = Dialect[Any, Any]

TORN: Final = 1

_HELP = """Put a parser through every cut and every early end of a capture.

What a parser says must follow from the bytes, and not from how they were cut; and
what it says of a beginning must be a beginning of what it says of the whole. Whether it
notices that an answer is not whole is not judged here, but by `untorn verdict`. Our own
parsers are the default: both must say the same, and hand out each event at once.

\b
    untorn torture answer.sse
    untorn torture answer.sse --parser httpx-sse
    untorn torture answer.sse --parser my_reader:events
    untorn torture --list

A parser of your own is a function that takes an iterable (or async iterator) of
bytes and returns, or yields, its events.

Exit status: 0 cut-proof, 1 torn (and a reproducer is written), 2 wrong usage.
"""


def _list(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo("\n".join(listed(PARSERS)))
        ctx.exit()


@click.command(help=_HELP)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--dialect",
    type=click.Choice([AUTO, *DIALECTS]),
    default=AUTO,
    show_default=True,
    help="What the bytes mean to our parsers; auto looks at the first frame.",
)
@click.option("--parser", metavar="NAME|MODULE:FUNCTION", help="The parser; ours if not given.")
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="List the parsers that have a name.",
)
@click.option("--prefixes/--no-prefixes", default=True, help="Whether to end the stream early.")
@click.option(
    "--prompt/--no-prompt",
    default=None,
    help="Whether an event must come before the next byte; ours must.",
)
@click.option(
    "--exhaustive",
    type=click.IntRange(min=0),
    default=512,
    show_default=True,
    help="Up to so many bytes try every cut and prefix; of a longer capture, a sample.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="The size of a sample.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="What samples draw from.")
@click.option(
    "--reproducers",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the reproducer.",
)
def torture(file: Path, dialect: str, parser: str | None, **options: Any) -> None:
    """Put the parsers through the capture; exits with 1 at the first that is torn."""
    wire = file.read_bytes()
    meaning = detect(None, wire) if dialect == AUTO else DIALECTS[dialect].dialect()
    effort = Effort(options.pop("exhaustive"), options.pop("samples"), options.pop("seed"))
    session = _Session(wire, meaning, effort, **options)
    console = console_on(sys.stdout)
    with counting_once():
        for name in [parser] if parser else OURS:
            session.torture(name, console)
    console.print(
        "The end was not judged: untorn verdict shows who notices an answer that is torn."
    )


@dataclass(frozen=True, slots=True)
class _Session:
    """What is put to each parser."""

    wire: bytes
    dialect: AnyDialect
    effort: Effort
    prefixes: bool
    prompt: bool | None
    reproducers: Path | None

    def torture(self, name: str, console: Console) -> None:
        """Put one parser through all, and say what became of it."""
        read: Parse = own(name) if ":" in name else named("parser", name, PARSERS)(self.dialect)
        is_prompt = name in OURS if self.prompt is None else self.prompt
        size = self._size(is_prompt)
        try:
            with _counting(read, name, size) as counted:
                answer = self._answer(counted, name, is_prompt)
        except TornParserError as torn:
            console.print(visible(str(torn)), style="red")
            console.print(f"Torn: {name}. {visible(torn.path.as_posix())}", style="bold red")
            raise SystemExit(TORN) from None
        self._conclude(name, answer, console, size)

    def _answer(self, read: Parse, name: str, is_prompt: bool) -> Answer:
        """Return what the parser makes of the whole; raises `TornParserError`."""
        return assert_untorn(
            read,
            self.wire,
            expected=self._reference() if name in OURS else None,
            prefixes=self.prefixes,
            prompt=is_prompt,
            exhaustive=self.effort.exhaustive,
            samples=self.effort.samples,
            seed=self.effort.seed,
            parameters={"parser": name, "dialect": repr(self.dialect)},
            name=name,
            reproducers=self.reproducers,
        )

    def _reference(self) -> Expected:
        """Return what gives the right events of any bytes: the reader without I/O."""
        return lambda wire: parse([wire], self.dialect).events()

    def _size(self, prompt: bool) -> int:
        """Return how many cases there are."""
        cases = [cut_cases(self.wire, "eof", self.effort)]
        cases += [prefix_cases(self.wire, "eof", self.effort)] if self.prefixes else []
        cases += [silent_cases(self.wire, self.effort)] if prompt else []
        return sum(1 for kind in cases for _ in kind)

    def _conclude(self, name: str, answer: Answer, console: Console, size: int) -> None:
        if not answer.events:
            raise click.UsageError(
                f"{name} reads no event from this capture, so nothing is shown"
                + (f" (it raises {answer.raised})" if answer.raised else "")
                + "; give it one that it understands."
            )
        whole = len(self.wire) <= self.effort.exhaustive
        tried = "every cut" if whole else f"{self.effort.samples} of its cuts"
        if self.prefixes:
            tried += " and every prefix" if whole else f" and {self.effort.samples} of its prefixes"
        end = f", then {answer.raised}" if answer.raised else ""
        events = "1 event" if len(answer.events) == 1 else f"{len(answer.events)} events"
        console.print(f"Cut-proof: {name}.", style="bold green", end=" ")
        console.print(
            f"{size} cases: {tried} of {len(self.wire)} bytes. "
            f"The whole gives {events}{visible(end)}."
        )


@contextmanager
def _counting(read: Parse, name: str, size: int) -> Iterator[Callable[[Chunks], Any]]:
    """Show a progress bar, on a terminal, and yield a parser that moves it on."""
    console = console_on(sys.stderr)
    progress = Progress(console=console, transient=True)
    with progress if console.is_terminal else nullcontext():
        task = progress.add_task(name, total=size)

        def counted(chunks: Chunks) -> Any:
            progress.advance(task)
            return read(chunks)

        yield counted
