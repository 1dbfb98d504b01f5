"""What takes the place of secrets in a text that comes in pieces."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn.cli.redaction import Redaction

KEY = "sk-Ab/3+dEf6h"
OVERLAPPING = {
    "one begins with the other": {"abcabc", "abcabcabcd"},
    "one ends with the other": {"bcdefg", "abcdefg"},
    "they overlap": {"abcabc", "cabcde", "bcdeab"},
    "with numbers": {"111111", "112345", "45abcd", "123456"},
    "with spellings": {"a&b+c\\", '+c\\"a', "&amp;ab"},
}


def shown(secrets: set[str], *pieces: str) -> str:
    """Return all that is shown of a text in pieces."""
    redaction = Redaction(secrets)
    return "".join([*map(redaction.feed, pieces), redaction.end()])


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "ab", "abc", "bcde"])).map("".join), st.data())
@pytest.mark.parametrize("secrets", OVERLAPPING.values(), ids=OVERLAPPING)
def test_it_makes_no_difference_where_it_is_cut(
    secrets: set[str], text: str, data: st.DataObject
) -> None:
    """Wherever, and however often; no character is lost or moved, and no secret is left."""
    parts = [text, *data.draw(st.lists(st.sampled_from(sorted(secrets)), max_size=3))]
    text = "".join(data.draw(st.permutations(parts)))
    whole = shown(secrets, text)
    assert len(whole) == len(text)
    assert not any(secret in whole for secret in secrets)
    for at in range(len(text) + 1):
        assert shown(secrets, text[:at], text[at:]) == whole
    assert shown(secrets, *text) == whole


@pytest.mark.parametrize("spelled", ["ab&amp;cd/ef", "ab\\u0026cd\\/ef", "ab%26cd%2fef"])
def test_it_makes_none_where_a_spelling_is_cut(spelled: str) -> None:
    for at in range(len(spelled) + 1):
        pieces = (f"({spelled[:at]}", f"{spelled[at:]})")
        assert shown({"ab&cd/ef"}, *pieces) == f"({'*' * len(spelled)})"


@given(st.lists(st.text("ab+\\", max_size=5)), st.sets(st.text("ab+\\", min_size=6), max_size=2))
def test_what_is_no_secret_stays(pieces: list[str], secrets: set[str]) -> None:
    text, whole = "".join(pieces), shown(secrets, *pieces)
    assert len(whole) == len(text)
    assert all(a in (b, "*") for a, b in zip(whole, text, strict=True))
    assert not any(secret in whole for secret in secrets)


@pytest.mark.parametrize("size", range(1, len(KEY)))
def test_a_text_that_breaks_off_inside_a_key_shows_little_of_it(size: int) -> None:
    """Five characters at most; where more came there are asterisks."""
    redaction = Redaction({KEY})
    assert redaction.feed(f"no {KEY[:size]}") == "no "
    assert redaction.end() == (KEY[:size] if size < 6 else "*" * size)
    assert redaction.feed(KEY[size:]) == KEY[size:]  # by now it is the beginning of nothing


def test_only_the_strings_of_json_are_seen_to() -> None:
    """They stay strings, and numbers stay what they are."""
    value = {"1234567": 1234567, "a": ["1234567", 'x"abcde', "\nnabcdef", "\ud800"], "b": 1.5}
    text = json.dumps(value, ensure_ascii=False)
    redaction = Redaction({"1234567", 'x"abcde', "nabcdef"})
    assert json.loads(redaction.json(text)) == {
        "1111111": 1234567, "a": ["1111111", "*******", "\n*******", "\ud800"], "b": 1.5
    }  # fmt: skip
    assert Redaction().json(text) is text


def test_there_may_be_a_secret_of_each_digit() -> None:
    """Then none is left to stand for a number."""
    secrets = [digit * 6 for digit in "123456789"]
    assert Redaction(secrets).text("777777") == "1" * 6
