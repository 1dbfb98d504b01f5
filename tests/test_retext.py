"""Text deltas cut anew: however the service cut them, and nothing lost."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

import untorn
from untorn import Completed, Interrupted, Message, Other, Snapshot, TextDelta
from untorn.dialects import (
    AiSdkUi,
    AnthropicMessages,
    OpenAIAssistants,
    OpenAIResponses,
    Sse,
    TextSse,
)
from untorn.retext import (
    GRAPHEME,
    LINE,
    SENTENCE,
    WORD,
    BoundaryCutter,
    ClusterCutter,
    StopAt,
    StopCutter,
    by_grapheme,
    by_line,
    by_sentence,
    by_word,
)

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
@example(text="a#b#", phrases=["##", "b"], at=[])
@example(text="a#", phrases=["##"], at=[])
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


SPACE, CLOSING = " \t\r\n\f\v\u00a0\u3000", re.escape("\"'”’」』）)]")
IN_LINE = SPACE.replace("\n", "")
# Where pieces end, said once more: plainly, and for whole texts only.
ENDS: dict[Wrap, re.Pattern[str]] = {
    by_word: re.compile(f"[{SPACE}]+(?=[^{SPACE}])"),
    by_line: re.compile("\n"),
    by_sentence: re.compile(
        f"[.!?]+[{CLOSING}]*[{IN_LINE}]+(?=[^{IN_LINE}])"
        f"|[。！？]+[{CLOSING}]*(?=[^。！？{CLOSING}])|\n"
    ),
}
ENDING = st.text(st.sampled_from("a .!?。！」)\n\t\u3000"), max_size=40)


@pytest.mark.parametrize("wrap", ENDS)
@given(text=ENDING, at=st.lists(st.integers(0, 40), max_size=8))
def test_pieces_end_where_a_plain_pattern_says(wrap: Wrap, text: str, at: list[int]) -> None:
    """The pieces are those between the matches of a pattern on the whole text."""
    ends = [match.end() for match in ENDS[wrap].finditer(text)]
    expected = [piece for a, b in pairwise([0, *ends, len(text)]) if (piece := text[a:b])]
    assert run(wrap, cuts(text, at))[0] == expected


CLUSTERED = st.text(
    st.sampled_from("aé\r\n \u0301\u200d👩🏽🇩🇪ᄀ가ᅡᆨ\u0600\u0903क\u094dत\ufe0f\u200c"), max_size=40
)


def clusters() -> ClusterCutter:
    return ClusterCutter(regex.compile(GRAPHEME).findall)


@given(text=CLUSTERED, at=st.lists(st.integers(0, 40), max_size=8), times=st.integers(1, 9))
def test_graphemes_are_those_of_the_whole_text(text: str, at: list[int], times: int) -> None:
    """However the text is cut, the clusters are those of the standard, long ones too."""
    expected = regex.findall(r"\X", text * times)
    for deltas in (cuts(text * times, at), list(text * times)):
        cutter = clusters()
        pieces = [piece for delta in deltas for piece in cutter.feed(delta)]
        assert [*pieces, *cutter.end()] == expected


@pytest.mark.parametrize("boundary", [WORD, LINE, SENTENCE])
@given(text=ENDING)
def test_no_attempt_reads_a_run_in_vain(boundary: re.Pattern[str], text: str) -> None:
    """The first character says whether there is a match: no run is read from each of its starts."""
    for first in "a .。」\n":
        assert (boundary.match(first + text) is None) == (boundary.match(first) is None)


class Reading:
    """A pattern that counts the characters it is given."""

    def __init__(self, pattern: Any) -> None:
        self.pattern = pattern
        self.characters = 0

    def finditer(self, text: str) -> Any:
        self.characters += len(text)
        return self.pattern.finditer(text)

    def findall(self, text: str) -> Any:
        self.characters += len(text)
        return self.pattern.findall(text)


@pytest.mark.parametrize("run_of", [" ", ".", "。", ".」", ". ", "\n", "x"])
@pytest.mark.parametrize("boundary", [WORD, LINE, SENTENCE])
def test_a_run_that_drips_is_read_once(boundary: re.Pattern[str], run_of: str) -> None:
    """With each delta of one character, a few more are read, and not all that is held."""
    reading: Any = Reading(boundary)
    cutter = BoundaryCutter(reading)
    text = run_of * 1000
    pieces = [piece for character in text for piece in cutter.feed(character)]
    assert "".join([*pieces, *cutter.end()]) == text
    assert reading.characters <= 3 * len(text)


@pytest.mark.parametrize("run_of", ["\u0301", "👩\u200d", "ᄀ", "\u0600", "क\u094d", "🇩", "a"])
def test_a_cluster_that_drips_is_read_a_few_times(run_of: str) -> None:
    """A cluster without an end costs the square of a short one, and is linear from there."""

    def read(times: int) -> int:
        reading = Reading(regex.compile(GRAPHEME))
        cutter = ClusterCutter(reading.findall)
        for character in run_of * times:
            list(cutter.feed(character))
        list(cutter.end())
        return reading.characters

    assert read(4000) <= 3 * read(2000)


def test_a_row_of_flags_is_not_counted_from_its_start() -> None:
    """Two letters are one match that looks at nothing before them, as `\\X` would."""
    assert list(clusters().feed("🇩" * 5 + "\u0301")) == ["🇩🇩", "🇩🇩"]
    assert GRAPHEME.startswith(r"\p{RI}{2}")


def chat(dialect: Any, payloads: list[Any]) -> tuple[list[Any], Any]:
    """Return the events and the value of a stream of JSON payloads."""
    wire = "".join(
        f"event: {payload.get('type', '')}\ndata: {json.dumps(payload)}\n\n" for payload in payloads
    )
    parse = untorn.parse([wire.encode() + b"event: done\ndata: [DONE]\n\n"], dialect)
    return list(parse.events()), parse.outcome.unwrap()  # type: ignore[union-attr]


def replayed(events: list[Any]) -> str:
    """Return the text that a reader has who adds deltas, and lets snapshots replace them."""
    text = ""
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, Snapshot):
            text = event.value.text
    return text


DISAGREES = [
    {"type": "response.output_text.delta", "delta": "wrong wor"},
    {"type": "response.output_text.done", "text": "right wor"},
    {"type": "response.output_text.delta", "delta": "ds ## here"},
    {"type": "response.completed", "response": {"status": "completed", "output": []}},
]
RESET = [
    {"type": "start-step"},
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "delta": "kept ha"},
    {"type": "text-end", "id": "1"},
    {"type": "start-step"},
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "delta": "wrong ## wor"},
    {"type": "reset-step"},
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "delta": "lf right ## words"},
    {"type": "finish", "finishReason": "stop"},
]
RETRACTED = [(OpenAIResponses(), DISAGREES), (AiSdkUi(), RESET)]


@pytest.mark.parametrize(("dialect", "payloads"), RETRACTED)
@pytest.mark.parametrize("wrap", [*CUTTERS, StopAt(["##"]), lambda it: by_word(StopAt(["##"])(it))])
def test_a_snapshot_replaces_the_text(wrap: Wrap, dialect: Any, payloads: list[Any]) -> None:
    """Behind it stands the dialect's own text, or what of it comes before the phrase."""
    _, own = chat(dialect, payloads)
    events, value = chat(wrap(dialect), payloads)
    expected = own.text if wrap in CUTTERS else own.text.partition("##")[0]
    assert isinstance(value, Message) and "right" in value.text
    assert value.text == value.choices[0].text == replayed(events) == expected


