"""`parse`: lazy, final, and honest about who raised what."""

from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import Any

import pytest
from wires import bytewise

from untorn import (
    Boundary,
    Cause,
    Completed,
    Dialect,
    Failed,
    Interrupted,
    Limits,
    ProtocolViolation,
    Reducer,
    ServerSentEvent,
    StageError,
    Statistics,
    StreamFailed,
    StreamInterrupted,
    UnexpectedResponse,
    parse,
)
from untorn.dialects import JsonLines, JsonSse, Sse, TextSse
from untorn.fold import Stages, as_bytes
from untorn.outcome import Position

A = b"data: a\n\n"
DONE = b"data: [DONE]\n\n"
DIALECT = Sse(sentinel="[DONE]")


def data_of(events: Iterable[ServerSentEvent]) -> list[str]:
    return [event.data for event in events]


class Broken(Reducer[str, int]):
    """A reducer that raises what its frames name, behind an event."""

    value = 7

    def __init__(self, *raised: BaseException) -> None:
        self._raised = iter(raised)

    def feed(self, frame: Any) -> Iterator[str]:
        yield frame[1]
        if frame[1] == "boom":
            raise next(self._raised)


class Breaking(Dialect[str, int]):
    """A dialect of one reducer."""

    def __init__(self, reducer: Reducer[str, int]) -> None:
        self._reducer = reducer

    def reducer(self, limits: Limits) -> Reducer[str, int]:
        return self._reducer


def test_takes_a_chunk_only_when_it_needs_one() -> None:
    """Nothing before the first event is asked for, and none ahead of the next."""
    taken: list[bytes] = []

    def source() -> Iterator[bytes]:
        for chunk in (A + A, A, DONE, A):
            taken.append(chunk)
            yield chunk

    run = parse(source(), DIALECT)
    assert taken == []
    assert data_of([next(run), next(run)]) == ["a", "a"]
    assert taken == [A + A]
    assert data_of(run) == ["a", "[DONE]"]
    assert taken == [A + A, A, DONE]


def test_completion_is_known_with_the_last_event() -> None:
    """Whoever breaks on it has a completed stream; before, there is no outcome."""
    run = parse([A, A + DONE + A], DIALECT)
    seen = [(event.data, run.outcome is None) for event in run]
    assert seen == [("a", True), ("a", True), ("[DONE]", False)]
    assert isinstance(run.outcome, Completed)
    assert run.outcome.position == Position(9 + 9 + 14, 3, 3)


def test_a_bad_end_is_known_only_behind_the_last_event() -> None:
    """The events before a fault that shares their read come first, and quietly."""
    run = parse([b"data: 1\n\ndata: {\n\n"], JsonSse())
    next(run)
    assert run.outcome is None
    with pytest.raises(StreamFailed, match="not valid JSON"):
        next(run)
    assert isinstance(run.outcome, Failed)


@pytest.mark.parametrize(
    ("chunks", "error"), [([A], StreamInterrupted), ([A, b"\xff"], StreamFailed)]
)
def test_the_end_is_sticky(chunks: list[bytes], error: type[Exception]) -> None:
    """Iterating again raises again, with the same outcome."""
    run = parse(chunks, Sse(errors="strict"))
    assert data_of([next(run)]) == ["a"]
    outcomes = []
    for _ in range(3):
        with pytest.raises(error) as raised:
            next(run)
        outcomes.append(raised.value.outcome)  # type: ignore[attr-defined]
    assert outcomes == [run.outcome] * 3
    assert list(run.events()) == []


def test_a_loop_goes_on_where_another_stopped() -> None:
    """And the end is sticky for loops, too."""
    run = parse([A * 3], Sse())
    assert next(iter(run)).data == next(run).data == "a"
    for events in (["a"], [], []):
        with pytest.raises(StreamInterrupted):
            for event in run:
                assert event.data == events.pop()
        assert not events


def test_quiet_loops_go_on_where_another_stopped() -> None:
    """The events that one has left are the next one's."""
    run = parse([A * 3], Sse())
    assert data_of(islice(run.events(), 1)) == ["a"]
    for event in run.events():
        assert event.data == "a"
        break
    assert data_of(run.events()) == ["a"]
    assert isinstance(run.outcome, Interrupted) and run.outcome.cause is Cause.EOF


def closed_iterator(run: Any) -> None:
    iterator = iter(run)
    next(iterator)
    iterator.close()


