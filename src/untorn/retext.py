"""Text deltas, cut anew: at stop phrases, and by word, line, sentence or grapheme.

Each of these wraps a dialect and is one:

    by_word(StopAt(["###"])(OpenAIChat()))

Decisions are taken on the accumulated text and never on one delta, so where the
service cuts its deltas makes no difference. What is held back is handed out before
the completion, or when the stream ends in any other way: joined together, the text
is the dialect's own (`StopAt` ends it before the phrase).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, Generic, TypeVar, cast, final

from .around import Around
from .event import Finish, Message, Snapshot, TextDelta
from .limits import Limits
from .reduce import Dialect, Reducer
from .stage import Ending

__all__ = ["StopAt", "by_grapheme", "by_line", "by_sentence", "by_word"]

E = TypeVar("E")
V = TypeVar("V")


class Cutter(ABC):
    """The state of one text."""

    @abstractmethod
    def feed(self, text: str) -> Iterable[str]:
        """Return the pieces that `text` determined, none of them empty."""

    @abstractmethod
    def end(self) -> Iterable[str]:
        """Return what was held back."""


@final
class StopAt:
    """Ends the text of every choice before the first of `phrases` that appears in it.

    Of the text at most the longest tail is held back that could still become a
    phrase. Which phrase counts is the one that is whole first, and of several that
    end together the longest. Behind it there is no more text, but the stream is
    read on, for the finish reason and the usage; leave it to save both.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        if isinstance(phrases, str):
            raise TypeError(f"StopAt takes a list of phrases: write StopAt([{phrases!r}])")
        self.phrases = tuple(phrases)
        for phrase in self.phrases:
            if not isinstance(phrase, str):
                raise TypeError(f"A stop phrase is a str, and {phrase!r} is none")
        if not all(self.phrases):
            raise ValueError("A stop phrase is empty, and would stop every text; leave it out")

    def __call__(self, dialect: Dialect[E, V]) -> Dialect[E, V]:
        """Return the dialect that stops."""
        return _Retext(dialect, partial(StopCutter, self.phrases))

    def __repr__(self) -> str:
        return f"StopAt({list(self.phrases)!r})"


def by_word(dialect: Dialect[E, V]) -> Dialect[E, V]:
    """Return the dialect with a text delta for each word and the white space behind it."""
    return _Retext(dialect, partial(BoundaryCutter, WORD))


def by_line(dialect: Dialect[E, V]) -> Dialect[E, V]:
    """Return the dialect with a text delta for each line and its LF."""
    return _Retext(dialect, partial(BoundaryCutter, LINE))


def by_sentence(dialect: Dialect[E, V]) -> Dialect[E, V]:
    """Return the dialect with a text delta for each sentence, for display or reading aloud.

    A sentence ends with `.`, `!` or `?`, what closes behind it, and white space;
    with 。！？ at once; or with a line end. Abbreviations are not known: "e.g. this"
    is two.
    """
    return _Retext(dialect, partial(BoundaryCutter, SENTENCE))


def by_grapheme(dialect: Dialect[E, V]) -> Dialect[E, V]:
    """Return the dialect with a text delta for each extended grapheme cluster (UAX #29).

    That is what a reader takes for one character: a flag, a family, a letter with
    its accents. Needs the package `regex`, which the extra `text` installs.
    """
    try:
        import regex
    except ImportError as missing:
        raise ImportError("by_grapheme needs regex: pip install 'untorn[text]'") from missing
    return _Retext(dialect, partial(ClusterCutter, regex.compile(GRAPHEME).findall))


_SPACE: Final = " \t\r\n\f\v\u00a0\u3000"
_IN_LINE: Final = _SPACE.replace("\n", "")
_CLOSING: Final = re.escape("\"'”’」』）)]")
# What ends a piece, in patterns that take a run whole and never fail behind its first
# character: each character is read once. The named group says that there is a cut.
# Joined, the groups are the shortest text behind which a run goes on the same way.
WORD: Final = re.compile(f"(?P<run>[{_SPACE}])[{_SPACE}]*")
LINE: Final = re.compile("(?P<line>\n)")
SENTENCE: Final = re.compile(
    f"([.!?])[.!?{_CLOSING}]*(?:(?P<space>[{_IN_LINE}])[{_IN_LINE}]*)?"
    f"|(?P<run>[。！？])[。！？{_CLOSING}]*"
    "|(?P<line>\n)"
)
# `\X` alone looks back, at each flag, over all that stand before it in a row.
GRAPHEME: Final = r"\p{RI}{2}[\p{GCB=EX}\p{GCB=ZWJ}\p{GCB=SM}]*|\X"


class BoundaryCutter(Cutter):
    """Cuts behind every match of `boundary`, once the match can grow no more."""

    def __init__(self, boundary: re.Pattern[str]) -> None:
        self._boundary = boundary
        self._open: list[str] = []  # the piece so far
        self._context = ""  # stands for the match it ends with

    def feed(self, text: str) -> Iterator[str]:
        at = len(self._context)
        text, self._context = self._context + text, ""
        for match in self._boundary.finditer(text):
            kind, end = match.lastgroup, match.end()
            if end == len(text) and kind != "line":
                self._context = "".join(match.groups(""))
            elif kind is not None:
                yield "".join((*self._open, text[at:end]))
                self._open, at = [], end
        self._open.append(text[at:])

    def end(self) -> Iterator[str]:
        held = "".join(self._open)
        self._open, self._context = [], ""
        if held:
            yield held


