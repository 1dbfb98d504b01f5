import os
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from untorn.testing import TornParserError, assert_untorn

pytest_plugins = ["pytester"]

PLUGIN = [] if entry_points(group="pytest11", name="untorn") else ["-p", "untorn_pytest"]
"""Loaded by hand where the package was installed before it had an entry point for it."""

MINE = """
def broken(chunks):
    return list(chunks)

def repaired(chunks):
    return [bytes([byte]) for byte in b"".join(chunks)]
"""


def parser(chunks):
    return list(chunks)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a parser in ``mine.py`` and a reproducer in ``kept/``."""
    monkeypatch.delenv("UNTORN_REPRODUCERS", raising=False)
    pytester.makepyfile(mine=MINE)
    pytester.syspathinsert()
    with pytest.raises(TornParserError):
        assert_untorn(parser, b"ab", expected=lambda w: list(map(chr, w)), reproducers="kept")
    with pytest.raises(TornParserError):
        assert_untorn(parser, b"ab", reproducers="kept")
    (pytester.path / "kept" / "notes.txt").write_text("no reproducer")
    (pytester.path / "other.json").write_text("{}")
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider", *args)


def test_unused_plugin_costs_nothing() -> None:
    """The module that pytest imports in every run imports neither the package nor anyio."""
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    module = project["project"]["entry-points"]["pytest11"]["untorn"]
    code = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert module in run.stdout.split()
    assert not {name.split(".")[0] for name in run.stdout.split()} & {"untorn", "anyio", "asyncio"}


def test_plugin_has_a_name_within_the_package() -> None:
    """Both names stand for the same module, so that pytest finds each option once."""
    assert import_module("untorn.pytest_plugin") is import_module("untorn_pytest")


def test_unused_plugin_does_nothing(project: pytest.Pytester) -> None:
    project.makepyfile("def test_nothing(): pass")
    run(project).assert_outcomes(passed=1)


def test_folder_on_the_command_line_is_collected(project: pytest.Pytester) -> None:
    project.mkdir("empty")
    args = ["empty", "--untorn-replay", "kept", "--untorn-parser"]
    result = run(project, *args, "mine:broken")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["The answer depends on how the bytes were cut.", "*cut at 1:*"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize("folder", [".kept", ".deep/kept", "build/kept", ".deep/../.kept"])
def test_folder_on_the_command_line_is_collected_wherever_it_lies(
    project: pytest.Pytester, folder: str
) -> None:
    """With no other argument, in folders that pytest passes over; and nothing else in those."""
    project.mkdir(".deep")
    project.mkdir("build")
    Path(project.path, "kept").rename(project.path / folder)
    for other in [".deep/test_other.py", "build/test_other.py"]:
        Path(project.path, other).write_text("def test_passed_over(): pass")
    project.makepyfile("def test_of_mine(): pass")
    args = ["--untorn-replay", folder, "--untorn-parser", "mine:broken"]
    run(project, *args).assert_outcomes(failed=2, passed=1)


@pytest.mark.parametrize("folder", ["missing", "empty"])
def test_folder_without_reproducers_is_an_error(project: pytest.Pytester, folder: str) -> None:
    project.mkdir("empty")
    project.makepyfile("def test_of_mine(): pass")
    result = run(project, "--untorn-replay", folder)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*there is no reproducer in *{folder}"])


def test_repaired_parser_passes(project: pytest.Pytester) -> None:
    project.makepyfile(mine=MINE.replace("list(chunks)", "[b''.join(chunks)]"))
    args = ["--untorn-replay", "kept", "--untorn-parser", "mine:broken", "-k", "cuts"]
    run(project, "kept", *args).assert_outcomes(passed=1, deselected=1)


def test_folder_in_the_ini_file_is_collected_on_the_way(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nuntorn_replay = kept\nuntorn_parser = mine:broken")
    run(project).assert_outcomes(failed=2)
    run(project, "mine.py").assert_outcomes()


def test_missing_parser_is_asked_for(project: pytest.Pytester) -> None:
    result = run(project, "--untorn-replay", "kept")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*give --untorn-parser MODULE:FUNCTION*"])


@pytest.mark.parametrize("before", [None, "before"])
def test_new_reproducers_go_where_they_are_told(
    project: pytest.Pytester, before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is not None:
        monkeypatch.setenv("UNTORN_REPRODUCERS", before)
    project.makepyfile("""
        from mine import broken
        from untorn.testing import assert_untorn

        def test_mine():
            assert_untorn(broken, b"ab")
    """)
    run(project, "--untorn-write", "new").assert_outcomes(failed=1)
    assert len(list(Path(project.path, "new").glob("broken-cuts-*.json"))) == 1
    assert os.environ.get("UNTORN_REPRODUCERS") == before


def test_fixture_makes_faulty_sources_and_sees_them_closed(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import anyio
        from untorn.testing import Stall, run_virtual

        def test_closed(faulty_source):
            async def read():
                async with faulty_source(b"ab", [1], [Stall(9, at=1)]) as source:
                    return [chunk async for chunk in source]
            assert run_virtual(read) == [b"a", b"b"]

        def test_never_read(faulty_source):
            faulty_source(b"ab")

        def test_exempt(faulty_source):
            run_virtual(faulty_source(b"ab", may_stay_open=True).receive)

        def test_left_open(faulty_source):
            run_virtual(faulty_source(b"ab").receive)
    """)
    result = run(project)
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["*1 of the sources that were read from were not closed*"])


def test_fixture_starts_chaos_servers_for_plain_tests(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import httpx
        import pytest
        from untorn.testing import Ending

        def test_servers(chaos_server):
            whole = chaos_server(b"ab", cuts=[1])
            cut = chaos_server(b"ab", ending=Ending.MISSING_LAST_CHUNK)
            with httpx.Client(trust_env=False) as client:
                assert client.get(whole.url).content == b"ab"
                with pytest.raises(httpx.RemoteProtocolError):
                    client.get(cut.url)
            assert len(whole.requests) == len(cut.requests) == 1
    """)
    run(project).assert_outcomes(passed=1)
