"""The house's chores. `nox` runs what CI runs; `nox -l` lists the rest.

Nothing is written twice: Python versions and dependency floors come from pyproject.toml.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import nox
from packaging.requirements import Requirement
from packaging.version import Version

nox.needs_version = ">=2025.2.9"

PYPROJECT = nox.project.load_toml("pyproject.toml")
PROJECT = PYPROJECT["project"]
EXTRAS = f".[{','.join(PROJECT['optional-dependencies'])}]"


def group(name: str) -> tuple[str, ...]:
    return nox.project.dependency_groups(PYPROJECT, name)


def extend_path(versions: list[str]) -> None:
    """Let interpreters be found that pyenv has installed but not activated, and ours."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [path for version in versions for path in root.glob(f"versions/{version}.*/bin")]
    ours = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([*map(str, folders), os.environ["PATH"], ours])


def runs(version: str) -> bool:
    """Say whether there is an interpreter; a shim of pyenv's may stand for none."""
    path = shutil.which(f"python{version}")
    return path is not None and not subprocess.run([path, "-V"], capture_output=True).returncode


VERSIONS = nox.project.python_versions(PYPROJECT)
extend_path(VERSIONS)
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
PYTHONS = [version for version in VERSIONS if runs(version)] or [RUNNING]
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]
TESTS = [f"tests-{version}" for version in PYTHONS]

# What is drawn at random is drawn in full on the newest Python: the others are there
# for what a version or a dependency changes.
FEWER = {"UNTORN_EXAMPLES": "8", "UNTORN_STEP": "7", "UNTORN_WIRES": "10"}
# And these try a browser and programs of their own, the same ones each time.
ELSEWHERE = ("--ignore=tests/browser", "--ignore=tests/bench")

nox.options.sessions = ["lint", "types", "docs", "floors", *TESTS, "coverage"]
nox.options.reuse_venv = "yes"


def pytest_arguments(session: nox.Session) -> list[str]:
    """Return the arguments given, or a worker for each core.

    A test that hangs fails, and does not take the run with it. One that fails is run
    once more: uvloop cannot be given a virtual clock, and a busy machine is late.
    """
    return ["--timeout=300", "--reruns=1", *(session.posargs or ["-n", "auto"])]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All tests, of the package as it is installed."""
    session.install(EXTRAS, *group("test"))
    if session.name != TESTS[-1]:
        session.run("pytest", *ELSEWHERE, *pytest_arguments(session), env=FEWER)
        return
    # Tracing costs time, and all versions run the same lines.
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", *pytest_arguments(session))


def floor(requirement: str) -> str:
    """Turn `name>=version` into `name==version`."""
    parsed = Requirement(requirement)
    least = min(Version(s.version) for s in parsed.specifier if s.operator == ">=")
    return f"{parsed.name}=={least}"


@nox.session(python=OLDEST)
def floors(session: nox.Session) -> None:
    """All tests at the lowest version of each dependency that the package admits."""
    wanted = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    constraints = Path(session.create_tmp()) / "floors.txt"
    constraints.write_text("\n".join(sorted({floor(requirement) for requirement in wanted})))
    session.install(EXTRAS, *group("test"), "--constraint", str(constraints))
    session.run("pytest", *ELSEWHERE, *pytest_arguments(session), env=FEWER)


@nox.session(python=NEWEST)
def parity(session: nox.Session) -> None:
    """The vendors' SDKs and untorn read the same streams; `-- write` writes the tables anew."""
    session.install(EXTRAS, *group("test"), *group("parity"))
    if session.posargs == ["write"]:
        session.run("python", "-m", "parity", env={"PYTHONPATH": "tests"})
        return
    adapters = ("tests/testing/test_parsers.py", "tests/cli/test_verdict.py")
    session.run("pytest", "tests/parity", *adapters, "--reruns=1", *session.posargs)


@nox.session(python=NEWEST)
def coverage(session: nox.Session) -> None:
    """Every line and branch of the package is tested, or says in place why not.

    Needs a run of the newest `tests`. Some are tested by recorded streams alone, which
    lie beside the checkout of those who have them.
    """
    session.install(*(name for name in group("test") if name.startswith("coverage")))
    session.run("coverage", "combine")
    # 100 % on a machine with time: a late one may miss a branch of the tests with real clocks.
    least = 99.5 if Path("../shared/captures").exists() else 98
    session.run("coverage", "report", "--precision=2", f"--fail-under={least}")


@nox.session(python=NEWEST)
def lint(session: nox.Session) -> None:
    """Ruff's rules and format."""
    session.install(*group("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session(python=NEWEST)
def types(session: nox.Session) -> None:
    """Mypy and pyright, on the package and on code that uses it."""
    session.install("-e", EXTRAS, *group("test"), *group("types"))
    session.run("mypy")
    session.run("pyright")


@nox.session(python=NEWEST)
def docs(session: nox.Session) -> None:
    """Build the documentation, warnings as errors, and run its doctests."""
    session.install(EXTRAS, *group("docs"))
    for builder in ("html", "doctest"):
        session.run("sphinx-build", "-qWn", "-b", builder, "docs", f"docs/_build/{builder}")


@nox.session(python=NEWEST)
def bench(session: nox.Session) -> None:
    """Measure against others; arguments are handed on."""
    session.install(EXTRAS, *group("bench"))
    session.run("python", "-m", "bench", *session.posargs)