def dropped_generator(run: Any) -> None:
    def through() -> Iterator[Any]:
        yield from run

    generator = through()
    next(generator)
    generator.close()


@pytest.mark.parametrize("leave", [closed_iterator, dropped_generator])
@pytest.mark.parametrize("chunks", [[A * 3], [A, A, A]])
def test_a_closed_parse_is_abandoned(leave: Any, chunks: list[bytes]) -> None:
    """It never ends quietly: asking on raises, and what was not handed out is not counted."""
    run = parse(chunks, Sse())
    leave(run)
    for _ in range(2):
        with pytest.raises(StreamInterrupted, match="The consumer left"):
            next(iter(run))
    assert isinstance(run.outcome, Interrupted) and run.outcome.cause is Cause.ABANDONED
    assert run.outcome.position.events == 1
    assert list(run.events()) == []


def test_a_parse_that_is_closed_before_it_began_is_abandoned() -> None:
    """Nothing was handed out, so to ask again is safe."""
    run = parse([A], Sse())
    iter(run).close()  # type: ignore[attr-defined]
    assert isinstance(run.outcome, Interrupted) and run.outcome.cause is Cause.ABANDONED
    assert run.outcome.retry_safe
    with pytest.raises(StreamInterrupted):
        list(run)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), LookupError()])
def test_what_is_thrown_in_cancels(error: BaseException) -> None:
    """It comes out bare, and the outcome knows it."""
    run = parse([A + A], Sse())
    events = iter(run)
    next(events)
    with pytest.raises(type(error)):
        events.throw(error)  # type: ignore[attr-defined]
    assert isinstance(run.outcome, Interrupted) and run.outcome.cause is Cause.CANCELLED
    assert run.outcome.error is error
    assert run.outcome.position.events == 1


def test_closing_behind_the_completing_event_changes_nothing() -> None:
    """The stream is complete with it."""
    run = parse([A + DONE], DIALECT)
    events = iter(run)
    assert data_of([next(events), next(events)]) == ["a", "[DONE]"]
    events.close()  # type: ignore[attr-defined]
    assert isinstance(run.outcome, Completed)
    assert list(run) == []


def test_a_completed_stream_ends_again_and_again() -> None:
    """Nothing more, and nothing raised."""
    run = parse([DONE], DIALECT)
    assert data_of(run) == ["[DONE]"]
    assert list(run) == list(run.events()) == []


def test_a_broken_source_interrupts() -> None:
    """The events before come out, and the exception is the outcome's."""
    broken = ConnectionResetError("reset by peer")

    def source() -> Iterator[bytes]:
        yield A + b"data: b"
        raise broken

    run = parse(source(), DIALECT)
    assert data_of([next(run)]) == ["a"]
    with pytest.raises(StreamInterrupted) as raised:
        next(run)
    assert raised.value.__cause__ is broken
    expected = Interrupted(Cause.TRANSPORT, Boundary.FRAME, broken, run.value, Position(16, 1, 1))
    assert run.outcome == expected


def test_a_clean_end_of_a_broken_source_never_completes() -> None:
    """Between two frames as well: only an end of its own completes."""

    def source() -> Iterator[bytes]:
        yield b"1\n2"
        raise OSError

    run = parse(source(), JsonLines(eof="completes", tail="accepts"))
    assert [event.data for event in run.events()] == [1]
    assert isinstance(run.outcome, Interrupted)


def test_a_source_may_know_what_is_wrong_with_it() -> None:
    """A fault it raises is the stream's, behind the events before it."""
    fault = UnexpectedResponse("No.", code="http-status", status=500, media_type=None)

    def source() -> Iterator[bytes]:
        yield A
        raise fault

    run = parse(source(), DIALECT)
    assert data_of(run.events()) == ["a"]
    assert isinstance(run.outcome, Failed)
    assert run.outcome.error is fault


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_stops_the_program_comes_out_bare(stop: type[BaseException]) -> None:
    """The same object, with the outcome set; afterwards the stream is interrupted."""
    error = stop()

    def source() -> Iterator[bytes]:
        yield A + b"data: \xe6"
        raise error

    run = parse(source(), DIALECT)
    next(run)
    with pytest.raises(stop) as raised:
        list(run.events())
    assert raised.value is error
    assert isinstance(run.outcome, Interrupted)
    assert (run.outcome.cause, run.outcome.torn) == (Cause.CANCELLED, Boundary.CHARACTER)
    assert run.outcome.position == Position(16, 1, 1)
    with pytest.raises(StreamInterrupted, match="cancelled"):
        next(run)


