"""Arguments that arrive by path: the text is the JSON that `json.dumps` would write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn import LimitExceeded, ProtocolViolation
from untorn.dialects.message import Budget
from untorn.dialects.partial_arguments import PartialArguments, segments

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
leaves = st.booleans() | st.none() | st.integers(-9, 9) | st.floats(-9, 9) | names
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(names, inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)
arguments = st.dictionaries(names, trees, max_size=3)


def walk(value: Any, path: str = "$") -> Iterator[dict[str, Any]]:
    """Yield a `PartialArg` for every value, a string letter by letter."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, f"{path}[{json.dumps(key)}]")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from walk(inner, f"{path}[{index}]")
    elif isinstance(value, str):
        for piece in list(value) or [""]:
            yield {"jsonPath": path, "stringValue": piece}
    elif value is None:
        yield {"jsonPath": path, "nullValue": "NULL_VALUE"}
    else:
        yield {"jsonPath": path, "boolValue" if isinstance(value, bool) else "numberValue": value}


@given(arguments)
def test_in_their_order_they_are_the_text(tree: dict[str, Any]) -> None:
    """From front to back, the pieces of text are the JSON of the whole."""
    partial = PartialArguments(Budget(10**6))
    text = "".join(map(partial.add, walk(tree))) + partial.close()
    assert partial.ordered
    assert text == partial.whole() == json.dumps(tree, ensure_ascii=False)


@given(arguments, st.randoms(use_true_random=False))
def test_out_of_order_the_whole_is_right(tree: dict[str, Any], random: Any) -> None:
    """Members in any order, and strings piece by piece in turn, make the same value."""
    members = [list(walk(value, f"$[{json.dumps(key)}]")) for key, value in tree.items()]
    partial, text = PartialArguments(Budget(10**6)), ""
    while any(members):
        text += partial.add(random.choice([each for each in members if each]).pop(0))
    assert json.loads(partial.whole()) == tree
    if partial.ordered:
        assert text + partial.close() == partial.whole()


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ({"stringValue": 'a"b'}, '"a\\"b"'),
        ({"boolValue": False}, "false"),
        ({"numberValue": 1.5}, "1.5"),
        ({"nullValue": "NULL_VALUE"}, "null"),
    ],
)
def test_every_kind_of_value(argument: dict[str, Any], written: str) -> None:
    """Each is written as JSON writes it."""
    partial = PartialArguments(Budget(99))
    text = partial.add({"jsonPath": "$.a", **argument}) + partial.close()
    assert text == partial.whole() == f'{{"a": {written}}}'


def test_a_value_that_is_set_again() -> None:
    """Only strings grow; what takes the place of another cannot be written behind it."""
    for first in ({"numberValue": 1}, {"stringValue": "1"}):
        partial = PartialArguments(Budget(99))
        partial.add({"jsonPath": "$.a", **first})
        partial.add({"jsonPath": "$.a", "boolValue": True})
        partial.add({"jsonPath": "$.a", "stringValue": "x"})
        assert not partial.ordered and partial.whole() == '{"a": "x"}'
    partial = PartialArguments(Budget(99))
    partial.add({"jsonPath": "$.a", "numberValue": 1})
    partial.add({"jsonPath": "$.a", "stringValue": "x"})
    assert not partial.ordered and partial.whole() == '{"a": "x"}'


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a.b_1", ["a", "b_1"]),
        ("$.é[12].x", ["é", 12, "x"]),
        ("$['a.b']['it\\'s \"q\"']", ["a.b", 'it\'s "q"']),
        ('$["a\\u0041\\"]"]', ['aA"]']),
        ("$", []),
    ],
)
def test_paths(path: str, expected: list[str | int]) -> None:
    """Names with a dot, quoted either way, and indexes."""
    assert segments(path) == expected


@pytest.mark.parametrize(
    "path",
    ["", "a", "$a", "$..a", "$.a[*]", "$.a[-1]", "$.a[", "$['a", '$["\\x"]', "$" + ".a" * 257],
)
def test_no_singular_query(path: str) -> None:
    """Whatever could mean several places, or none, is a fault."""
    with pytest.raises(ProtocolViolation):
        segments(path)


@pytest.mark.parametrize(
    "pieces",
    [
        ["$"], ["$.a", "$.a.b"], ["$.a.b", "$.a[0]"], ["$[0]"], ["$.a[999]"], ["$.a[0]", "$.a.b"],
    ],
)  # fmt: skip
def test_what_does_not_fit(pieces: list[str]) -> None:
    """A path through a value, into the wrong kind, or far beyond a list is a fault."""
    partial = PartialArguments(Budget(10**6))
    for path in pieces[:-1]:
        partial.add({"jsonPath": path, "stringValue": "x"})
    with pytest.raises(ProtocolViolation):
        partial.add({"jsonPath": pieces[-1], "stringValue": "x"})


@pytest.mark.parametrize("field", [{}, {"stringValue": 1}, {"numberValue": True}, {"other": 1}])
def test_no_value(field: dict[str, Any]) -> None:
    """A piece we cannot read would leave the call short: it is a fault."""
    with pytest.raises(ProtocolViolation):
        PartialArguments(Budget(99)).add({"jsonPath": "$.a", **field})


def test_what_is_skipped_in_a_list_is_null() -> None:
    """An empty object has no value and so no path of its own."""
    partial = PartialArguments(Budget(99))
    text = partial.add({"jsonPath": "$.a[2]", "boolValue": True}) + partial.close()
    assert text == partial.whole() == '{"a": [null, null, true]}'
    assert PartialArguments(Budget(99)).close() == "{}"


def test_out_of_order_is_bounded_too() -> None:
    """What is no text counts all the same."""
    partial = PartialArguments(Budget(200))
    for path in ("$.a", "$.b", "$.a"):
        partial.add({"jsonPath": path, "stringValue": "x"})
    with pytest.raises(LimitExceeded):
        for _ in range(20):
            partial.add({"jsonPath": "$.a", "stringValue": "x" * 20})