class ClusterCutter(Cutter):
    """Cuts behind every cluster but the last, which may grow.

    Whether it does, only the whole cluster says. So that one without an end is not
    read anew at each delta, behind a long one as much text again is waited for.
    """

    _LONG: Final = 64  # characters; no cluster of ordinary text has as many

    def __init__(self, clusters: Callable[[str], list[str]]) -> None:
        self._clusters = clusters
        self._held: list[str] = []
        self._length = 0
        self._enough = 0

    def feed(self, text: str) -> Iterable[str]:
        self._held.append(text)
        self._length += len(text)
        return self._cut() if self._length >= self._enough else ()

    def _cut(self) -> list[str]:
        *whole, last = self._clusters("".join(self._held)) or [""]
        self._held, self._length = [last], len(last)
        self._enough = 2 * len(last) if len(last) > self._LONG else 0
        return whole

    def end(self) -> Iterator[str]:
        whole, last = self._cut(), "".join(self._held)
        self._held, self._length, self._enough = [], 0, 0
        yield from whole
        if last:
            yield last


class StopCutter(Cutter):
    def __init__(self, phrases: tuple[str, ...]) -> None:
        self._phrases = phrases
        self._longest = max(map(len, phrases), default=0)
        self._held = ""
        self._stopped = False

    def feed(self, text: str) -> Iterator[str]:
        if self._stopped:
            return
        text = self._held + text
        stop = self._first(text)
        if stop is None:
            keep = len(text) - self._could_become(text)
            text, self._held = text[:keep], text[keep:]
        else:
            text, self._held, self._stopped = text[:stop], "", True
        if text:
            yield text

    def end(self) -> Iterator[str]:
        held, self._held = self._held, ""
        if held:
            yield held

    def _first(self, text: str) -> int | None:
        """Return where the phrase begins that is whole first."""
        found = ((text.find(phrase), len(phrase)) for phrase in self._phrases)
        ends = [(start + length, start) for start, length in found if start >= 0]
        return min(ends)[1] if ends else None

    def _could_become(self, text: str) -> int:
        """Return the length of the longest tail that is the beginning of a phrase."""
        for length in range(min(len(text), self._longest - 1), 0, -1):
            tail = text[-length:]
            if any(phrase.startswith(tail) for phrase in self._phrases):
                return length
        return 0


class _Retext(Around[E, V]):
    """A dialect whose text deltas are cut anew."""

    def __init__(self, dialect: Dialect[E, V], cutter: Callable[[], Cutter]) -> None:
        super().__init__(dialect)
        self._cutter = cutter

    def reducer(self, limits: Limits) -> Reducer[E, V]:
        return _RetextReducer(self.dialect.reducer(limits), self._cutter)


class _RetextReducer(Reducer[E, V], Generic[E, V]):
    def __init__(self, inner: Reducer[E, V], cutter: Callable[[], Cutter]) -> None:
        self._inner = inner
        self._cutter = cutter
        self._cutters: dict[int, Cutter] = {}
        self._texts: dict[int, list[str]] = {}

    @property
    def value(self) -> V:
        """The dialect's value, with the text that was handed out."""
        return cast(V, self._shown(self._inner.value))

    def feed(self, frame: Any) -> Iterator[E]:
        """Cut the text deltas among the events of `frame`."""
        yield from self._cut(self._inner.feed(frame))

    def end(self, ending: Ending) -> Iterator[E]:
        """Hand out what is held back."""
        yield from self._cut(self._inner.end(ending))
        yield from self._flush()

    def is_keepalive(self, event: E) -> bool:
        """As the dialect says."""
        return self._inner.is_keepalive(event)

    def _cut(self, events: Iterable[E]) -> Iterator[E]:
        for event in events:
            if isinstance(event, TextDelta):
                yield from self._deltas(
                    event.choice, self._cutter_of(event.choice).feed(event.text)
                )
            elif isinstance(event, Snapshot):
                yield self._restart(event)
            else:
                if isinstance(event, Finish):
                    yield from self._flush()
                yield event
        if self._inner.ended is not None:
            yield from self._flush()
            self.ended = self._inner.ended

    def _restart(self, snapshot: Snapshot) -> E:
        """Begin anew with the snapshot's text, of which nothing is handed out again.

        What is held back of it comes later, so the snapshot is without it. One of another
        kind than the dialect's value is the service's own, and stays; what it did to the
        text, the value says.
        """
        folded: Any = self._inner.value
        given = type(snapshot.value) is type(folded)
        whole = snapshot.value if given else folded
        texts = _texts(whole)
        if texts is not None:
            self._cutters, self._texts = {}, {}
            for choice, text in texts.items():
                self._texts[choice] = list(self._cutter_of(choice).feed(text))
        return cast(E, Snapshot(self._shown(whole)) if given else snapshot)

    def _cutter_of(self, choice: int) -> Cutter:
        if choice not in self._cutters:
            self._cutters[choice] = self._cutter()
        return self._cutters[choice]

    def _deltas(self, choice: int, pieces: Iterable[str]) -> Iterator[E]:
        for piece in pieces:
            self._texts.setdefault(choice, []).append(piece)
            yield cast(E, TextDelta(piece, choice))

    def _flush(self) -> Iterator[E]:
        for choice, cutter in self._cutters.items():
            yield from self._deltas(choice, cutter.end())

    def _text(self, choice: int) -> str:
        return "".join(self._texts.get(choice, ()))

    def _shown(self, value: Any) -> Any:
        """Return a value with the text that was handed out, if it has a text."""
        if isinstance(value, str):
            return self._text(0)
        if not isinstance(value, Message):
            return value
        choices = tuple(replace(each, text=self._text(each.index)) for each in value.choices)
        return replace(value, text=self._text(0), choices=choices)


def _texts(value: Any) -> dict[int, str] | None:
    """Return the text of each choice; `None` where the value has no text."""
    if isinstance(value, Message):
        return {each.index: each.text for each in value.choices}
    return {0: value} if isinstance(value, str) else None
