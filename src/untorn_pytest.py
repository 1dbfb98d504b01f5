"""The pytest plugin of the test kit, which does nothing unless it is used.

It has three options and two fixtures (`faulty_source`, `chaos_server`).

=====================  =====================  ==================================================
command line           ini file               meaning
=====================  =====================  ==================================================
--untorn-replay DIR    untorn_replay          collect the reproducers in DIR as tests
--untorn-parser M:F    untorn_parser          the parser to play them to: function F of module M
--untorn-write DIR     untorn_write           where `assert_untorn` writes new reproducers
=====================  =====================  ==================================================

On the command line, `--untorn-replay` adds the folder to what is tested, even where pytest
passes over others (those whose names begin with a dot); a folder without reproducers is an error.
In the ini file it only marks the folder: its reproducers are tests when pytest comes by it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

# pytest imports this file wherever untorn is installed. It lies beside the package, and imports
# the kit where it is used, so that a session that does not use it does not pay for it.
if TYPE_CHECKING:
    from untorn.testing import ChaosServer, FaultySource, Parse

FOLDER_VARIABLE = "UNTORN_REPRODUCERS"
"""The variable by which `untorn.testing` is told the folder, without importing it."""

OPENED = pytest.StashKey[set[Path]]()
"""The folders that pytest would have passed over, had the replayed one not lain in them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("untorn", "tests of stream parsers")
    for name, metavar, text in (
        ("replay", "DIR", "collect the reproducers in this folder as tests"),
        ("parser", "MODULE:FUNCTION", "the parser that reproducers are played to"),
        ("write", "DIR", "the folder in which new reproducers are written"),
    ):
        group.addoption(f"--untorn-{name}", dest=f"untorn_{name}", metavar=metavar, help=text)
        parser.addini(f"untorn_{name}", f"{text} (as --untorn-{name})", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Take in the folders that the command line and the ini file name."""
    config.stash[OPENED] = set()
    replayed = _named(config, "replay")
    if replayed is not None:
        if not any(replayed.rglob("*.json")):
            raise pytest.UsageError(f"--untorn-replay: there is no reproducer in {replayed}")
        config.args.append(str(replayed))
    written = _folder(config, "write")
    if written is not None:
        _set_variable(config, str(written))


def _set_variable(config: pytest.Config, value: str) -> None:
    before = os.environ.get(FOLDER_VARIABLE)
    os.environ[FOLDER_VARIABLE] = value

    def restore() -> None:
        os.environ.pop(FOLDER_VARIABLE)
        if before is not None:
            os.environ[FOLDER_VARIABLE] = before

    config.add_cleanup(restore)


def _folder(config: pytest.Config, name: str) -> Path | None:
    """Return a folder option: relative to where pytest was called, or to the ini file's folder."""
    in_ini_file: str = config.getini(f"untorn_{name}")
    marked = _absolute(config.rootpath, in_ini_file) if in_ini_file else None
    return _named(config, name) or marked


def _named(config: pytest.Config, name: str) -> Path | None:
    """Return a folder that the command line names."""
    given: str | None = config.getoption(f"untorn_{name}")
    return _absolute(config.invocation_params.dir, given) if given else None


def _absolute(base: Path, folder: str) -> Path:
    # As pytest has its paths: without "..", but with symbolic links, which resolve() follows.
    return Path(os.path.abspath(base / folder))  # noqa: PTH100


@pytest.hookimpl(wrapper=True)
def pytest_ignore_collect(
    collection_path: Path, config: pytest.Config
) -> Generator[None, bool | None, bool | None]:
    """Let pytest come to the folder that the command line names, and to nothing else on the way.

    To add it to the arguments is not enough: where another contains it, pytest drops it, and
    then passes over it as `norecursedirs` says.
    """
    ignored = yield
    folder = _named(config, "replay")
    if folder is None or folder in collection_path.parents:
        return ignored
    if folder.is_relative_to(collection_path):
        if ignored and collection_path != folder:
            config.stash[OPENED].add(collection_path)
        return False
    return ignored or collection_path.parent in config.stash[OPENED] or None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a reproducer, if it lies in the folder that is replayed."""
    folder = _folder(parent.config, "replay")
    if folder is None or file_path.suffix != ".json" or folder not in file_path.parents:
        return None
    return cast("pytest.Collector", ReproducerFile.from_parent(parent, path=file_path))


class ReproducerFile(pytest.File):
    """One reproducer."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield its one test."""
        yield ReproducerItem.from_parent(self, name="replay")


class ReproducerItem(pytest.Item):
    """The test that plays a reproducer to the parser."""

    def runtest(self) -> None:
        """Play it."""
        from untorn.testing import replay

        replay(self.path, _parser(self.config))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what went wrong; of a torn parser without a traceback, which leads to the kit."""
        from untorn.testing import TornParserError

        if isinstance(excinfo.value, TornParserError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], None, str]:
        """Name the file."""
        return self.path, None, self.path.name


def _parser(config: pytest.Config) -> Parse:
    name: str = config.getoption("untorn_parser") or config.getini("untorn_parser")
    module, colon, function = name.partition(":")
    if not colon:
        raise pytest.UsageError(
            "Reproducers need a parser to be played to: give --untorn-parser MODULE:FUNCTION, "
            "or untorn_parser in the ini file"
        )
    return cast("Parse", getattr(import_module(module), function))


@pytest.fixture
def faulty_source() -> Iterator[Callable[..., FaultySource]]:
    """Make sources: `faulty_source(wire, cuts, faults)`, as the class `FaultySource` does.

    A source that was read from and is still open when the test is over is an error: whoever
    takes a stream over must close it. `may_stay_open=True` exempts a source.
    """
    from untorn.testing import FaultySource

    watched: list[FaultySource] = []

    def make(*args: Any, may_stay_open: bool = False, **kwargs: Any) -> FaultySource:
        source = FaultySource(*args, **kwargs)
        if not may_stay_open:
            watched.append(source)
        return source

    yield make
    left_open = [source for source in watched if source.reads and not source.closed]
    assert not left_open, f"{len(left_open)} of the sources that were read from were not closed"


@pytest.fixture
def chaos_server() -> Iterator[Callable[..., ChaosServer]]:
    """Start servers: `chaos_server(wire, ending=...)`, as the function `chaos_server` does.

    Each runs in a thread of its own from the call to the end of the test, so that plain and
    async tests on any backend can use it.
    """
    from anyio.from_thread import start_blocking_portal

    from untorn.testing import chaos_server as make

    with ExitStack() as running:

        def start(*args: Any, **kwargs: Any) -> ChaosServer:
            portal = running.enter_context(start_blocking_portal())
            server = make(*args, **kwargs)
            return running.enter_context(portal.wrap_async_context_manager(server))

        yield start
