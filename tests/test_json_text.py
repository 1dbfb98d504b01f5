"""Values as JSON that every program can read."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn import TextDelta, ToolCall, ToolCallDone
from untorn.json_text import event_name, fields_of, json_text

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(value=ANY_JSON, compact=st.booleans())
def test_a_value_comes_back_from_one_line(value: Any, compact: bool) -> None:
    """Whatever JSON can say is said, and what it cannot is null."""
    text = json_text(value, compact=compact)
    assert "\n" not in text and text.encode()
    finite = json.loads(json.dumps(value), parse_constant=lambda name: None)
    assert json.loads(text) == finite


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2]}, '{"a":[1,2]}'),
        (-math.inf, "null"),
        ({"a": (math.nan, 1.5)}, '{"a":[null,1.5]}'),
        ("京\u2028", '"京\u2028"'),
        ("\ud83d", r'"\ud83d"'),
        (b"\xff", '"\ufffd"'),
        (1j, '"1j"'),
        (TextDelta("a"), '{"text":"a","choice":0}'),
    ],
)
def test_what_json_has_no_word_for_is_null_or_text(value: Any, text: str) -> None:
    """Infinities are null, halves of pairs escapes, bytes and others text, dataclasses objects."""
    assert json_text(value, compact=True) == text


def test_an_event_has_a_name_and_fields() -> None:
    """As they are in Python, but for the case of its class."""
    call = ToolCall("1", "f", "{}", valid=True, finished=True)
    event = ToolCallDone(0, call)
    assert event_name(event) == "tool_call_done"
    assert fields_of(event) == {"index": 0, "call": call, "choice": 0}
