"""Feeding several frames at once is a shortcut: what comes of it is what comes one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn import Limits
from untorn.dialects import Sse
from untorn.frame import Cursor
from untorn.reduce import Reduction

ids = st.sampled_from(["", "1", "2"])
frames = st.tuples(
    st.sampled_from(["message", "done"]), st.text(max_size=3), ids, st.none() | st.integers(0, 9)
)
cursors = st.builds(Cursor, ids | st.none(), st.none() | st.integers(0, 9))


def reduced(dialect: Sse, items: list[Any], at_once: bool) -> Any:
    """Return all that comes of the items in one batch."""
    reducer = dialect.reducer(Limits())
    if not at_once:
        reducer.feed_all = lambda frames: None  # type: ignore[method-assign]
    reduction = Reduction(reducer, dialect.asks)
    batch = reduction.feed((items, 1, lambda index: (index, index + 1)))
    return batch, reduction.frames, reduction.events, reducer.value, reducer.ended


@pytest.mark.parametrize("dialect", [Sse(), Sse(complete_when="done"), Sse(sentinel="")])
@given(items=st.lists(frames | cursors, max_size=6))
def test_at_once_is_one_by_one(dialect: Sse, items: list[Any]) -> None:
    """The events, the counts, the value and the end: also with cursors in between."""
    assert reduced(dialect, items, at_once=True) == reduced(dialect, items, at_once=False)


def test_frames_alone_are_fed_at_once() -> None:
    """Else the shortcut would save nothing; a stream that may complete has none."""
    events = Sse().reducer(Limits()).feed_all([("message", "a", "", None)] * 2)
    assert events is not None
    assert [event.data for event in events] == ["a", "a"]
    assert Sse(sentinel="b").reducer(Limits()).feed_all([("message", "a", "", None)]) is None
