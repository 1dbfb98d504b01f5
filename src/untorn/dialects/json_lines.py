"""NDJSON, JSON Lines: one JSON value per line.

https://github.com/ndjson/ndjson-spec, https://jsonlines.org
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, final

from ..event import JsonEvent
from ..limits import Limits
from ..ndjson import LineFramer
from ..payload import parse_json
from ..reduce import Dialect, Framer, Reducer
from ..stage import Cut, Ending
from .options import PREDICATE, Eof, check_options

__all__ = ["JsonLines"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines(Dialect[JsonEvent, int]):
    """One JSON value of any type per line; the value is the number of them.

    eof
        `"completes"`: a clean end of the transport behind a line end completes.
    complete_when
        A predicate of the JSON value that completes; its event is handed out too.
    tail
        `"accepts"`: the last line counts although its LF is missing. Then a line
        cut where it happens to be JSON (`12` of `123`) cannot be told from a
        whole one.
    """

    eof: Eof = "interrupts"
    complete_when: Callable[[Any], bool] | None = None
    tail: Literal["torn", "accepts"] = "torn"

    def __post_init__(self) -> None:
        check_options(self, complete_when=PREDICATE)

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return LineFramer(limits.frame_bytes, tail=self.tail == "accepts")

    def reducer(self, limits: Limits) -> Reducer[JsonEvent, int]:
        """Return the state for one stream."""
        return _JsonLinesReducer(self)


class _JsonLinesReducer(Reducer[JsonEvent, int]):
    def __init__(self, dialect: JsonLines) -> None:
        self._dialect = dialect
        self._count = 0

    @property
    def value(self) -> int:
        return self._count

    def feed(self, frame: str) -> Iterable[JsonEvent]:
        value = parse_json(frame)
        when = self._dialect.complete_when
        if when is not None and when(value):
            self.complete("complete_when")
        self._count += 1
        return (JsonEvent(None, value),)

    def end(self, ending: Ending) -> Iterable[JsonEvent]:
        if self._dialect.eof == "completes" and isinstance(ending, Cut) and ending.clean:
            self.complete("eof")
        return ()
