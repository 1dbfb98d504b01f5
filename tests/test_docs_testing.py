"""The pages about the test kit are played as sessions, and its example project as a project.

A page is played from top to bottom in a folder of its own: a file that is shown with a name is
written, a command is run, and the output that is shown after a command is what it said.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx
import pytest

from untorn.testing import TornParserError, assert_untorn

pytest.importorskip("trio")

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "testing"
PROJECT = ROOT / "examples" / "test_your_reader"
SESSIONS = sorted(
    path for path in PAGES.glob("*.rst") if "$ .venv/bin/p" in path.read_text().replace("/pip", "")
)
INCLUDE = re.compile(r"\.\. literalinclude:: (\S+)\n((?: +:.*\n)*)")
COMMAND = re.compile(r"   \$ (.+)\n")
SETUP = ("python3 -m venv .venv", ".venv/bin/pip install ")

PLUGINS = ["anyio.pytest_plugin", "untorn_pytest"]
PYTEST = [sys.executable, "-m", "pytest", *(f"-p{name}" for name in PLUGINS)]
COLUMNS = "80"


def run(command: list[str], folder: Path) -> tuple[int, str]:
    """Run a command with the plugins it needs and no others; return its status and output."""
    kept = {name: value for name, value in os.environ.items() if name != "UNTORN_REPRODUCERS"}
    chosen = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": COLUMNS, "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(
        command, cwd=folder, env={**kept, **chosen}, capture_output=True, text=True, timeout=300
    )
    return ran.returncode, ran.stdout + ran.stderr


class Session:
    """Someone who does what a page says."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.status = 0
        self.said = ""

    def play(self) -> None:
        text = self.page.read_text()
        steps = [(found.start(), found) for found in INCLUDE.finditer(text)]
        steps += [(found.start(), found) for found in COMMAND.finditer(text)]
        for _, found in sorted(steps, key=lambda step: step[0]):
            if found.re is COMMAND:
                self.command(found[1])
            else:
                self.include(self.page.parent / found[1], found[2])

    def include(self, shown: Path, options: str) -> None:
        caption = re.search(r":caption: (\S+)", options)
        if caption is not None:
            shutil.copyfile(shown, self.folder / caption[1])
        elif shown.suffix == ".out" and shown.parent.parent == PAGES:
            self.check(shown)

    def command(self, line: str) -> None:
        if line.startswith(SETUP):
            return
        name, *args = shlex.split(line)
        if name == ".venv/bin/pytest":
            # The cache of bytecode goes by seconds, and files change faster here.
            shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)
            command = [*PYTEST, *args]
        else:
            command = [sys.executable if name == ".venv/bin/python" else name, *args]
        self.status, self.said = run(command, self.folder)

    def check(self, shown: Path) -> None:
        """The output holds the lines shown, one below the other; `...` stands for anything."""
        pattern = r"\n".join(
            re.escape(line.rstrip()).replace(r"\.\.\.", ".*")
            for line in shown.read_text().splitlines()
        )
        said = "\n".join(line.rstrip() for line in self.said.splitlines())
        assert re.search(f"^{pattern}$", said, re.MULTILINE), self.said


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.stem)
def test_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    """Its commands, run one after the other, say what it shows, and the last one succeeds."""
    if "curl" in page.read_text() and shutil.which("curl") is None:
        pytest.skip("The client of this page, curl, is not installed.")
    session = Session(page, tmp_path)
    session.play()
    assert session.status == 0, session.said


def test_the_pages_that_are_sessions_are_found() -> None:
    """None is left out by its looks."""
    assert {"tutorial", "regression", "faults", "chaos", "strategies"} == {
        page.stem for page in SESSIONS
    }


def test_all_files_beside_the_pages_are_shown() -> None:
    """Nothing is kept that nobody reads, and so nothing that is not run."""
    text = "".join(page.read_text() for page in PAGES.glob("*.rst"))
    files = [*PAGES.glob("tutorial/*.*"), *PAGES.glob("examples/*.*")]
    shown = {PAGES / name for name in re.findall(r"(?:literalinclude::|:diff:) (\S+)", text)}
    assert set(files) <= shown


