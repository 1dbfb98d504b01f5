"""A growing JSON text: its value at every prefix, read once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from untorn.partial_json import PartialJson, Path

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


def paths(value: Any, at: Path = ()) -> list[Path]:
    """Every path of a value, inner ones first, in the order of the text."""
    inner: list[Path] = []
    if isinstance(value, dict):
        inner = [path for key, each in value.items() for path in paths(each, (*at, key))]
    elif isinstance(value, list):
        inner = [path for index, each in enumerate(value) for path in paths(each, (*at, index))]
    return [*inner, at]


def look_up(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


@given(value=JSON, ascii=st.booleans(), indent=st.sampled_from([None, 1]), at=st.integers(0, 200))
@example(value={"a\n": ["é", {}], "b": 1}, ascii=True, indent=1, at=9)
def test_it_ends_with_the_value(value: Any, ascii: bool, indent: int | None, at: int) -> None:
    """Whole, cut in two and character by character: the value, and every path closed once."""
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    for fragments in ([text], [text[:at], text[at:]], list(text)):
        partial = PartialJson()
        closed = [path for fragment in fragments for path in partial.feed(fragment)]
        closed += partial.end()
        assert partial.value == value
        assert partial.closed and not partial.malformed
        assert closed == paths(value)


@given(value=JSON, at=st.integers(0, 200))
def test_what_is_closed_does_not_change(value: Any, at: int) -> None:
    """At every prefix each closed path has its final value, and the text is not malformed."""
    text = json.dumps(value)
    partial = PartialJson()
    closed = partial.feed(text[:at])
    assert not partial.malformed
    for path in closed:
        assert look_up(partial.value, path) == look_up(value, path)


@given(value=JSON)
@example(value=["ab", {"c": "de"}, ["f", ""]])
def test_asking_early_changes_nothing(value: Any) -> None:
    """Asked at each character, it shows what a reader does that nobody has asked before."""
    text = json.dumps(value)
    asked = PartialJson()
    for end in range(1, len(text) + 1):
        asked.feed(text[end - 1 : end])
        fresh = PartialJson()
        fresh.feed(text[:end])
        assert asked.value == fresh.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ('"ab', "ab"),
        ('{"path": "a/b', {"path": "a/b"}),
        ('{"path', {}),
        ('{"a": [1, 2', {"a": [1]}),
        ('{"a": tru', {}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "\\ud83d\\ude42"', {"a": "🙂"}),
        ('{"a": "x\\ud83d\\ude42\\ud83d', {"a": "x🙂"}),
        (" [ {} , [ ] ", [{}, []]),
    ],
)
def test_the_value_goes_as_far_as_the_text(text: str, value: Any) -> None:
    """An open string shows what it has; a number or a literal not before its end."""
    partial = PartialJson()
    partial.feed(text)
    assert partial.value == value


@pytest.mark.parametrize(
    "text",
    ["}", "{]", "{1", '{"a" 1', '{"a":1 2', "[1 2", "[,", "[1,]", '{"a":1,}', '"\n"', '"\\x"',
     '"\\u12g4"', "nul ", "01 ", "{} x", "[" * 257, "x", '{"a":1]', "[1}", "é"],
)  # fmt: skip
def test_malformed_text_is_told(text: str) -> None:
    """What cannot become JSON any more is malformed, by whatever cut, and stays so."""
    for fragments in ([text], list(text)):
        partial = PartialJson()
        for fragment in fragments:
            partial.feed(fragment)
        partial.end()
        assert partial.malformed
        assert partial.feed("1") == []


def test_an_outermost_number_is_closed_by_the_end() -> None:
    """More digits may follow until the end is told."""
    partial = PartialJson()
    assert partial.feed("12") == [] and not partial.closed
    assert partial.end() == [()] and partial.value == 12
    broken = PartialJson()
    broken.feed("1.")
    assert broken.end() == [] and broken.malformed


def test_a_long_string_is_read_once() -> None:
    """A string in small fragments is joined when it is asked for, not at each of them."""
    partial = PartialJson()
    partial.feed('{"text": "')
    for _ in range(50_000):
        partial.feed("x")
    assert len(partial._parts) == 50_000
    assert partial.value == {"text": "x" * 50_000}
