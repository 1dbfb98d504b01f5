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
from .event import Finish, Message, TextDelta
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
        if not all(self.phrases):
            raise ValueError("A stop phrase is empty, and would stop every text; leave it out")

    def __call__(self, dialect: Dialect[E, V]) -> Dialect[E, V]:
        """Return the dialect that stops."""
        return _Retext(dialect, partial(StopCutter, self.phrases))

    def __repr__(self) -> str:
        return f"StopAt({list(self.phrases)!r})"


def by_word(dialect: Dialect[E, V]) -> Dialect[E, V]:
    """Return the dialect with a text delta for each word and the white space behind it."""
    return _Retext(dialect, partial(_BoundaryCutter, _WORD, _SPACE))


def by_line(dialect: Dialect[E, V]) -> Dialect[E, V]:
    """Return the dialect with a text delta for each line and its LF."""
    return _Retext(dialect, partial(_BoundaryCutter, _LINE, ""))


def by_sentence(dialect: Dialect[E, V]) -> Dialect[E, V]:
    """Return the dialect with a text delta for each sentence, for display or reading aloud.

    A sentence ends with `.`, `!` or `?`, what closes behind it, and white space;
    with 。！？ at once; or with a line end. Abbreviations are not known: "e.g. this"
    is two.
    """
    return _Retext(dialect, partial(_BoundaryCutter, _SENTENCE, _STOPS + _CLOSERS + _SPACE))


def by_grapheme(dialect: Dialect[E, V]) -> Dialect[E, V]:
    """Return the dialect with a text delta for each extended grapheme cluster (UAX #29).

    That is what a reader takes for one character: a flag, a family, a letter with
    its accents. Needs the package `regex`, which the extra `text` installs.
    """
    try:
        import regex
    except ImportError as missing:
        raise ImportError("by_grapheme needs regex: pip install 'untorn[text]'") from missing
    return _Retext(dialect, partial(_ClusterCutter, regex.compile(r"\X").findall))


_SPACE: Final = " \t\r\n\f\v\u00a0\u3000"
_STOPS: Final = ".!?。！？"
_CLOSERS: Final = "\"'”’」』）)]"
# Each matches where a piece ends, once what follows cannot belong to it any more.
_WORD: Final = re.compile(f"[{_SPACE}]+(?=[^{_SPACE}])")
_LINE: Final = re.compile("\n")
_IN_LINE: Final = _SPACE.replace("\n", "")
_CLOSING: Final = re.escape(_CLOSERS)
_SENTENCE: Final = re.compile(
    f"[.!?]+[{_CLOSING}]*[{_IN_LINE}]+(?=[^{_IN_LINE}])"
    f"|[。！？]+[{_CLOSING}]*(?=[^。！？{_CLOSING}])"
    "|\n"
)


class _BoundaryCutter(Cutter):
    """Cuts behind every match of `boundary`; `may_begin` are the characters of unfinished ones."""

    def __init__(self, boundary: re.Pattern[str], may_begin: str) -> None:
        self._boundary = boundary
        self._may_begin = may_begin
        self._whole: list[str] = []  # of the open piece, what holds no boundary
        self._tail = ""  # behind that, what may be the beginning of one

    def feed(self, text: str) -> Iterator[str]:
        text = self._tail + text
        at = 0
        for match in self._boundary.finditer(text):
            yield "".join((*self._whole, text[at : match.end()]))
            self._whole, at = [], match.end()
        settled = max(at, len(text.rstrip(self._may_begin)))
        self._whole.append(text[at:settled])
        self._tail = text[settled:]

    def end(self) -> Iterator[str]:
        held = "".join((*self._whole, self._tail))
        self._whole, self._tail = [], ""
        if held:
            yield held


class _ClusterCutter(Cutter):
    def __init__(self, clusters: Callable[[str], list[str]]) -> None:
        self._clusters = clusters
        self._held = ""

    def feed(self, text: str) -> Iterable[str]:
        *whole, self._held = self._clusters(self._held + text) or [""]
        return whole

    def end(self) -> Iterator[str]:
        held, self._held = self._held, ""
        if held:
            yield held


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
        value = self._inner.value
        if isinstance(value, str):
            return cast(V, self._text(0))
        return cast(V, self._with_text(value)) if isinstance(value, Message) else value

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
            else:
                if isinstance(event, Finish):
                    yield from self._flush()
                yield event
        if self._inner.ended is not None:
            yield from self._flush()
            self.ended = self._inner.ended

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

    def _with_text(self, message: Message) -> Message:
        choices = tuple(replace(each, text=self._text(each.index)) for each in message.choices)
        return replace(message, text=self._text(0), choices=choices)
