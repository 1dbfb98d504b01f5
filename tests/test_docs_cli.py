"""What the page on the command line shows is what the commands say and do."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

click = pytest.importorskip("click")
pytest.importorskip("rich")
pytest.importorskip("httpx2")

from untorn.cli.group import group  # noqa: E402

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "howto" / "cli.rst").read_text()
BLOCKS = re.findall(r"code-block:: console\n\n((?:   .*\n)+)", PAGE)


def options_of(text: str) -> set[str]:
    return set(re.findall(r"^  (?:-h, )?(--[\w-]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", sorted(group.commands))
def test_the_page_lists_the_options_of_a_command(name: str) -> None:
    """What the page includes is the help of the command, to the last option."""
    shown = (DOCS / "examples" / f"cli_{name}.out").read_text()
    command = group.commands[name]
    context = click.Context(command, help_option_names=["-h", "--help"])
    assert f"examples/cli_{name}.out" in PAGE
    assert options_of(shown) == options_of(command.get_help(context))
    assert (command.help or "").rpartition("Exit status")[2].split()[-5:] == (
        shown.partition("\n\nOptions:")[0].split()[-5:]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="the page is written for a POSIX shell")
@pytest.mark.parametrize("block", [block for block in BLOCKS if "echo $?" in block])
def test_the_commands_on_the_page_print_what_it_says(block: str, tmp_path: Path) -> None:
    """A session with its output is run, and prints that."""
    lines = [line[3:] for line in block.splitlines()]
    script = "\n".join(line[2:] for line in lines if line.startswith("$ "))
    shown = [line for line in lines if not line.startswith("$ ")]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    # click before 8.2 names the short form.
    assert ran.stdout.replace(" -h' for help", " --help' for help").splitlines() == shown
