"""`untorn verdict`: untorn notices every bad ending at every cut, and the tool can tell."""

import io
import json
from functools import partial
from typing import Any

import anyio
import pytest
from rich.text import Text

from untorn import Boundary, Completed, Interrupted, parse
from untorn.cli import verdict as verdict_module
from untorn.dialects import AnthropicMessages, OpenAIChat
from untorn.testing import Ending
from untorn.testing.chat_wires import ANTHROPIC, CHAT_WIRES, OPENAI_CHAT, ChatWire, Torn
from untorn.testing.clients import CLIENTS
from untorn.testing.verdict import (
    AMPLE,
    BAD_TRIALS,
    CONTROL,
    QUIET,
    SHORT,
    Judgement,
    Patience,
    Trial,
    Verdict,
    client_of,
    judgements,
    unnoticed,
)

from . import functions
from .commands import BACKENDS, invoke, objects

# The generators in which httpx and httpx2 hand out a body are left to trio's collector whenever
# the body is not read to its end.
pytestmark = pytest.mark.filterwarnings("ignore:.*Async generator:ResourceWarning")

BRIEF = Patience(timeout=0.1, wait=0.4)
LONG = Patience(timeout=0.5, wait=60.0)
"""For those that never hang: a busy machine is late, and that is not theirs."""
DIALECTS: dict[ChatWire, Any] = {
    OPENAI_CHAT: OpenAIChat(done="required"),
    ANTHROPIC: AnthropicMessages(),
}


def judged(name: str, backend: str = "asyncio", short: Patience = LONG) -> list[Judgement]:
    """Run a client that has a name."""
    client = CLIENTS[name]
    if client.missing:
        pytest.skip(f"{' and '.join(client.missing)} not installed: {name} cannot be judged")
    run = partial(judgements, client.make(), client.wire, short=short)
    return anyio.run(run, backend=backend)


NEVER_END = [functions.waits, functions.waits_and_swallows, functions.waits_in_its_thread]


def judged_own(function: Any, backend: str = "asyncio") -> list[Judgement]:
    """Run a function of ours, with little patience where nothing comes."""
    read = client_of(function)
    ample = BRIEF if function in NEVER_END else AMPLE
    run = partial(judgements, read, OPENAI_CHAT, ample=ample, short=BRIEF)
    return anyio.run(run, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["untorn", "untorn-anthropic"])
def test_untorn_notices_every_bad_ending_at_every_cut(name: str, backend: str) -> None:
    """Six endings, four cuts, two wires, two loops; and the control is a success."""
    found = judged(name, backend)
    assert [judgement.trial for judgement in found] == [CONTROL, *BAD_TRIALS]
    assert len(found) == 1 + 6 * 4
    assert unnoticed(found) == []


def test_a_weak_marker_is_weak() -> None:
    """Where `[DONE]` is optional, a finish reason and a proper end are all there is."""
    wrong = {
        (item.trial.torn, item.trial.ending) for item in unnoticed(judged("untorn-done-optional"))
    }
    assert wrong == {(Torn.FINISH, Ending.LAST_CHUNK), (Torn.FINISH, Ending.CLOSE)}


@pytest.mark.parametrize("name", [name for name in CLIENTS if not name.startswith("untorn")])
def test_every_client_takes_the_whole_answer_for_a_success(name: str) -> None:
    """So the tool reads each as it wants to be read; and a reset escapes nobody."""
    control, *rest = judged(name, short=SHORT)
    assert control.is_right, control.error
    assert all(item.is_right for item in rest if item.trial.ending is Ending.RESET)


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_swallows_everything_takes_it_for_success(backend: str) -> None:
    """A plain function, in a thread."""
    found = judged_own(functions.swallows, backend)
    quiet = [item for item in found if item.trial.ending in QUIET]
    others = [item for item in found if item.trial.ending not in QUIET]
    assert {item.verdict for item in others} == {Verdict.TAKEN_FOR_SUCCESS}
    assert {item.verdict for item in quiet} == {Verdict.HANGS}  # beyond our little patience


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", NEVER_END, ids=lambda function: function.__name__)
def test_who_waits_for_ever_hangs(function: Any, backend: str) -> None:
    """Whatever it makes of being cancelled; the run is over when the patience is."""
    found = judged_own(function, backend)
    assert {item.verdict for item in found} == {Verdict.HANGS}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [functions.refuses, functions.refuses_in_its_thread])
