"""All stages and no I/O: bytes in, events and an outcome out.

`parse()` is the reference for the asynchronous pipeline, which runs the same
stages as tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .faults import StageError, StreamFault
from .limits import Limits
from .outcome import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Interrupted,
    Outcome,
    Position,
    StreamFailed,
    StreamInterrupted,
)
from .reduce import Decoder, Dialect, Events, Framer, Reduction
from .stage import Cut, Ending

__all__ = ["Parse", "Stages", "Statistics", "as_bytes", "parse", "raise_for"]

E = TypeVar("E")
V = TypeVar("V")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Counts of one stream so far.

    bytes, frames, events, comments
        Taken from the source, framed, folded into events, seen.
    largest_frame
        Characters of data in the largest frame.
    literal_replacements, replacements
        U+FFFD that arrived as EF BF BD, and that the decoder made.
    first_byte, first_event
        Seconds from the start until then; `None` before, and for `parse()`.
    waited_for_source, waited_for_consumer
        Seconds spent waiting; 0.0 for `parse()`.
    """

    bytes: int
    frames: int
    events: int
    comments: int
    largest_frame: int
    literal_replacements: int
    replacements: int
    first_byte: float | None = None
    first_event: float | None = None
    waited_for_source: float = 0.0
    waited_for_consumer: float = 0.0


class Stages(Generic[E, V]):
    """The three stages of one stream."""

    __slots__ = ("decoder", "framer", "limits", "reduction")

    def __init__(self, dialect: Dialect[E, V], limits: Limits | None) -> None:
        self.limits = dialect.limits if limits is None else limits
        if not isinstance(self.limits, Limits):
            raise TypeError(f"Not limits: {limits!r}; write limits=Limits(frame_bytes=...)")
        self.decoder: Decoder = dialect.decoder(self.limits)
        self.framer: Framer = dialect.framer(self.limits)
        self.reduction = Reduction(dialect.reducer(self.limits), dialect.asks)

    def statistics(self, **times: Any) -> Statistics:
        """Return the counts, and the times that are given."""
        return Statistics(
            bytes=self.decoder.offset,
            frames=self.reduction.frames,
            events=self.reduction.events,
            comments=self.framer.comments,
            largest_frame=self.framer.largest,
            literal_replacements=self.decoder.literal_replacements,
            replacements=self.decoder.replacements,
            **times,
        )

    def interrupted(
        self, cause: Cause, error: BaseException | None = None, events: int | None = None
    ) -> Interrupted[V]:
        """Return the outcome of a stream that is ended from outside, now.

        `events`: how many were handed out, where that is fewer than were folded.
        """
        cut: Ending = Cut(cause, error, offset=self.decoder.offset)
        _, cut = self.decoder.end(cut)
        _, cut = self.framer.end(cut)
        assert isinstance(cut, Cut)
        reduction = self.reduction
        position = Position(
            cut.offset, reduction.frames, reduction.events if events is None else events
        )
        torn = cut.torn or Boundary.MESSAGE
        return Interrupted(cause, torn, error, reduction.reducer.value, position)


def as_bytes(chunk: Any) -> bytes:
    """Return a bytes-like chunk as bytes; raises `TypeError`."""
    if type(chunk) is bytes:
        return chunk
    try:
        return bytes(memoryview(chunk))
    except TypeError:
        raise TypeError(
            f"The source gave {type(chunk).__name__}, not bytes; "
            "hand untorn the raw body, before anything decodes it"
        ) from None


def end_stage(stage: Decoder | Framer, ending: Ending) -> tuple[list[Any], Ending]:
    """End a stage, and turn a bug in it into a fault."""
    try:
        return stage.end(ending)
    except StreamFault as fault:
        return [], fault
    except Exception as bug:
        return [], StageError.in_stage(stage, bug)


def raise_for(outcome: Outcome[Any]) -> None:
    """Raise what a bad end raises; nothing for `Completed`."""
    if isinstance(outcome, Failed):
        raise StreamFailed(outcome) from outcome.error
    if not isinstance(outcome, Completed):
        raise StreamInterrupted(outcome) from outcome.error


