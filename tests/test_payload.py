"""A payload is JSON as ECMAScript's `JSON.parse` reads it."""

import json
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from untorn import InvalidJson, payload
from untorn.payload import is_json, parse_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(values, st.booleans(), st.sampled_from(["", " ", "\t\r\n "]))
def test_reads_what_json_writes(value: Any, ascii_only: bool, space: str) -> None:
    """Any value comes back, escaped or not, with white space around it."""
    text = space + json.dumps(value, ensure_ascii=ascii_only) + space
    assert parse_json(text) == value
    assert is_json(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "NaN", "Infinity", "-Infinity", '{"a": NaN}', "01", "1.", ".5", "+1", "1 2", "nul",
     "[1,]", '{"a":1,}', "{'a':1}", '"\t"', '"\x00"', '"a', "\ufeff1", "\xa01", "1\x0b", '"\\x41"',
     "١", "[", "{", '{"a"}', "//", "undefined", "True", '"\\u12"', "- 1", "1e", "0x1"],
)  # fmt: skip
def test_refuses_what_json_parse_refuses(text: str) -> None:
    """Python's own constants and lenience are no JSON."""
    with pytest.raises(InvalidJson) as fault:
        parse_json(text)
    assert fault.value.payload == text
    assert fault.value.code == "invalid-json"
    assert not is_json(text)


def test_takes_what_json_parse_takes() -> None:
    """Numbers beyond a double are infinite, the last of two keys counts, halves of pairs stand."""
    assert parse_json("1e400") == float("inf")
    assert parse_json('{"a":1,"a":2}') == {"a": 2}
    assert parse_json('"\\ud83d"') == "\ud83d"
    assert parse_json('"\\ud83d\\ude42"') == "🙂"
    assert parse_json('"\u2028\x7f"') == "\u2028\x7f"


def test_an_integer_of_any_length_is_a_number() -> None:
    """Python refuses to read more than 4,300 digits at once; the wire may have them."""
    assert parse_json("9" * 4300) == 10**4300 - 1
    assert parse_json("[" + "9" * 4301 + "]") == [float("inf")]
    assert parse_json("-" + "9" * 5000) == float("-inf")


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nests_256_deep_and_no_deeper(opening: str, closing: str) -> None:
    """The verdict depends on the payload, and never on the stack of whoever asks."""
    assert is_json(opening * 256 + "1" + closing * 256)
    for depth in (257, 100_000):
        with pytest.raises(InvalidJson, match="nests deeper than 256"):
            parse_json(opening * depth + "1" + closing * depth)


def test_the_depth_is_the_same_far_down_the_stack() -> None:
    """What is allowed is read even where little of the stack is left."""
    deepest = "[" * 256 + "]" * 256

    def down(left: int) -> bool:
        return down(left - 1) if left else is_json(deepest)

    assert down(sys.getrecursionlimit() // 2)


def test_brackets_in_strings_and_in_a_row_do_not_nest() -> None:
    """Only what is open at once counts."""
    assert is_json(json.dumps(["[{" * 300, '"\\' * 300 + "[" * 300]))
    assert is_json("[" + ",".join(["[{}]"] * 300) + "]")


def test_the_sentence_shows_the_payload_but_not_all_of_it() -> None:
    """What was wrong, where in the payload, and what to look at."""
    with pytest.raises(InvalidJson) as fault:
        parse_json("x" * 500)
    assert "xxx...'" in str(fault.value)
    assert "char 0" in fault.value.reason
    assert "check that the dialect fits the service" in str(fault.value)


def verdict(text: str) -> object:
    """Return the value as it can be told apart (1 from 1.0, 0.0 from -0.0), or the fault."""
    try:
        return repr(parse_json(text))
    except InvalidJson as fault:
        return str(fault)


@given(
    st.text(max_size=20)
    | st.text('[]{}",:-+.0123456789eEtrufalsn \\u', max_size=20)
    | st.floats().map(repr)
    | st.from_regex(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?([eE][-+]?\d{1,3})?", fullmatch=True)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=10,
    ).map(json.dumps)
)
@example('"\\ud83d"')
@example("\ud83d")
@example("NaN")
@example("1" * 5000)
@example("[" * 256 + "]" * 256)
@example("[" * 257 + "]" * 257)
@example('{"a": 1, "a": 2}')
def test_the_fast_parser_says_the_same(text: str) -> None:
    """With jiter and without: the same values, and the same faults in the same words."""
    pytest.importorskip("jiter", reason="the extra json is not installed")
    with pytest.MonkeyPatch.context() as patch:
        assert payload._fast is not None
        fast = verdict(text)
        patch.setattr(payload, "_fast", None)
        assert verdict(text) == fast


def test_without_the_fast_parser_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is a matter of speed alone."""
    monkeypatch.setitem(sys.modules, "jiter", None)
    assert payload._fast_parser() is None
    monkeypatch.setattr(payload, "_fast", None)
    assert parse_json(' {"a": [1, 2.5]} ') == {"a": [1, 2.5]}
