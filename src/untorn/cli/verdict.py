"""`untorn verdict`: the endings that a client notices, and those that it does not."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from typing import Any, Final

import click
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from ..testing.chat_wires import CHAT_WIRES, OPENAI_CHAT, ChatWire, Torn
from ..testing.clients import CLIENTS, Client
from ..testing.response import Ending
from ..testing.verdict import CONTROL, SHORT, Judgement, Verdict, client_of, judgements, unnoticed
from .named import listed, named, own
from .output import console_on, visible
from .status import run

__all__ = ["verdict"]

_HELP = """Tear an answer in four places, end it in six ways, and see whether a client notices.

Real runs over the loopback address, against the clients that are installed. None of
these endings is a good one: the answer is not whole, even where the transport ends
properly. The control is the whole answer, properly ended.

\b
    untorn verdict
    untorn verdict --client openai --client untorn --markdown
    untorn verdict --client my_client:read --check
    untorn verdict --list

Your own client is a function that takes a URL, plain or async. It returns if it takes
what it read for a whole answer, and raises if it does not. It hangs if it takes more
than 2 seconds where nothing comes any more; set its timeout to 0.5 seconds.

Exit status: 0; 1 if a control fails, or with --check if an ending goes unnoticed;
2 wrong usage.
"""

BACKENDS: Final = ("asyncio", "trio")


@dataclass(frozen=True, slots=True)
class Report:
    """What one client made of all trials, on some backends."""

    client: str
    versions: str
    wire: str
    backends: tuple[str, ...]
    judgements: tuple[Judgement, ...]

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts alone, in the order of the trials."""
        return [judgement.verdict for judgement in self.judgements]