def test_a_reducer_that_stops_the_program_does_so_bare() -> None:
    """It is no bug that a stage could report."""
    run = parse([A, b"data: boom\n\n"], Breaking(Broken(KeyboardInterrupt())))
    assert next(run) == "a"
    with pytest.raises(KeyboardInterrupt):
        next(run)
    assert isinstance(run.outcome, Interrupted)


def test_a_bug_in_a_reducer_is_a_stage_error_behind_its_events() -> None:
    """It names who raised what, and lies at the frame that brought it out."""
    bug = ZeroDivisionError("oh")
    for chunks in ([A + b"data: boom\n\n" + A], bytewise(A + b"data: boom\n\n" + A)):
        run = parse(chunks, Breaking(Broken(bug)))
        assert list(run.events()) == ["a", "boom"]
        assert isinstance(run.outcome, Failed)
        assert isinstance(run.outcome.error, StageError)
        assert run.outcome.error.__cause__ is bug
        assert run.outcome.position == Position(9, 2, 2)
        assert "The reducer Broken raised ZeroDivisionError('oh'); this is a bug" in str(
            run.outcome.error
        )


def test_a_bug_in_a_predicate_is_a_stage_error() -> None:
    """A caller's own function is part of the reducer; the value holds what was handed out."""
    run = parse([b"1\n0\n"], JsonLines(complete_when=lambda value: bool(1 / value > 1)))
    assert [event.data for event in run.events()] == [1]
    assert isinstance(run.outcome, Failed)
    assert isinstance(run.outcome.error, StageError)
    assert run.outcome.partial == 1


class BadFramer:
    """A framer that breaks on its second piece."""

    comments = largest = open = 0

    def __init__(self) -> None:
        self._good = True

    def feed(self, piece: Any) -> Iterator[Any]:
        if not self._good:
            raise LookupError("lost")
        self._good = False
        yield from ()


class BadFraming(Breaking):
    """A dialect with such a framer."""

    def framer(self, limits: Limits) -> Any:
        return BadFramer()


def test_a_bug_in_a_framer_is_a_stage_error() -> None:
    """It does not come out of the iteration as it is."""
    run = parse([A, A], BadFraming(Broken()))
    with pytest.raises(StreamFailed, match=r"The stage BadFramer raised LookupError\('lost'\)"):
        list(run)


def test_the_value_grows_as_events_come() -> None:
    """What is folded by now can be read at any time."""
    run = parse([b"1\n2\n", b"3\n"], JsonLines(eof="completes"))
    next(run)
    assert run.value == 2
    assert len(list(run)) == 2
    assert run.value == 3


def test_statistics_count() -> None:
    """Bytes, frames, events, comments, the largest frame, and both kinds of U+FFFD."""
    wire = ": hi\nid: 1\n\ndata: long \ufffd\n\n".encode() + b"data: \xff\xff\n\n"
    run = parse([wire], Sse())
    list(run.events())
    assert run.statistics() == Statistics(
        bytes=len(wire), frames=2, events=2, comments=1, largest_frame=6,
        literal_replacements=1, replacements=2,
    )  # fmt: skip


def test_a_dialect_s_own_limits_hold_unless_others_are_given() -> None:
    """`None` means the dialect's."""
    assert Stages(DIALECT, None).limits == Limits()
    assert Stages(DIALECT, Limits(frame_bytes=1)).limits.frame_bytes == 1


def test_an_interruption_may_say_how_many_events_were_taken() -> None:
    """Fewer than were folded, where some were still on their way."""
    stages = Stages(DIALECT, None)
    list(stages.decoder.feed(b"x"))
    outcome = stages.interrupted(Cause.ABANDONED, events=0)
    assert outcome == Interrupted(
        Cause.ABANDONED, Boundary.MESSAGE, None, stages.reduction.reducer.value, Position(1, 0, 0)
    )


@pytest.mark.parametrize("chunk", [A, bytearray(A), memoryview(A), memoryview(A)[::1]])
def test_any_bytes_like_is_a_chunk(chunk: Any) -> None:
    """And an empty one means nothing."""
    assert data_of(parse([b"", chunk, b"", DONE, b""], DIALECT)) == ["a", "[DONE]"]
    assert as_bytes(chunk) == A