def test_who_refuses_everything_fails_the_control(function: Any, backend: str) -> None:
    """Noticing all is no merit then; the error is its first line."""
    control, *rest = judged_own(function, backend)
    assert (control.verdict, control.error) == (Verdict.NOTICED, "ValueError: No.")
    assert not control.is_right and unnoticed(rest) == []


@pytest.mark.parametrize("wire", CHAT_WIRES.values(), ids=CHAT_WIRES)
@pytest.mark.parametrize("torn", Torn)
def test_the_wires_are_torn_where_they_say(wire: ChatWire, torn: Torn) -> None:
    """As the reader without I/O sees it."""
    stream = parse([wire.until(torn)], DIALECTS[wire])
    list(stream.events())
    if torn is Torn.NOTHING:
        assert isinstance(stream.outcome, Completed)
        assert stream.outcome.value.text == "It is sunny in 北京 today."
        return
    assert isinstance(stream.outcome, Interrupted)
    place = "message" if torn is Torn.FINISH else torn.value
    assert stream.outcome.torn is Boundary(place)
    assert (stream.outcome.partial.finish_reason is not None) == (torn is Torn.FINISH)


# --- the command, without the waiting --------------------------------------------------


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[Trial, Verdict]:
    """What all clients are said to make of the trials; where nothing is said, they are right."""
    said: dict[Trial, Verdict] = {}

    async def judgements(read: object, wire: object) -> list[Judgement]:
        right = {CONTROL: Verdict.TAKEN_FOR_SUCCESS} | said
        trials = (CONTROL, *BAD_TRIALS)
        return [Judgement(trial, right.get(trial, Verdict.NOTICED)) for trial in trials]

    monkeypatch.setattr(verdict_module, "judgements", judgements)
    return said


def test_the_table_is_plain_and_says_what_was_measured(told: dict[Trial, Verdict]) -> None:
    """Equal rows are one row; the versions stand below."""
    told[Trial(Torn.FRAME, Ending.CLOSE)] = Verdict.HANGS
    result = invoke("verdict", "--client", "untorn")
    assert (result.exit_code, result.stderr) == (0, "")
    head, first, second, empty, *notes = result.stdout.splitlines()
    assert head.split("  ")[0] == "client" and "missing last chunk" in head
    assert first.split() == ["untorn", "character,", "message,", "finish", *["noticed"] * 6]
    assert second.split() == ["frame", *["noticed"] * 2, "hangs", *["noticed"] * 3]
    assert empty == "" and "The control" in notes[0]
    assert notes[-1].startswith("Measured on asyncio and trio with untorn 0.1.0, httpx2 ")


class Terminal(io.StringIO):
    """A terminal, as wide as the environment says."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "widest"), [(Terminal, 60), (io.StringIO, 250)])
def test_the_table_fits_a_terminal(
    stream: type[io.StringIO], widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There it is as wide as the window; elsewhere a row is a line, for the next program."""
    monkeypatch.setattr("sys.stdout", out := stream())
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")  # a dumb one is taken to be 80 wide
    found = tuple(Judgement(trial, Verdict.NOTICED) for trial in (CONTROL, *BAD_TRIALS))
    verdict_module._write_text([verdict_module.Report("mine", "", "", ("trio",), found)])
    table, _ = Text.from_ansi(out.getvalue()).plain.split("\n\n", 1)
    assert max(map(len, table.splitlines())) <= widest
    assert (len(table.splitlines()) == 2) is (stream is io.StringIO)