@pytest.mark.parametrize(
    ("dialect", "payloads", "shown", "pieces"),
    [
        (OpenAIResponses(), DISAGREES, "right ", ["words ", "## ", "here"]),
        (AiSdkUi(), RESET, "kept ", ["half ", "right ", "## ", "words"]),
    ],
)
def test_nothing_retracted_comes_behind_a_snapshot(
    dialect: Any, payloads: list[Any], shown: str, pieces: list[str]
) -> None:
    """What was held back is dropped; what is held of the snapshot is not in it, and comes later."""
    events, _ = chat(by_word(dialect), payloads)
    at = next(n for n, event in enumerate(events) if isinstance(event, Snapshot))
    assert events[at].value.text == shown
    assert [event.text for event in events[at:] if isinstance(event, TextDelta)] == pieces


def test_a_snapshot_of_the_services_own_counts_too() -> None:
    """One that is no message passes as it is, and the text is what it made of it."""
    content = [{"index": 0, "type": "text", "text": {"value": "wrong wor"}}]
    whole = [{"type": "text", "text": {"value": "right words"}}]
    payloads = [
        {"type": "thread.message.delta", "id": "m", "delta": {"content": content}},
        {"type": "thread.message.completed", "id": "m", "content": whole},
        {"type": "thread.run.completed", "id": "r"},
    ]
    events, value = chat(by_word(OpenAIAssistants()), payloads)
    assert value.text == "right words"
    assert payloads[1] in [event.value for event in events if isinstance(event, Snapshot)]


