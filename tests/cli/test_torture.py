"""`untorn torture`: exit status 0 for a parser that is untorn, 1 and a reproducer for another."""

from pathlib import Path

import pytest

from untorn.cli import torture as torture_module
from untorn.testing import TornParserError, replay
from untorn.testing.parsers import OURS, PARSERS

from .commands import chat, invoke, untorn
from .functions import torn_lines, whole_lines

SHORT = "data: é\n\nid: 1\ndata: 好\n\n".encode()


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "capture.sse"
    path.write_bytes(SHORT)
    return path


def test_our_parsers_are_untorn(capture: Path) -> None:
    """Both, at every cut, every prefix, and every silence."""
    result = invoke("torture", str(capture), "--dialect", "sse")
    assert (result.exit_code, result.stderr) == (0, "")
    first, second, last = result.stdout.splitlines()
    assert first.startswith("Cut-proof: untorn.parse. ")
    assert second.startswith("Cut-proof: untorn.open_stream. ")
    assert last.startswith("The end was not judged: untorn verdict ")
    assert f"every cut and every prefix of {len(SHORT)} bytes. The whole gives 2 events" in first
    assert not (capture.parent / ".untorn-reproducers").exists()


def test_a_long_capture_is_sampled_and_it_says_so(capture: Path) -> None:
    """The dialect is told from the first frame; the verdict does not claim what was not tried."""
    capture.write_bytes(chat(*"naïve 你好" * 3))
    result = invoke("torture", str(capture), "--samples", "3")
    assert result.exit_code == 0
    for line in result.stdout.splitlines()[:-1]:
        assert "3 of its cuts and 3 of its prefixes" in line
        assert "events." in line  # a chat that completes raises nothing


def test_a_torn_parser_is_torn(capture: Path) -> None:
    """Status 1, and the reproducer at the printed path confirms it."""
    folder = capture.parent / "found"
    options = ("--parser", "cli.functions:torn_lines", "--reproducers", str(folder))
    result = invoke("torture", str(capture), *options)
    assert result.exit_code == 1
    (path,) = folder.iterdir()
    last = result.stdout.splitlines()[-1]
    assert last == f"Torn: cli.functions:torn_lines. {path.as_posix()}"
    assert path.name.startswith("cli_functions_torn_lines-cuts-")
    with pytest.raises(TornParserError, match="depends on how the bytes were cut"):
        replay(path, torn_lines)
    replay(path, whole_lines)


def test_a_module_of_the_working_directory_is_found(capture: Path) -> None:
    """As a user has it, in a process of its own; piped, it is plain."""
    code = "def lines(chunks):\n    return b''.join(chunks).split(b'\\n')[:-1]\n"
    (capture.parent / "my_reader.py").write_text(code)
    run = untorn("torture", str(capture), "--parser", "my_reader:lines", cwd=capture.parent)
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.startswith(b"Cut-proof: my_reader:lines. ")
    assert b"\x1b" not in run.stdout


def test_what_reads_nothing_shows_nothing(capture: Path) -> None:
    """A parser that does not understand the capture does not pass for untorn."""
    result = invoke("torture", str(capture), "--parser", "cli.functions:blind")
    assert result.exit_code == 2
    assert "cli.functions:blind reads no event from this capture" in result.stderr
    assert "Cut-proof" not in result.stdout


def test_prefixes_can_be_left_out(capture: Path) -> None:
    """For a parser that rightly takes the end of the stream for the end of an event."""
    capture.write_bytes(b"a")
    refused = invoke("torture", str(capture), "--parser", "cli.functions:blind", "--no-prefixes")
    assert refused.exit_code == 2
    capture.write_bytes(SHORT)
    options = ("--parser", "cli.functions:whole_lines", "--no-prefixes")
    result = invoke("torture", str(capture), *options)
    assert result.exit_code == 0
    assert "prefix" not in result.stdout


def test_a_parser_that_is_late_can_be_found_out(capture: Path) -> None:
    """`--prompt` asks for each event before the next byte; joining all chunks is late."""
    options = ("--parser", "cli.functions:whole_lines", "--prompt", "--reproducers", "found")
    result = invoke("torture", str(capture), *options)
    assert result.exit_code == 1
    assert "The events handed out before the next byte" in result.stdout


@pytest.mark.parametrize(
    ("parser", "says"),
    [
        ("nope", "There is no parser 'nope': give one of untorn.parse, "),
        ("no_such_module:x", "The module 'no_such_module' cannot be imported: No module named"),
        ("cli.functions:nope", "The module 'cli.functions' has no function 'nope'"),
        (":x", "The module '' cannot be imported"),
    ],
)
def test_wrong_usage(parser: str, says: str, capture: Path) -> None:
    """Status 2 and a plain sentence."""
    result = invoke("torture", str(capture), "--parser", parser)
    assert result.exit_code == 2
    assert says in result.stderr


def test_the_list_has_them_all() -> None:
    """Each with its version, or with what to install."""
    lines = invoke("torture", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*PARSERS]
    assert lines[0].endswith("(untorn 0.1.0)")
    for line, adapter in zip(lines, PARSERS.values(), strict=True):
        assert adapter.says in line
        assert ("pip install" in line) == bool(adapter.missing)


def test_ctrl_c_is_quiet(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 130, and not 1, which would say that the parser is torn."""

    def interrupted(*args: object, **rest: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(torture_module, "assert_untorn", interrupted)
    result = invoke("torture", str(capture), "--parser", next(iter(OURS)))
    assert (result.exit_code, result.output) == (130, "")
