"""Valid streams with one field replaced by anything that JSON can say."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from untorn import Completed, Failed, StageError, parse
from untorn.reduce import Dialect

from .captures import message_of, read

Path = tuple[str | int, ...]

any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400)])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["", "\ud83d", "\ude42", "[DONE]", "error", "completed", "text", "0"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
"""Small values of every kind, and some that look like something."""


def paths(value: Any, above: Path = ()) -> Iterator[Path]:
    """Yield where there is a value inside `value`, and `value` itself."""
    yield above
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*above, key))


def _put(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    value[path[0]] = _put(value[path[0]], path[1:], new)
    return value


@st.composite
def mangled(draw: st.DrawFn, payloads: list[dict[str, Any]]) -> list[Any]:
    """Return the payloads, or some of them in any order, with one or two values replaced."""
    some = st.lists(st.sampled_from(payloads), min_size=1, max_size=12)
    made = copy.deepcopy(draw(st.just(payloads) | some))
    for _ in range(draw(st.integers(1, 2))):
        number = draw(st.integers(0, len(made) - 1))
        path = draw(st.sampled_from(list(paths(made[number]))))
        made[number] = _put(made[number], path, draw(any_json))
    return made


def sse(*payloads: Any) -> bytes:
    """Return a stream whose events have these payloads; `"[DONE]"` is its own data."""
    datas = (each if each == "[DONE]" else json.dumps(each) for each in payloads)
    return b"".join(f"data: {data}\n\n".encode() for data in datas)


def assert_no_internal_error(wire: bytes, dialect: Dialect[Any, Any]) -> None:
    """Check that a stream of any content ends as we promise, and its text can be encoded."""
    events, outcome = read([wire], dialect)
    if isinstance(outcome, Failed):
        assert not isinstance(outcome.error, StageError), outcome.error.__cause__
    message = message_of(outcome)
    for text in (message.text, message.reasoning, message.refusal):
        text.encode()
    for call in message.tool_calls:
        call.arguments.encode()
    finishes = [event for event in events if type(event).__name__ == "Finish"]
    assert len(finishes) == isinstance(outcome, Completed)


def assert_values_stand_still(payloads: list[Any], dialect: Dialect[Any, Any]) -> None:
    """Check that a value taken early stays as it was, what it holds included."""
    stream = parse([sse(payload) for payload in payloads], dialect)
    values = [(repr(value), value) for value in (stream.value for _ in stream)]
    assert len({then for then, _ in values}) > len(payloads) // 3
    assert all(repr(value) == then for then, value in values)


def assert_prefixes_are_torn(
    wire: bytes, dialect: Dialect[Any, Any], lengths: Iterator[int]
) -> None:
    """Check that no prefix is Completed before the marker, and its events begin the whole's."""
    whole, outcome = read([wire], dialect)
    end = outcome.position.bytes if isinstance(outcome, Completed) else len(wire) + 1
    for length in lengths:
        events, early = read([wire[:length]], dialect)
        assert events == whole[: len(events)], length
        assert isinstance(early, Completed) is (length >= end), length
        if isinstance(early, Failed):
            assert isinstance(outcome, Failed) and early.error.code == outcome.error.code