def test_the_table_in_markdown(told: dict[Trial, Verdict]) -> None:
    """What goes wrong is set in bold; a client that differs between loops has a row for each."""
    told[Trial(Torn.FINISH, Ending.LAST_CHUNK)] = Verdict.TAKEN_FOR_SUCCESS
    result = invoke("verdict", "--client", "untorn", "--backend", "trio", "--markdown")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("| client | torn | last chunk | missing last chunk | close |")
    assert lines[1] == "| " + " | ".join(["---"] * 8) + " |"
    assert lines[2].startswith("| `untorn` | character, frame, message | noticed |")
    assert lines[3].startswith("|  | finish | **taken for success** | noticed |")


def test_loops_that_differ_have_rows_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """And those that agree share one."""
    right = [Judgement(trial, Verdict.NOTICED) for trial in (CONTROL, *BAD_TRIALS)]
    wrong = [Judgement(trial, Verdict.HANGS) for trial in (CONTROL, *BAD_TRIALS)]
    loops = ("asyncio", "trio")
    reports = [
        verdict_module.Report(
            name, "", "", (loop,), tuple(wrong if name + loop == "btrio" else right)
        )
        for name in "ab"
        for loop in loops
    ]
    rows = [client for client, _, _ in verdict_module._rows(reports)]
    assert rows == ["a", "b (asyncio)", "b (trio)"]


def test_json_has_an_object_for_each_trial(told: dict[Trial, Verdict]) -> None:
    """With the control first."""
    result = invoke("verdict", "--client", "untorn", "--backend", "asyncio", "--json")
    found = objects(result.stdout)
    assert len(found) == 25
    assert [item["control"] for item in found] == [True, *[False] * 24]
    assert json.loads(result.stdout.splitlines()[0]) == {
        "client": "untorn",
        "versions": CLIENTS["untorn"].versions,
        "backend": "asyncio",
        "wire": "openai-chat",
        "torn": "nothing",
        "ending": "last-chunk",
        "control": True,
        "verdict": "taken for success",
        "error": None,
    }


def test_a_control_that_fails_is_told(told: dict[Trial, Verdict]) -> None:
    """Status 1, for such a matrix says nothing."""
    told[CONTROL] = Verdict.HANGS
    result = invoke("verdict", "--client", "cli.functions:waits", "--backend", "asyncio")
    assert result.exit_code == 1
    assert "The control fails: cli.functions:waits on asyncio" in result.stdout


def test_check_is_for_ci(told: dict[Trial, Verdict]) -> None:
    """Status 1 if anything goes unnoticed, and only if it is asked for."""
    command = ("verdict", "--client", "untorn", "--backend", "asyncio")
    assert invoke(*command, "--check").exit_code == 0
    told[Trial(Torn.FRAME, Ending.CLOSE)] = Verdict.TAKEN_FOR_SUCCESS
    assert invoke(*command, "--check").exit_code == 1
    assert invoke(*command).exit_code == 0


def test_all_that_are_installed_are_the_default(told: dict[Trial, Verdict]) -> None:
    """Those that are not are left out in silence; the list has them all."""
    result = invoke("verdict", "--backend", "asyncio", "--json")
    clients = dict.fromkeys(item["client"] for item in objects(result.stdout))
    assert [*clients] == [name for name, client in CLIENTS.items() if not client.missing]
    lines = invoke("verdict", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*CLIENTS]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--json", "--markdown"], "give --json or --markdown, not both"),
        (["--client", "nope"], "There is no client 'nope'"),
        (["--client", "cli.functions:nope"], "has no function 'nope'"),
    ],
)
def test_wrong_usage(options: list[str], says: str) -> None:
    """Status 2 and a plain sentence."""
    result = invoke("verdict", *options)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_real_run_from_the_command_line() -> None:
    """One client of one's own, on one loop, for real."""
    result = invoke("verdict", "--client", "cli.functions:refuses", "--backend", "trio")
    assert result.exit_code == 1
    assert "does not take the whole answer, properly ended" in result.stdout
    assert "(ValueError: No.)" in result.stdout
