"""The teaching subset of Server-Sent Events: every rule on one page, none of them lenient.

UTF-8 without repair; lines end with LF or CRLF; the fields are `id` and `data`,
and nothing else is allowed but comments; a frame that has data needs an id of 1
to 64 of `A-Za-z0-9_-`, its own; the data is JSON. A frame may be 1,024 bytes,
comments included, and the stream 8,192. `{"type":"finish"}` completes,
`{"type":"error"}` fails, and whatever follows the last blank line is torn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias, final

from ..event import JsonEvent
from ..faults import ProtocolViolation, shortened
from ..frame import Frames, Span
from ..limits import Limits
from ..ndjson import LfFramer
from ..outcome import Boundary
from ..payload import parse_json
from ..reduce import Dialect, Framer, Reducer
from ..sse import SseFramer
from ..stage import Cut, Ending
from .options import check_options
from .typed import service_error

__all__ = ["StrictSse"]

StrictFrame: TypeAlias = tuple[str | None, str]
"""The id of a block, if it has one, and its data."""

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSse(Dialect[JsonEvent, int]):
    """Strict Server-Sent Events; the value is the number of events.

    `finish` and `error` are the values of `type` that complete and that fail.
    """

    finish: str = "finish"
    error: str = "error"
    limits: Limits = Limits(frame_bytes=1024, total_bytes=8192)

    def __post_init__(self) -> None:
        check_options(self)
        if self.finish == self.error:
            raise ValueError(
                f"finish and error are both {shortened(repr(self.finish))}: give two types"
            )

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return StrictSseFramer(limits.frame_bytes)

    def reducer(self, limits: Limits) -> Reducer[JsonEvent, int]:
        """Return the state for one stream."""
        return _StrictReducer(self)


class StrictSseFramer(LfFramer[StrictFrame]):
    """Turn `Text` into blocks that have data.

    Every byte of the unfinished block counts towards `frame_bytes`, comments
    too; the LF that completes it does not.
    """

    media_types: ClassVar = SseFramer.media_types

    __slots__ = ("_data", "_id", "_of_lines")

    def __init__(self, frame_bytes: int) -> None:
        super().__init__(frame_bytes)
        self._data: list[str] = []
        self._id: str | None = None
        self._of_lines = 0  # bytes kept before the line that is being read

    def end(self, ending: Ending) -> tuple[list[Frames[StrictFrame]], Ending]:
        """Mark a cut with anything since the last blank line."""
        if isinstance(ending, Cut) and self._kept:
            return [], ending.inside(Boundary.FRAME)
        return [], ending

    def _end_line(self, line: str, end: int, items: list[StrictFrame], spans: list[Span]) -> None:
        if line:
            self._keep(1, end)
            self._field(line, end)
        else:
            self._dispatch(end, items, spans)
        self._of_lines = self._kept

    def _field(self, line: str, end: int) -> None:
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if colon and name == "data":
            self._data.append(value)
        elif colon and name == "id":
            self._id = value
        elif colon and not name:
            self.comments += 1
        else:
            raise ProtocolViolation(
                f"The line {shortened(line)!r} is not an id, data or comment line; "
                "send only those, or read the stream with Sse()",
                code="unsupported-field",
                offset=end - (self._kept - self._of_lines),
            )

    def _dispatch(self, end: int, items: list[StrictFrame], spans: list[Span]) -> None:
        if self._data:
            data = "\n".join(self._data)
            items.append((self._id, data))
            spans.append((end - 1 - self._kept, end))
            self.largest = max(self.largest, len(data))
        self._data, self._id, self._kept = [], None, 0


class _StrictReducer(Reducer[JsonEvent, int]):
    def __init__(self, dialect: StrictSse) -> None:
        self._finish = dialect.finish
        self._error = dialect.error
        self._count = 0

    @property
    def value(self) -> int:
        return self._count

    def feed(self, frame: StrictFrame) -> Iterable[JsonEvent]:
        id, data = frame
        if id is None or not _ID.fullmatch(id):
            had = "no id" if id is None else f"the id {shortened(id)!r}"
            raise ProtocolViolation(
                f"A frame with data has {had}; give it one of 1 to 64 of A-Za-z0-9_-",
                code="invalid-id",
            )
        value = parse_json(data)
        kind = value.get("type") if isinstance(value, dict) else None
        if kind is not None and kind == self._error:
            raise service_error(value, value)
        self._count += 1
        if kind is not None and kind == self._finish:
            self.complete(self._finish)
        return (JsonEvent(id, value),)
