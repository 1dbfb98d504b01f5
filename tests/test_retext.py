"""Text deltas cut anew: however the service cut them, and nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import untorn
from untorn import Completed, Interrupted, TextDelta
from untorn.dialects import Sse, TextSse
from untorn.retext import StopAt, StopCutter, by_grapheme, by_line, by_sentence, by_word

Wrap = Callable[[Any], Any]
CUTTERS: list[Wrap] = [by_word, by_line, by_sentence, by_grapheme]

TEXTS = st.text(st.sampled_from("ab .!?\n。！」\"')é你🙂\u0301🇩🇪\u200d"), max_size=40)


def wire(deltas: list[str], sentinel: bool = True) -> bytes:
    frames = ("".join(f"data: {line}\n" for line in delta.split("\n")) + "\n" for delta in deltas)
    return "".join(frames).encode() + (b"data: [DONE]\n\n" if sentinel else b"")


def run(wrap: Wrap, deltas: list[str], sentinel: bool = True) -> tuple[list[str], Any]:
    parse = untorn.parse([wire(deltas, sentinel)], wrap(TextSse(sentinel="[DONE]")))
    return [event.text for event in parse.events()], parse.outcome


def cuts(text: str, at: list[int]) -> list[str]:
    bounds = [0, *sorted(min(cut, len(text)) for cut in at), len(text)]
    return [text[a:b] for a, b in pairwise(bounds)]


@pytest.mark.parametrize("wrap", CUTTERS)
@given(text=TEXTS, at=st.lists(st.integers(0, 40), max_size=8))
def test_pieces_do_not_depend_on_the_deltas(wrap: Wrap, text: str, at: list[int]) -> None:
    """The same text gives the same pieces, whole, cut and character by character."""
    whole = run(wrap, [text])
    assert run(wrap, cuts(text, at))[0] == whole[0]
    assert run(wrap, list(text))[0] == whole[0]


@pytest.mark.parametrize("wrap", CUTTERS)
@given(text=TEXTS, at=st.lists(st.integers(0, 40), max_size=8), whole=st.booleans())
def test_joined_pieces_are_the_text(wrap: Wrap, text: str, at: list[int], whole: bool) -> None:
    """Nothing is lost or added, and no piece is empty, whether the stream completes or not."""
    pieces, outcome = run(wrap, cuts(text, at), sentinel=whole)
    assert "".join(pieces) == text
    assert "" not in pieces
    folded = outcome.value if whole else outcome.partial
    assert folded == text
    assert isinstance(outcome, Completed if whole else Interrupted)


@pytest.mark.parametrize(
    ("wrap", "text", "pieces"),
    [
        (by_word, " The quick  brown\nfox", [" ", "The ", "quick  ", "brown\n", "fox"]),
        (by_line, "one\n\ntwo\nthree", ["one\n", "\n", "two\n", "three"]),
        (by_sentence, 'It is 3.14. "Is it?" Yes!', ["It is 3.14. ", '"Is it?" ', "Yes!"]),
        (by_sentence, "你好。「世界！」好", ["你好。", "「世界！」", "好"]),
        (by_sentence, "one\ntwo.\nthree", ["one\n", "two.\n", "three"]),
        (by_grapheme, "e\u0301🇩🇪🇫🇷👨\u200d👩x", ["e\u0301", "🇩🇪", "🇫🇷", "👨\u200d👩", "x"]),
    ],
)
def test_pieces_are_what_the_name_says(wrap: Wrap, text: str, pieces: list[str]) -> None:
    """Words keep the space behind them, lines their end, sentences what closes them."""
    assert run(wrap, list(text))[0] == pieces


def reference_stop(text: str, phrases: list[str]) -> str:
    """Read on until the text ends with a phrase, and drop the longest that it ends with."""
    for end in range(len(text) + 1):
        for phrase in sorted(phrases, key=len, reverse=True):
            if text[:end].endswith(phrase):
                return text[: end - len(phrase)]
    return text


@given(
    text=st.text("ab#", max_size=30),
    phrases=st.lists(st.text("ab#", min_size=1, max_size=4), max_size=3),
    at=st.lists(st.integers(0, 30), max_size=8),
)
def test_a_stop_phrase_ends_the_text(text: str, phrases: list[str], at: list[int]) -> None:
    """The text ends before the phrase that is whole first, however it was cut."""
    expected = reference_stop(text, phrases)
    for deltas in ([text], cuts(text, at), list(text)):
        pieces, outcome = run(StopAt(phrases), deltas)
        assert "".join(pieces) == outcome.value == expected


@given(text=st.text("ab#", max_size=20), phrase=st.text("ab#", min_size=1, max_size=4))
def test_no_more_is_held_back_than_could_become_a_phrase(text: str, phrase: str) -> None:
    """After every character, all is handed out but the longest tail that begins the phrase."""
    cutter = StopCutter((phrase,))
    shown = ""
    for end in range(1, len(text.split(phrase)[0]) + 1):
        shown += "".join(cutter.feed(text[end - 1 : end]))
        read = text[:end]
        held = max(n for n in range(len(phrase)) if read.endswith(phrase[:n]))
        assert shown == read[: end - held]


def test_cutters_compose() -> None:
    """What one hands out another cuts again, and both end in front of the completion."""
    pieces, outcome = run(lambda dialect: by_word(StopAt(["##"])(dialect)), ["a b", "c#", "# d"])
    assert pieces == ["a ", "bc"]
    assert outcome.value == "a bc"


def test_other_events_pass() -> None:
    """A dialect without text deltas is left as it is, its value too."""
    parse = untorn.parse([b"id: 7\ndata: a\n\n"], by_word(Sse(sentinel="a")))
    assert [event.data for event in parse] == ["a"]
    assert parse.outcome is not None and parse.outcome.unwrap().last_event_id == "7"


def test_a_long_word_in_small_deltas_is_read_once() -> None:
    """A piece without an end is joined once, not at each delta."""
    pieces, _ = run(by_word, ["x"] * 20_000)
    assert pieces == ["x" * 20_000]


def test_phrases_are_checked() -> None:
    """A phrase by itself, and an empty one, are refused with a sentence that says what to do."""
    with pytest.raises(TypeError, match=r"write StopAt\(\['###'\]\)"):
        StopAt("###")
    with pytest.raises(ValueError, match="empty"):
        StopAt(["###", ""])
    assert repr(StopAt(["a"])) == "StopAt(['a'])"
    assert TextDelta("a") == TextDelta("a", 0)
