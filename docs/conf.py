"""How the documentation is built: warnings are errors, and every reference of ours must resolve."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import Any, get_origin

from sphinx.ext.napoleon.docstring import GoogleDocstring

import untorn
import untorn.dialects
import untorn.http
import untorn.relay
import untorn.testing

_project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())

project = "untorn"
author = copyright = _project["project"]["authors"][0]["name"]
version = release = _project["project"]["version"]

extensions = ["sphinx.ext.autodoc", "sphinx.ext.doctest", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "untorn"
default_role = "code"  # docstrings write `name`

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
maximum_signature_line_length = 88

# What stands before a colon in the docstring of an attribute is no type.
GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end

# Names of other projects are not looked up: that would take the network.
nitpick_ignore_regex = [("py:.*", r"(?!untorn\b).*"), ("py:.*", r"untorn\.[\w.]+\.[EFV](_co)?")]


def _find_where_documented(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Resolve `untorn.limits.Limits`, where a thing is defined, as `untorn.Limits`."""
    where, _, name = node.get("reftarget", "").rpartition(".")
    for package in (untorn.testing, untorn.dialects, untorn.http, untorn.relay, untorn):
        if f"{where}.".startswith(f"{package.__name__}.") and name in package.__all__:
            domain = env.get_domain("py")
            target = f"{package.__name__}.{name}"
            document = node["refdoc"]
            return domain.resolve_xref(env, document, app.builder, "obj", target, node, content)
    return None


def _drop_what_typing_says(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Leave out the docstring of `Union`, `list` and the like, which an alias without one has."""
    borrowed = {inspect.getdoc(type(thing)), inspect.getdoc(get_origin(thing))}
    if what == "data" and "\n".join(lines).strip() in borrowed:
        lines.clear()


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", _drop_what_typing_says, priority=1)
    app.connect("missing-reference", _find_where_documented)
