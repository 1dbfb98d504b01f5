"""What chat dialects share: texts that heal, values set once, calls finished once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn import LimitExceeded
from untorn.dialects.message import Budget, Fields, MessageFold, TextFold
from untorn.event import (
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallDone,
)

utf_16 = st.lists(
    st.sampled_from(["a", "é", "🙂", "\ud83d", "\ude42", "\ufffd", "\udbff", "\udc00"]), max_size=8
)


def healed(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@given(utf_16)
def test_pieces_heal_to_what_the_whole_heals_to(pieces: list[str]) -> None:
    """However halves are spread over deltas; what is handed out joins to the text."""
    text = TextFold(Budget(1000))
    out = "".join([text.add(piece) for piece in pieces])
    assert str(text) == out
    assert healed("".join(pieces)) == out + text.flush() == str(text)
    whole = TextFold(Budget(1000))
    whole.replace("".join(pieces))
    assert str(whole) == str(text)
    assert text.replacements == whole.replacements
    str(text).encode()


def test_only_a_half_that_may_find_its_partner_is_held_back() -> None:
    """The text before it is handed out, and the next delta decides."""
    text = TextFold(Budget(100))
    assert [text.add("a\ud83d"), text.add("\ude42b")] == ["a", "🙂b"]
    assert [text.add("\ud83d"), text.add("c"), text.add("\ude42")] == ["", "\ufffdc", "\ufffd"]
    assert text.add("\ud83d") == ""
    assert [text.flush(), text.flush()] == ["\ufffd", ""]
    assert text.replacements == 3


def test_a_text_is_worth_what_it_holds() -> None:
    """It says so when it holds nothing, or nothing but half a character."""
    text = TextFold(Budget(100))
    assert not text
    text.add("")
    assert not text
    text.add("\ud83d")
    assert text
    assert str(text) == ""


def test_a_budget_counts_bytes_of_utf_8() -> None:
    """The byte that is one too many is the fault."""
    budget = Budget(7)
    for piece in ("é", "🙂", "a"):
        budget.spend(piece)
    with pytest.raises(LimitExceeded, match="7 bytes"):
        budget.spend("a")


def test_a_snapshot_costs_no_more_than_it_holds() -> None:
    """What it replaces is given back, so a value may be as large as the limit says."""
    text = TextFold(Budget(6))
    text.add("abcd")
    text.replace("ABCDEF")
    assert str(text) == "ABCDEF"
    with pytest.raises(LimitExceeded):
        text.add("g")


def test_parts_stand_in_the_order_in_which_they_were_opened() -> None:
    """Pieces of two parts may interleave."""
    choice = MessageFold(100).choice()
    for text, part in (("a", 0), ("c", 1), ("b", 0)):
        assert list(choice.add(TextDelta, text, part)) == [TextDelta(text)]
    assert choice.text(TextDelta) == "abc"
    assert list(choice.add(TextDelta, "", 2)) == []


def test_a_call_is_told_of_when_there_is_news() -> None:
    """Its opening, an id, a name, a fragment; an empty fragment alone is none."""
    choice = MessageFold(100).choice()
    found = choice.call("key")
    assert list(choice.add_arguments(found, "")) == [ToolCallDelta(0, None, None, "")]
    assert list(choice.add_arguments(found, "")) == []
    assert choice.call("key", "i", "f") is found
    assert choice.call("key", "j", "g") is found
    assert list(choice.add_arguments(found, "")) == [ToolCallDelta(0, "i", "f", "")]
    assert list(choice.add_arguments(found, "{}")) == [ToolCallDelta(0, "i", "f", "{}")]


def test_a_call_is_finished_once() -> None:
    """A half held back in its arguments comes out before."""
    fold = MessageFold(100)
    found = fold.choice().call(7, "i", "f")
    list(fold.choice().add_arguments(found, '"\ud83d'))
    done = ToolCall("i", "f", '"\ufffd', valid=False, finished=True)
    assert list(fold.finish_calls()) == [
        ToolCallDelta(0, "i", "f", "\ufffd"),
        ToolCallDone(0, done),
    ]
    assert list(fold.finish_calls()) == []


@pytest.mark.parametrize(
    ("arguments", "valid"), [("", True), ("null", True), ("{}", True), ("{", False), ("NaN", False)]
)
def test_arguments_are_valid_only_when_finished(arguments: str, valid: bool) -> None:
    """JSON that parses is no sign of an end."""
    choice = MessageFold(100).choice()
    found = choice.call(0)
    list(choice.add_arguments(found, arguments))
    assert not found.call().valid
    list(choice.finish_call(found))
    assert found.call().valid is valid


def test_held_halves_of_every_kind_are_given_up_at_the_end() -> None:
    """In all choices, each as a delta of its kind."""
    fold = MessageFold(100)
    list(fold.choice(0).add(TextDelta, "\ud83d"))
    list(fold.choice(1).add(ReasoningDelta, "\ud83d"))
    assert list(fold.flush()) == [TextDelta("\ufffd"), ReasoningDelta("\ufffd", 1)]
    assert list(fold.flush()) == []


def test_a_message_is_choice_0_s_and_has_them_all() -> None:
    """Choices stand by index; an answer without choice 0 has no text."""
    fold = MessageFold(100)
    list(fold.choice(2).add(TextDelta, "c"))
    assert (fold.message().text, fold.finish()) == ("", Finish(None, "unknown"))
    list(fold.choice(0).add(TextDelta, "a"))
    fold.choice(0).finish_reason, fold.choice(0).disposition = "stop", "complete"
    message = fold.message()
    assert [(each.index, each.text) for each in message.choices] == [(0, "a"), (2, "c")]
    assert (message.text, fold.finish()) == ("a", Finish("stop", "complete"))


def test_fields_grow_and_are_set_once() -> None:
    """Texts grow, values that say nothing set nothing, and a list grows."""
    budget, fold = Budget(100), MessageFold(100)
    inner = Fields()
    fold.choice().extra.extend("list", [inner, {"n": 1}], budget)
    for text, value in (("a", None), ("b", 0), ("c", 1)):
        inner.grow("text", text, budget)
        inner.keep("value", value, budget)
    early = fold.message().extra
    assert early == {"list": [{"text": "abc", "value": 0}, {"n": 1}]}
    inner.grow("text", "d", budget)
    fold.choice().extra.extend("list", [2], budget)
    assert early == {"list": [{"text": "abc", "value": 0}, {"n": 1}]}
    assert fold.message().choices[0].extra["list"][2] == 2
