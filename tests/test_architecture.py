"""The house as the page for contributors describes it: who imports whom, and what is public."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import untorn
import untorn.dialects
import untorn.http
import untorn.relay

ROOT = Path(__file__).parents[1]
PACKAGE = Path(untorn.__file__).parent
REFERENCE = ROOT / "docs" / "reference"

LAYOUT = (ROOT / "docs" / "contributing.rst").read_text().partition("   __init__ ")
# Imports only point down this list: one line of the page after the other, from left to right.
FLOORS = [
    name.replace("__init__", "untorn")
    for line in re.findall(r"^   (\w.*?)  ", "".join(LAYOUT[1:]), re.MULTILINE)
    for name in line.split(", ")
]
WINGS = {"testing", "http", "relay", "cli", "pytest_plugin", "__main__"}
ON_ANYIO = {"broadcast", "stream", "flow", "clock", "interrupt", "source"}
# What an extra brings is imported where it is used.
OPTIONAL = {"retext": {"regex"}, "payload": {"jiter"}}

MODULES = {
    path: ".".join(("untorn", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )
    for path in sorted(PACKAGE.rglob("*.py"))
}


def room(module: str) -> str:
    """Return the floor or wing that a module of ours lies in."""
    top, _, rest = module.partition(".")
    return rest.split(".")[0] or top


def not_for_types(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree, but not what only a type checker reads."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from not_for_types(child)


def imports(path: Path, *, at_module_level: bool = False) -> Iterator[str]:
    """Yield the full names of the modules that a file imports when it runs."""
    tree = ast.parse(path.read_text())
    package = MODULES[path] if path.name == "__init__.py" else MODULES[path].rpartition(".")[0]
    for node in tree.body if at_module_level else not_for_types(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            yield ".".join(filter(None, (base, node.module)))


ours = pytest.mark.parametrize("path", MODULES, ids=MODULES.values())


@ours
def test_every_module_has_its_place(path: Path) -> None:
    """A new module is on the list, or in a wing; none is called utils."""
    assert room(MODULES[path]) in {*FLOORS, *WINGS}
    assert not {"utils", "util", "helpers", "common", "misc"} & set(MODULES[path].split("."))


@ours
def test_imports_point_down(path: Path) -> None:
    """A module imports what is below it; a wing imports any floor, and no floor a wing."""
    here = room(MODULES[path])
    for name in imports(path):
        there = room(name)
        if not name.startswith("untorn") or there == here or here in WINGS:
            continue
        assert there in FLOORS, f"{here} imports the wing {there}"
        assert FLOORS.index(there) > FLOORS.index(here), f"{here} imports {there}, above it"


@ours
def test_the_house_stands_on_anyio_alone(path: Path) -> None:
    """Only the top floors know anyio; nothing but a wing needs more than it."""
    here = room(MODULES[path])
    foreign = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - {"untorn"}
    if here not in WINGS:
        assert foreign - OPTIONAL.get(here, set()) <= ({"anyio"} if here in ON_ANYIO else set())


@ours
def test_trio_is_imported_by_nobody_who_does_not_use_it(path: Path) -> None:
    """No module imports trio when it is imported itself."""
    names = imports(path, at_module_level=True)
    assert "trio" not in {name.split(".")[0] for name in names}


def test_importing_untorn_imports_no_extra() -> None:
    """What is optional is not imported until it is asked for."""
    code = "import sys, untorn, untorn.dialects; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    extras = {
        "trio",
        "click",
        "rich",
        "httpx",
        "httpx2",
        "aiohttp",
        "pytest",
        "hypothesis",
        "regex",
    }
    assert "anyio" in loaded
    assert not loaded & extras


PACKAGES = (untorn, untorn.dialects, untorn.http, untorn.relay)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda module: module.__name__)
def test_public_names_are_sorted_and_complete(package: object) -> None:
    """`__all__` has every public name of the package, in order, and nothing else."""
    names: list[str] = package.__all__  # type: ignore[attr-defined]
    assert names == sorted(names)
    tree = ast.parse(inspect.getsource(package))  # type: ignore[arg-type]
    bound = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert {alias.asname or alias.name for node in bound for alias in node.names} == set(names)


def test_the_package_holds_names_only() -> None:
    """`untorn/__init__.py` computes nothing."""
    tree = ast.parse(inspect.getsource(untorn))
    docstring, *imported, names = tree.body
    assert isinstance(docstring, ast.Expr)
    assert all(isinstance(node, ast.ImportFrom) for node in imported)
    assert isinstance(names, ast.Assign) and ast.unparse(names.targets) == "__all__"


PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in PACKAGES
    for name in package.__all__
}


def members(thing: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties that a class of ours defines."""
    for name, member in vars(thing).items():
        if not name.startswith("_") and (
            inspect.isfunction(member) or isinstance(member, property)
        ):
            yield name, member


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_thing_has_a_docstring(name: str) -> None:
    """Classes, functions, methods and properties say what they are."""
    thing = PUBLIC[name]
    if inspect.isclass(thing):
        assert vars(thing).get("__doc__") and not thing.__doc__.startswith(f"{thing.__name__}(")
        silent = [member for member, value in members(thing) if not inspect.getdoc(value)]
        assert not silent, f"{name} has members without a docstring"
    elif inspect.isfunction(thing):
        assert inspect.getdoc(thing)


def documented() -> set[str]:
    """Return the full names of all that the reference documents."""
    found = set()
    for page in REFERENCE.rglob("*.rst"):
        module = ""
        for kind, name in re.findall(r"^\.\. (\w+):: ([\w.]+)", page.read_text(), re.MULTILINE):
            if kind in ("module", "currentmodule"):
                module = name
            elif kind.startswith("auto"):
                found.add(name if name.startswith("untorn.") else f"{module}.{name}")
    return found


def test_the_reference_is_complete() -> None:
    """Every public name stands in the reference."""
    assert not PUBLIC.keys() - documented()


def test_the_reference_documents_what_exists() -> None:
    """Whatever the reference names can be imported."""
    for name in documented():
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