def test_what_is_no_bytes_is_named() -> None:
    """A source of text breaks the transport, in a sentence that says what to do."""
    run = parse([A, "data: b\n\n"], DIALECT)  # type: ignore[list-item]
    assert data_of(run.events()) == ["a"]
    assert isinstance(run.outcome, Interrupted)
    assert "The source gave str, not bytes; hand untorn the raw body" in str(run.outcome.error)


@pytest.mark.parametrize("body", [A, bytearray(A), memoryview(A), "data"])
def test_a_body_is_no_iterable_of_chunks(body: Any) -> None:
    """Each of its bytes would be a number."""
    with pytest.raises(TypeError, match=r"write parse\(\[data\], \.\.\.\) for a whole body"):
        parse(body, DIALECT)


@pytest.mark.parametrize("dialect", [TextSse(sentinel="[DONE]"), JsonSse(sentinel="[DONE]")])
def test_a_completion_without_an_event_is_seen_by_asking_on(dialect: Dialect[Any, Any]) -> None:
    """Whether it shared a read with the event before it makes no difference to who stops there."""
    wire = b"data: 1\n\ndata: [DONE]\n\n"
    for at in range(len(wire) + 1):
        parsed = parse([wire[:at], wire[at:]], dialect)
        next(parsed)
        assert parsed.outcome is None
        assert list(parsed) == []
        assert isinstance(parsed.outcome, Completed)


def test_what_cannot_be_parsed_is_refused_with_a_sentence() -> None:
    """A dialect without its parentheses, an async source, limits that are none."""
    with pytest.raises(TypeError, match="with its parentheses"):
        parse([], Sse)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Not limits: 5"):
        parse([], Sse(), limits=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="iterable of chunks, not 5"):
        parse(5, Sse())  # type: ignore[arg-type]

    async def chunks() -> AsyncIterator[bytes]:
        yield b""

    with pytest.raises(TypeError, match=r"there is open_stream\(\)"):
        parse(chunks(), Sse())  # type: ignore[arg-type]


class EndingFramer(BadFramer):
    """A framer that raises where the input ends."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def end(self, ending: Any) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "code"), [(KeyError("x"), "stage-error"), (ProtocolViolation("no"), "protocol")]
)
def test_what_a_framer_raises_at_the_end_fails_the_stream(error: Exception, code: str) -> None:
    """A fault of its own stays one, and anything else is a bug: neither comes out bare."""

    class Bad(Breaking):
        def framer(self, limits: Limits) -> Any:
            return EndingFramer(error)

    parsed = parse([A], Bad(Broken()))
    assert list(parsed.events()) == []
    assert isinstance(parsed.outcome, Failed)
    assert parsed.outcome.error.code == code
    assert parsed.outcome.error is error or parsed.outcome.error.__cause__ is error


class EndsBadly(Reducer[int, int]):
    """Raises where the input ends."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @property
    def value(self) -> int:
        return 7

    def feed(self, frame: Any) -> Iterable[int]:
        return (1,)

    def end(self, ending: Any) -> Iterable[int]:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code"), [(KeyError("x"), "stage-error"), (ProtocolViolation("no"), "protocol")]
)
def test_what_a_reducer_raises_at_the_end_fails_the_stream(error: Exception, code: str) -> None:
    """A fault of its own, or a bug; the events before it are out, the offset is the end's."""

    class Bad(Dialect[int, int]):
        def reducer(self, limits: Limits) -> Reducer[int, int]:
            return EndsBadly(error)

    parsed = parse([A], Bad())
    assert list(parsed.events()) == [1]
    assert isinstance(parsed.outcome, Failed)
    assert parsed.outcome.error.code == code
    assert parsed.outcome.error.offset == len(A)
    assert parsed.outcome.partial == 7


class BrokenDecoder(Sse):
    def decoder(self, limits: Limits) -> Any:
        decoder = super().decoder(limits)

        class Broken:
            def __getattr__(self, name: str) -> Any:
                return getattr(decoder, name)

            def feed(self, data: bytes) -> Iterator[Any]:
                yield from decoder.feed(data[:9])
                raise LookupError("no such table")

        return Broken()


def test_a_bug_of_a_decoder_is_no_broken_transport() -> None:
    """It is the fault of that stage, behind the events before it."""
    run = parse([b"data: a\n\ndata: b\n\n"], BrokenDecoder())
    assert [event.data for event in run.events()] == ["a"]
    assert isinstance(run.outcome, Failed)
    assert isinstance(run.outcome.error, StageError)
    assert isinstance(run.outcome.error.__cause__, LookupError)