def parse(
    chunks: Iterable[bytes | bytearray | memoryview],
    dialect: Dialect[E, V],
    *,
    limits: Limits | None = None,
) -> Parse[E, V]:
    """Read a stream from an iterable of chunks, without I/O.

    Iterate the result for the events. A chunk is taken only when it is needed.
    Where the iterable ends is the end of the transport; an exception it raises is
    a broken one. As with `open_stream`, a stream that does not complete raises
    `StreamInterrupted` or `StreamFailed` behind its last event.
    """
    check_dialect(dialect)
    if isinstance(chunks, (bytes, bytearray, memoryview, str)):
        raise TypeError(
            f"parse() takes an iterable of chunks, not {type(chunks).__name__}; "
            "write parse([data], ...) for a whole body"
        )
    if not hasattr(chunks, "__iter__"):
        hint = "; for an async source there is open_stream()" * hasattr(chunks, "__aiter__")
        raise TypeError(f"parse() takes an iterable of chunks, not {chunks!r}{hint}")
    return Parse(chunks, dialect, limits)


def check_dialect(dialect: object) -> None:
    """Raise `TypeError` for what is no dialect."""
    if not isinstance(dialect, Dialect):
        raise TypeError(
            f"Not a dialect: {dialect!r}; give an object such as untorn.dialects.Sse(), "
            "with its parentheses"
        )


class Parse(Generic[E, V]):
    """An iterator of events; see `parse`."""

    def __init__(
        self, chunks: Iterable[Any], dialect: Dialect[E, V], limits: Limits | None
    ) -> None:
        self._stages = Stages(dialect, limits)
        self._outcome: Outcome[V] | None = None
        self._batches = self._run(iter(chunks))
        self._items: Iterator[E] = iter(())
        self._last: Outcome[V] | None = None
        self._completing = False
        self._left = 0

    @property
    def outcome(self) -> Outcome[V] | None:
        """How the stream ended; `None` while it runs."""
        return self._outcome

    @property
    def value(self) -> V:
        """The value folded so far."""
        return self._stages.reduction.reducer.value

    def statistics(self) -> Statistics:
        """Return the counts so far."""
        return self._stages.statistics()

    def __iter__(self) -> Iterator[E]:
        return self

    def __next__(self) -> E:
        while True:
            for item in self._items:
                self._left -= 1
                if self._completing and not self._left:
                    self._outcome = self._last
                return item
            if self._last is not None:
                self._outcome = self._last
                raise_for(self._outcome)
                raise StopIteration
            items, _, self._last, self._completing = self._advance()
            self._items, self._left = iter(items), len(items)

    def events(self) -> Iterator[E]:
        """Return the same events, but end quietly whatever happened."""
        try:
            yield from self
        except (StreamFailed, StreamInterrupted):
            return

    def _advance(self) -> Events[E, V]:
        try:
            return next(self._batches)
        except BaseException as error:  # KeyboardInterrupt and the like: never a quiet end
            self._last = self._stages.interrupted(Cause.CANCELLED, error)
            self._outcome = self._last
            raise

    def _run(self, chunks: Iterator[bytes]) -> Iterator[Events[E, V]]:
        """Run the stages one inside the other; nobody asks for more behind an outcome."""
        stages = self._stages
        ending = _Ending()
        reads = _reads(chunks, stages.limits.read_bytes, ending)
        texts = _through(stages.decoder, reads, ending)
        for frames in _through(stages.framer, texts, ending):
            yield stages.reduction.feed(frames)
        yield stages.reduction.end(ending.value)


class _Ending:
    """How the sequence ended that a generator was running through."""

    value: Ending


def _reads(chunks: Iterator[Any], most: int, ending: _Ending) -> Iterator[bytes]:
    offset, error = 0, None
    try:
        for chunk in chunks:
            data = as_bytes(chunk)
            for start in range(0, len(data), most):
                read = data[start : start + most]
                offset += len(read)
                yield read
    except StreamFault as fault:  # a source may know what is wrong with it
        ending.value = fault
        return
    except Exception as broken:
        error = broken
    cause = Cause.EOF if error is None else Cause.TRANSPORT
    ending.value = Cut(cause, error, offset=offset)


def _through(stage: Any, items: Iterator[Any], ending: _Ending) -> Iterator[Any]:
    """Feed a stage all items, and their ending; a fault takes its place."""
    try:
        for item in items:
            yield from stage.feed(item)
    except StreamFault as fault:
        ending.value = fault
        return
    except Exception as bug:
        ending.value = StageError.in_stage(stage, bug)
        return
    last, ending.value = end_stage(stage, ending.value)
    yield from last