class Replacing(untorn.Reducer[Any, Any]):
    """A text that grows, and that `=` before a frame replaces; in a dialect of one's own."""

    def __init__(self, made: Callable[[str], Any]) -> None:
        self._made = made
        self._text = ""

    @property
    def value(self) -> Any:
        return self._made(self._text)

    def feed(self, frame: Any) -> list[Any]:
        said = frame[1].removeprefix("=")
        self._text = said if said != frame[1] else self._text + said
        return [TextDelta(said) if said == frame[1] else Snapshot(self.value)]


class ReplacingSse(untorn.Dialect[Any, Any]):
    def __init__(self, made: Callable[[str], Any]) -> None:
        self._made = made

    def reducer(self, limits: untorn.Limits) -> Replacing:
        return Replacing(self._made)


def test_a_value_that_is_a_text_is_replaced_as_one() -> None:
    """What was held back is dropped, and what the snapshot ends with is held back in turn."""
    deltas = wire(["wrong wor", "=right wor", "ds"], sentinel=False)
    stream = untorn.parse([deltas], by_word(ReplacingSse(str)))
    shown = [TextDelta("wrong "), Snapshot("right "), TextDelta("words")]
    assert list(stream.events()) == shown
    assert stream.value == "right words"


@pytest.mark.parametrize("wrap", CUTTERS)
def test_a_snapshot_without_a_text_passes(wrap: Wrap) -> None:
    """Where the value is neither a message nor a text, none of the text was taken back."""
    stream = untorn.parse([wire(["a", "=bc"], sentinel=False)], wrap(ReplacingSse(len)))
    assert list(stream.events()) == [Snapshot(2), TextDelta("a")]
    assert stream.value == 2


@pytest.mark.parametrize("wrap", CUTTERS)
def test_a_ping_is_still_a_keepalive(wrap: Wrap) -> None:
    """Which events are none of progress is for the dialect inside to say."""
    dialect = wrap(AnthropicMessages())
    reducer = dialect.reducer(dialect.limits)
    assert reducer.is_keepalive(Other("ping", {}))
    assert not reducer.is_keepalive(TextDelta("ping"))


def test_graphemes_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence says what to install, when the dialect is made and not in the stream."""
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(ImportError, match=r"needs regex: pip install 'untorn\[text\]'"):
        by_grapheme(TextSse())


def test_what_is_no_dialect_is_refused() -> None:
    """A class where its object belongs, and anything else, is refused with a sentence."""
    wraps: list[Wrap] = [*CUTTERS, StopAt(["##"])]
    for wrap in wraps:
        with pytest.raises(TypeError, match=r"Sse is a class: write Sse\(\)"):
            wrap(Sse)
    with pytest.raises(TypeError, match="takes a dialect, and 'sse' is none"):
        by_word("sse")  # type: ignore[arg-type]


def test_phrases_are_checked() -> None:
    """A phrase by itself, and an empty one, are refused with a sentence that says what to do."""
    with pytest.raises(TypeError, match=r"write StopAt\(\['###'\]\)"):
        StopAt("###")
    with pytest.raises(TypeError, match="A stop phrase is a str, and 5 is none"):
        StopAt([5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="empty"):
        StopAt(["###", ""])
    assert repr(StopAt(["a"])) == "StopAt(['a'])"
    assert TextDelta("a") == TextDelta("a", 0)
