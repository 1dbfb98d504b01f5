"""What the documentation shows is so: every example is run, and prints what the page says."""

import ast
import asyncio
import doctest
import json
import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from untorn.testing import ChaosServer, Ending, chaos_server

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.rst") if "_build" not in page.parts)
EXAMPLES = sorted(path for path in DOCS.glob("examples/*.py") if path.stem != "service")
README = (ROOT / "README.md").read_text()


def page_id(page: Path) -> str:
    return page.relative_to(DOCS).with_suffix("").as_posix()


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let examples import the service, as they do where they lie."""
    monkeypatch.syspath_prepend(str(DOCS / "examples"))
    return DOCS / "examples"


def need_imports_of(source: str) -> None:
    """Skip where a library that an example reads from is not installed."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                pytest.importorskip(alias.name)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.usefixtures("examples")
def test_an_example_prints_what_its_page_says(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each example runs, and its output lies beside it."""
    need_imports_of(path.read_text())
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == path.with_suffix(".out").read_text()


def test_every_example_stands_on_a_page() -> None:
    """No example is kept that nobody reads."""
    shown = re.findall(
        r"literalinclude:: (?:\.\./)*(\S+)", "".join(page.read_text() for page in PAGES)
    )
    assert {f"examples/{path.name}" for path in EXAMPLES} <= set(shown)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_the_prompts_on_a_page_answer_as_shown(page: Path) -> None:
    """What follows `>>>` is what Python says."""
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_page_holds_no_code_that_nobody_runs(page: Path) -> None:
    """Python in a page is included from a file or has prompts; an outline may have no body."""
    for block in re.findall(r"code-block:: python\n\n((?: +.*\n)+)", page.read_text()):
        lines = [line for line in block.splitlines() if not line.endswith((": ...", ":"))]
        assert not lines


def python_of_readme() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    return str(block)


def commands_of_readme() -> list[str]:
    return re.findall(r"```sh\n(.*)\n```", README)


CHUNK = '{"choices": [{"index": 0, "delta": {"content": "%s"}, "finish_reason": %s}]}'
CHAT = "".join(
    f"data: {data}\n\n"
    for data in (CHUNK % ("Hello, ", "null"), CHUNK % ("🦊", '"stop"'), "[DONE]")
).encode()


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[[ChaosServer], str]:
    """Run the README's function against a service; return what it prints."""
    httpx2 = pytest.importorskip("httpx2")
    names: dict[str, Any] = {}
    exec(compile(python_of_readme(), "README.md", "exec"), names)

    async def run(service: ChaosServer) -> None:
        async with service, httpx2.AsyncClient() as client:
            await names["ask"](client, service.url)
        (request,) = service.requests
        assert (request.method, json.loads(request.body)) == ("POST", names["QUESTION"])

    def ask(service: ChaosServer) -> str:
        asyncio.run(run(service))
        return capsys.readouterr().out

    return ask


def test_the_readme_tells_a_whole_answer_from_a_cut_one(ask: Callable[[ChaosServer], str]) -> None:
    """The example of the README runs as it stands, and does what it says."""
    assert ask(chaos_server(CHAT)) == "Hello, 🦊\n[whole: stop]\n"
    cut = CHAT[: CHAT.index(b"\x8a")]
    assert ask(chaos_server(cut)) == "Hello, \n[cut: eof]\n"
    assert ask(chaos_server(cut, ending=Ending.RESET)) == "Hello, \n[cut: transport]\n"
    assert ask(chaos_server(CHAT[:20])) == "\n[nothing came: eof]\n"


def test_the_readme_takes_no_refusal_for_a_cut_answer(ask: Callable[[ChaosServer], str]) -> None:
    """What is no stream fails, and says why."""
    json_type, html = {"content-type": "application/json"}, {"content-type": "text/html"}
    refusal = b'{"error": {"message": "no such key"}}'
    assert "401 Unauthorized: no such key" in ask(
        chaos_server(refusal, status=401, headers=json_type)
    )
    assert "'Log in'" in ask(chaos_server(b"<title>Log in</title>", headers=html))
    assert ask(chaos_server(b"data: \xff\n\n")).startswith("\n[The bytes FF are not UTF-8")


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """What people are told to run is what is run."""
    demo, tests = commands_of_readme()
    assert demo.endswith("untorn demo")
    script = ROOT / ".ci" / "run"
    assert tests in script.read_text().splitlines()
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("readme", ["README.md", "examples/README.md"])
def test_links_of_a_readme_lead_somewhere(readme: str) -> None:
    """Every relative link of it is a file of the repository."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / readme).read_text())
    assert links
    assert not [link for link in links if not (ROOT / readme).parent.joinpath(link).exists()]


def test_every_example_stands_in_the_readme_of_the_examples() -> None:
    """Nobody has to look for a program."""
    readme = (ROOT / "examples" / "README.md").read_text()
    for path in (ROOT / "examples").glob("*.py"):
        assert f"[{path.name}]({path.name})" in readme


def test_the_changelog_knows_the_version() -> None:
    """The version of the package has its section."""
    import tomllib

    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()