def _list(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo("\n".join(listed(CLIENTS)))
        ctx.exit()


@click.command(help=_HELP)
@click.option(
    "--client",
    "names",
    multiple=True,
    metavar="NAME|MODULE:FUNCTION",
    help="The client; all that are installed if not given.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="List the clients that have a name.",
)
@click.option(
    "--backend",
    "backends",
    type=click.Choice(BACKENDS),
    multiple=True,
    help="The event loop; all that are installed if not given.",
)
@click.option(
    "--wire",
    type=click.Choice([*CHAT_WIRES]),
    default=OPENAI_CHAT.name,
    show_default=True,
    help="What a client of your own is served.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per trial.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Write a table in Markdown.")
@click.option("--check", is_flag=True, help="Exit with 1 if an ending goes unnoticed.")
def verdict(
    names: tuple[str, ...],
    backends: tuple[str, ...],
    wire: str,
    as_json: bool,
    as_markdown: bool,
    check: bool,
) -> None:
    """Run the trials and write the matrix."""
    if as_json and as_markdown:
        raise click.UsageError("give --json or --markdown, not both.")
    chosen = names or tuple(name for name, client in CLIENTS.items() if not client.missing)
    clients = {name: _client(name, CHAT_WIRES[wire]) for name in chosen}
    loops = backends or tuple(name for name in BACKENDS if find_spec(name))
    reports = list(_reports(clients, loops))
    write = _write_json if as_json else _write_markdown if as_markdown else _write_text
    write(reports)
    wrong = [report for report in reports if unnoticed(report.judgements)]
    if any(not report.judgements[0].is_right for report in wrong) or (check and wrong):
        raise SystemExit(1)


def _client(name: str, wire: ChatWire) -> Client:
    if ":" in name:
        read = client_of(own(name))
        return Client("a client of your own", (), lambda: read, wire)
    named("client", name, CLIENTS)
    return CLIENTS[name]


def _reports(clients: dict[str, Client], backends: tuple[str, ...]) -> Iterator[Report]:
    console = console_on(sys.stderr)
    progress = Progress(console=console, transient=True)
    with progress if console.is_terminal else nullcontext():
        task = progress.add_task("", total=len(clients) * len(backends))
        for name, client in clients.items():
            for backend in backends:
                progress.update(task, description=f"{name}, {backend}")
                found = run(partial(judgements, client.make(), client.wire), backend)
                progress.advance(task)
                yield Report(name, client.versions, client.wire.name, (backend,), tuple(found))


def _merged(reports: list[Report]) -> Iterator[Report]:
    """Yield one report where a client makes the same of all trials on all backends."""
    for _, group in groupby(reports, key=lambda report: report.client):
        same: dict[tuple[Verdict, ...], Report] = {}
        for report in group:
            key = tuple(report.verdicts)
            before = same[key].backends if key in same else ()
            same[key] = Report(
                report.client,
                report.versions,
                report.wire,
                before + report.backends,
                report.judgements,
            )
        yield from same.values()


# --- as a table ---------------------------------------------------------------------


def _rows(reports: list[Report]) -> Iterator[tuple[str, str, list[Verdict]]]:
    """Yield the client, what is torn, and the verdicts on each ending; equal rows as one."""
    every = tuple(dict.fromkeys(backend for report in reports for backend in report.backends))
    for report in _merged(reports):
        client = report.client
        if report.backends != every:
            client += f" ({', '.join(report.backends)})"
        by_verdicts: dict[tuple[Verdict, ...], list[str]] = {}
        for torn in [torn for torn in Torn if torn is not Torn.NOTHING]:
            row = tuple(j.verdict for j in report.judgements if j.trial.torn is torn)
            by_verdicts.setdefault(row, []).append(torn.value)
        for row, places in by_verdicts.items():
            yield client, ", ".join(places), list(row)
            client = ""


HEADINGS: Final = ("client", "torn", *(ending.value.replace("-", " ") for ending in Ending))


def _notes(reports: list[Report]) -> Iterator[str]:
    """Yield what there is to say below a table."""
    failed = [report for report in reports if not report.judgements[0].is_right]
    for report in failed:
        control = report.judgements[0]
        said = f" ({control.error})" if control.error else ""
        yield (
            f"The control fails: {report.client} on {report.backends[0]} does not take the whole "
            f"answer, properly ended, for a success{said}. Its row says nothing."
        )
    if not failed:
        yield "The control, the whole answer properly ended, is a success for each of them."
    yield (
        "Torn inside a character, inside a frame, between frames (message), or behind the "
        "finish reason and before the completion marker (finish). Where nothing comes any more "
        f"(silence, comments), the client's own timeout was {SHORT.timeout} s, and it hangs if "
        f"it was still waiting after {SHORT.wait} s."
    )
    loops = dict.fromkeys(backend for report in reports for backend in report.backends)
    packages = dict.fromkeys(
        package for report in reports for package in report.versions.split(", ") if package
    )
    python = f"Python {platform.python_version()}"
    yield f"Measured on {' and '.join(loops)} with {', '.join([*packages, python])}."


def _write_text(reports: list[Report]) -> None:
    console = console_on(sys.stdout)
    table = Table(*HEADINGS, box=None, pad_edge=False, header_style="bold")
    for client, torn, verdicts in _rows(reports):
        cells = [Text(cell.value, _STYLES[cell]) for cell in verdicts]
        table.add_row(visible(client), torn, *cells)
    if not console.is_terminal:
        console.width = 250  # nothing is wrapped, for the next program in the pipe
    console.print(table)
    console.print()
    for note in _notes(reports):
        console.print(visible(note))


_STYLES: Final = {
    Verdict.NOTICED: "green",
    Verdict.TAKEN_FOR_SUCCESS: "bold red",
    Verdict.HANGS: "bold yellow",
}


def _write_markdown(reports: list[Report]) -> None:
    click.echo(_line(HEADINGS))
    click.echo(_line(["---"] * len(HEADINGS)))
    for client, torn, verdicts in _rows(reports):
        cells = [
            cell.value if cell is Verdict.NOTICED else f"**{cell.value}**" for cell in verdicts
        ]
        click.echo(_line([f"`{client}`" if client else "", torn, *cells]))
    for note in _notes(reports):
        click.echo(f"\n{note}")


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


# --- as JSON ------------------------------------------------------------------------


def _write_json(reports: list[Report]) -> None:
    for report in reports:
        for judgement in report.judgements:
            click.echo(
                json.dumps(
                    {
                        "client": report.client,
                        "versions": report.versions,
                        "backend": report.backends[0],
                        "wire": report.wire,
                        "torn": judgement.trial.torn.value,
                        "ending": judgement.trial.ending.value,
                        "control": judgement.trial == CONTROL,
                        "verdict": judgement.verdict.value,
                        "error": judgement.error,
                    },
                    ensure_ascii=False,
                )
            )
