"""All stages and no I/O: bytes in, events and an outcome out.

`parse()` is the reference for the asynchronous pipeline, which runs the same
stages as tasks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from inspect import GEN_CLOSED, getgeneratorstate
from itertools import islice
from operator import length_hint
from typing import Any, Generic, TypeVar

from .faults import StageError, StreamFault
from .frame import Frames
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
from .reduce import Decoder, Dialect, Framer, Hide, Reduction
from .stage import Cut, Ending

__all__ = [
    "Parse",
    "Stages",
    "Statistics",
    "as_bytes",
    "check_dialect",
    "check_limits",
    "end_stage",
    "parse",
    "raise_for",
    "sliced",
]

E = TypeVar("E")
V = TypeVar("V")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Counts of one stream so far.

    bytes, frames, events, comments
        Taken from the source, framed, folded into events, seen.
    largest_frame
        Characters of data in the largest frame; bytes of its payload on a binary wire
        (`Bedrock`).
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

    __slots__ = ("decoder", "dialect", "framer", "limits", "reduction")

    def __init__(
        self, dialect: Dialect[E, V], limits: Limits | None, hide: Hide | None = None
    ) -> None:
        self.limits = dialect.limits if limits is None else limits
        self.dialect = type(dialect).__name__
        self.decoder: Decoder = dialect.decoder(self.limits)
        self.framer: Framer = dialect.framer(self.limits)
        self.reduction = Reduction(dialect.reducer(self.limits), dialect.asks, hide)

    def describe(self, outcome: Outcome[V] | None) -> str:
        """Return of which dialect the stream is, how it stands and how far it has come."""
        state = "running" if outcome is None else type(outcome).__name__
        return f"{self.dialect}, {state}, {self.decoder.offset:,} bytes read"

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

    Iterate the result for the events. As with `open_stream`, a stream that does not
    complete raises `StreamInterrupted` or `StreamFailed` behind its last event.

    chunks
        The bytes; one is taken only when it is needed. Where the iterable ends is the end
        of the transport, and an exception that it raises is a broken one.
    dialect
        What the bytes mean; see `untorn.dialects`.
    limits
        Bounds on memory; `None`: the dialect's own.

    Raises `TypeError` for arguments of a wrong type.
    """
    check_dialect(dialect)
    check_limits(limits)
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


def check_limits(limits: object) -> None:
    """Raise `TypeError` for what are no limits; `None` stands for those of the dialect."""
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"Not limits: {limits!r}; write limits=Limits(frame_bytes=...)")


class Parse(Generic[E, V]):
    """An iterator of events; see `parse`.

    A loop goes on where another stopped. Behind the end, each gives the same answer. One
    that is closed (by `close()` of its iterator, or with a generator that yields from it)
    is `Interrupted` with the cause `ABANDONED`.
    """

    def __init__(
        self, chunks: Iterable[Any], dialect: Dialect[E, V], limits: Limits | None
    ) -> None:
        self._stages = Stages(dialect, limits)
        self._outcome: Outcome[V] | None = None
        self._events = self._run(iter(chunks))

    def __repr__(self) -> str:
        return f"<Parse: {self._stages.describe(self.outcome)}>"

    @property
    def outcome(self) -> Outcome[V] | None:
        """How the stream ended; `None` while it runs."""
        if self._outcome is None and self._ended:  # closed before it had begun
            self._outcome = self._stages.interrupted(Cause.ABANDONED)
        return self._outcome

    @property
    def value(self) -> V:
        """The value folded so far."""
        return self._stages.reduction.reducer.value

    def statistics(self) -> Statistics:
        """Return the counts so far."""
        return self._stages.statistics()

    def __iter__(self) -> Iterator[E]:
        # Nobody comes between the loop and the generator: that would cost a fifth more.
        return self if self._ended else self._events

    def __next__(self) -> E:
        if not self._ended:
            return next(self._events)
        outcome = self.outcome
        assert outcome is not None
        raise_for(outcome)
        raise StopIteration

    def events(self) -> Iterator[E]:
        """Return the same events, but end quietly whatever happened.

        For callers who look at `outcome` afterwards.
        """
        return _QuietParse(self)

    @property
    def _ended(self) -> bool:
        return getgeneratorstate(self._events) == GEN_CLOSED

    def _run(self, chunks: Iterator[Any]) -> Generator[E]:
        """Run the stages one inside the other; nobody asks for more behind an outcome."""
        stages, ending = self._stages, _Ending()
        batches = _frames(stages.framer, _texts(stages, chunks, ending), ending)
        feed, items, completing = stages.reduction.feed, list[E](), False
        outcome: Outcome[V] | None = None
        queue = iter(items)
        try:
            while outcome is None:
                yield from queue
                try:
                    frames = next(batches, None)
                    if frames is not None:
                        items, _, outcome, completing = feed(frames)
                    else:
                        items, _, outcome, completing = stages.reduction.end(ending.value)
                except BaseException as error:  # KeyboardInterrupt and the like
                    self._outcome = stages.interrupted(Cause.CANCELLED, error)
                    raise
                queue = iter(items)
            if completing:
                yield from islice(queue, len(items) - 1)
                self._outcome = outcome
            yield from queue
        except BaseException as error:  # closed, or thrown in
            if self._outcome is None:
                closed = isinstance(error, GeneratorExit)
                cause = Cause.ABANDONED if closed else Cause.CANCELLED
                handed_out = stages.reduction.events - length_hint(queue)
                self._outcome = stages.interrupted(cause, None if closed else error, handed_out)
            raise
        self._outcome = outcome
        raise_for(outcome)


class _QuietParse(Iterator[E]):
    """The events of a stream, which end quietly whatever happened."""

    def __init__(self, events: Iterator[E]) -> None:
        self._events = events

    def __next__(self) -> E:
        try:
            return next(self._events)
        except (StreamFailed, StreamInterrupted):
            raise StopIteration from None


class _Ending:
    """How the sequence ended that a generator was running through."""

    value: Ending


def _texts(stages: Stages[Any, Any], chunks: Iterator[Any], ending: _Ending) -> Iterator[Any]:
    """Read and decode; a fault takes the place of the ending."""
    decoder, most = stages.decoder, stages.limits.read_bytes
    feed, decoding = decoder.feed, False
    try:
        for chunk in chunks:
            data = as_bytes(chunk)
            for read in (data,) if len(data) <= most else sliced(data, most):
                if read:
                    decoding = True
                    yield from feed(read)
                    decoding = False
    except StreamFault as fault:  # a source may know what is wrong with it, too
        ending.value = fault
    except Exception as error:
        if decoding:
            ending.value = StageError.in_stage(decoder, error)
        else:
            ending.value = Cut(Cause.TRANSPORT, error, offset=decoder.offset)
    else:
        ending.value = Cut(Cause.EOF, offset=decoder.offset)
    if not decoding:
        last, ending.value = end_stage(decoder, ending.value)
        yield from last


def _frames(framer: Framer, texts: Iterator[Any], ending: _Ending) -> Iterator[Frames[Any]]:
    feed = framer.feed
    try:
        for text in texts:
            yield from feed(text)
    except StreamFault as fault:
        ending.value = fault
        return
    except Exception as bug:
        ending.value = StageError.in_stage(framer, bug)
        return
    last, ending.value = end_stage(framer, ending.value)
    yield from last


def sliced(data: bytes, size: int) -> Iterator[bytes]:
    """Return pieces of `size` bytes at most."""
    return (data[start : start + size] for start in range(0, len(data), size))
