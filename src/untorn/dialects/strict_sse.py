"""The teaching subset of Server-Sent Events: every rule on one page, none of them lenient.

UTF-8 without repair; lines end with LF or CRLF; the fields are `id` and `data`,
and nothing else is allowed but comments; a frame that has data needs an id of 1
to 64 of `A-Za-z0-9_-`, its own; the data is JSON. A frame may be 1,024 bytes,
comments included, and the stream 8,192. `{"type":"finish"}` completes,
`{"type":"error"}` fails, and whatever follows the last blank line is torn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias, final

from ..event import JsonEvent
from ..faults import LimitExceeded, ProtocolViolation, ServiceError, StreamFault, shortened
from ..frame import Frames, Pieces, Span, Text, size_of
from ..limits import Limits
from ..outcome import Boundary
from ..payload import parse_json
from ..reduce import Dialect, Framer, Reducer
from ..sse import SseFramer
from ..sse_walk import BATCH
from ..stage import Cut, Ending
from .options import check_options

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


class StrictSseFramer:
    """Turn `Text` into blocks that have data.

    Every byte of the unfinished block counts towards `frame_bytes`, comments
    too; the LF that completes it does not.
    """

    media_types: ClassVar = SseFramer.media_types

    __slots__ = (
        "_data", "_id", "_kept", "_limit", "_line", "_line_start", "_settled", "_start",
        "comments", "largest",
    )  # fmt: skip

    def __init__(self, frame_bytes: int) -> None:
        self._limit = frame_bytes
        self._line = Pieces()
        self._data: list[str] = []
        self._id: str | None = None
        self._kept = 0  # bytes of the unfinished block
        self._start: int | None = None  # where it began
        self._line_start = 0
        self._settled = 0
        self.comments = 0
        self.largest = 0

    @property
    def open(self) -> int:
        """Bytes of the unfinished block."""
        return self._kept

    def feed(self, piece: Text) -> Iterator[Frames[StrictFrame]]:
        """Return the blocks that end in `piece`; raises a fault at the first that is wrong."""
        items: list[StrictFrame] = []
        spans: list[Span] = []
        text, offset, end, held, _ = piece
        at = 0
        try:
            while at < len(text):
                at, offset = self._read(piece, at, offset, items, spans)
                if len(items) == BATCH:
                    yield items, self._settle(offset), spans.__getitem__
                    items, spans = [], []
            self._check(self._kept + held, end + held)
        except StreamFault:
            yield items, 0, spans.__getitem__
            raise
        yield items, self._settle(end), spans.__getitem__

    def _settle(self, offset: int) -> int:
        """Return how many bytes are done with at `offset`, since it was last asked."""
        settled = offset - self._kept
        size, self._settled = settled - self._settled, settled
        return size

    def end(self, ending: Ending) -> tuple[list[Frames[StrictFrame]], Ending]:
        """Mark a cut with anything since the last blank line."""
        if isinstance(ending, Cut) and self._kept:
            return [], ending.inside(Boundary.FRAME)
        return [], ending

    def _read(
        self, piece: Text, at: int, offset: int, items: list[StrictFrame], spans: list[Span]
    ) -> tuple[int, int]:
        """Read on from the character `at`, byte `offset`, up to the next LF."""
        if self._start is None:
            self._start = self._line_start = offset
        text = piece[0]
        found = text.find("\n", at)
        stop = len(text) if found < 0 else found
        if stop > at:
            size = size_of(piece, at, stop)
            self._keep(size, offset + size)
            self._line.add(text[at:stop])
            offset += size
        if found < 0:
            return stop, offset
        line = self._line.take().removesuffix("\r")
        if line:
            self._keep(1, offset + 1)
            self._field(line)
        else:
            self._dispatch(items, spans, offset + 1)
        self._line_start = offset + 1
        return stop + 1, offset + 1

    def _keep(self, size: int, end: int) -> None:
        self._check(self._kept + size, end)
        self._kept += size

    def _check(self, kept: int, end: int) -> None:
        if kept > self._limit:
            raise LimitExceeded("frame_bytes", self._limit, offset=end - (kept - self._limit))

    def _field(self, line: str) -> None:
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
                offset=self._line_start,
            )

    def _dispatch(self, items: list[StrictFrame], spans: list[Span], end: int) -> None:
        assert self._start is not None
        if self._data:
            data = "\n".join(self._data)
            items.append((self._id, data))
            spans.append((self._start, end))
            self.largest = max(self.largest, len(data))
        self._data, self._id, self._kept, self._start = [], None, 0, None


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
            raise _service_error(value)
        self._count += 1
        if kind is not None and kind == self._finish:
            self.complete(self._finish)
        return (JsonEvent(id, value),)


def _service_error(value: dict[str, Any]) -> ServiceError:
    message, code = value.get("message"), value.get("code")
    return ServiceError(
        message if isinstance(message, str) else None,
        type=value["type"],
        service_code=code if isinstance(code, (str, int)) else None,
        raw=value,
    )