def test_a_reader_that_collects_is_not_prompt(tmp_path: Path) -> None:
    """As the tutorial says of what its last test would catch."""
    reader = (PAGES / "tutorial" / "reader_4.py").read_text()
    collecting = "prompt = read\ndef read(chunks):\n    return list(prompt(chunks))\n"
    (tmp_path / "reader.py").write_text(reader + collecting)
    shutil.copyfile(PAGES / "tutorial" / "test_4.py", tmp_path / "test_reader.py")
    status, said = run([*PYTEST, "-k", "test_it_reads and not whatever"], tmp_path)
    assert status == 1
    # Where CI is set, pytest says it a second time for each, in its summary.
    assert said.count("The events handed out before the next byte are not those") in (2, 4)


LINE_END = re.compile("\r\n|\n|\r")


def lines_late(chunks: Iterable[bytes]) -> Iterator[str]:
    """Hold back a CR until it is seen whether an LF follows."""
    rest = ""
    for chunk in chunks:
        rest += chunk.decode("latin-1")
        held = "\r" * rest.endswith("\r")
        *whole, rest = LINE_END.split(rest.removesuffix("\r"))
        rest += held
        yield from whole


def test_only_a_function_tells_that_a_cr_is_held_back(tmp_path: Path) -> None:
    """As the page about parsers says of what is found in no other way."""
    wire = b"a\rb\r\n"
    expected = ["a", "b"]
    assert_untorn(lines_late, wire, expected=expected, prompt=True, reproducers=tmp_path)
    with pytest.raises(TornParserError, match="not the expected ones"):
        assert_untorn(
            lines_late,
            wire,
            expected=lambda given: LINE_END.split(given.decode("latin-1"))[:-1],
            reproducers=tmp_path,
        )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of the server that the page about clients leaves running."""
    script = PAGES / "examples" / "serve.py"
    capture = PAGES / "examples" / "capture.sse"
    command = [sys.executable, str(script), str(capture), "close", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def test_the_server_script_serves(served: str) -> None:
    """It says where it listens, and sends its file."""
    with httpx.Client(trust_env=False) as client:
        assert client.get(served).content == (PAGES / "examples" / "capture.sse").read_bytes()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the example project."""
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis", ".venv")
    return shutil.copytree(PROJECT, tmp_path / "project", ignore=ignored)


def test_the_example_project_passes(project: Path) -> None:
    """Its tests pass, and its regressions are among them."""
    status, said = run(PYTEST, project)
    assert status == 0, said
    assert "regressions/read-cuts-8412ff2c.json ." in said
    assert "test_reader.py ........ " in said


def test_the_example_project_fails_as_its_readme_says(project: Path) -> None:
    """The reader is broken as its README tells to, and what it shows is seen."""
    readme = (project / "README.md").read_text()
    whole, broken = re.findall(r"`(self\._after_cr = .+?)`", readme)
    reader = (project / "reader.py").read_text()
    assert reader.count(whole) == 1
    (project / "reader.py").write_text(reader.replace(whole, broken))
    status, said = run([*PYTEST, "-k", "same_events or replay"], project)
    assert status == 1
    for line in re.findall(r"(?m)^    (\S.+)$", readme):
        assert line in said
    assert said.count("\nFAILED ") == 4
    assert list(project.glob(".untorn-reproducers/*.json"))


def test_the_example_project_names_what_it_needs() -> None:
    """Its README installs what its pyproject.toml lists; its reader imports nothing of untorn."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    (commands,) = re.findall(r"```sh\n(.+?)```", (PROJECT / "README.md").read_text(), re.DOTALL)
    install, test = commands.splitlines()
    ours, *others = settings["dependency-groups"]["test"]
    # In this folder, untorn is the checkout around it.
    assert shlex.split(install)[-2:] == [ours.replace("untorn", "../..", 1), *others]
    assert test == ".venv/bin/pytest"
    assert "untorn" not in (PROJECT / "reader.py").read_text()
