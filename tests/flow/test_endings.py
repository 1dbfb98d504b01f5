"""How a stream ends that its consumer reads to the end."""

import asyncio
from typing import Any

import anyio
import pytest

from untorn import (
    Boundary,
    Cause,
    Clocks,
    Completed,
    Dialect,
    Failed,
    Interrupted,
    Limits,
    Position,
    ProtocolViolation,
    Reducer,
    ServiceError,
    StageError,
    StreamFailed,
    StreamInterrupted,
    open_stream,
)
from untorn.dialects import JsonSse, Sse, StrictSse
from untorn.testing import Eof, FaultySource, Hang, Raise, Reset, Send, Stall
from untorn.text import Utf8Decoder

from .backends import in_asyncio, living
from .sources import DIALECT, PROMPT, Steps, data_of, hanging, is_interrupted, sse

pytestmark = pytest.mark.anyio


async def test_marker_completes() -> None:
    """With the marker's event the outcome is there, though the source says nothing more."""
    source, alive = hanging("a", "END"), living()
    async with open_stream(source, DIALECT, limits=PROMPT) as stream:
        assert (await stream.receive()).data == "a"
        assert stream.outcome is None
        assert (await stream.receive()).data == "END"
        assert isinstance(stream.outcome, Completed)
        assert stream.outcome.marker == "END"
        assert stream.outcome.position == Position(len(sse("a", "END")), 2, 2)
        assert await data_of(stream) == []
    assert source.closed
    assert living() == alive


async def test_clean_eof_is_loud() -> None:
    """All whole events come, then `StreamInterrupted`, out of the block too."""
    source = FaultySource(sse("a", "b") + b"data: c")
    seen = []
    with pytest.raises(StreamInterrupted) as raised:
        async with open_stream(source, DIALECT) as stream:
            async for event in stream:
                seen.append(event.data)  # noqa: PERF401 - it raises in the midst
    assert seen == ["a", "b"]
    assert raised.value.outcome is stream.outcome
    assert is_interrupted(stream.outcome, Cause.EOF)
    assert stream.outcome.torn is Boundary.FRAME
    assert source.closed


async def test_empty_source_is_interrupted() -> None:
    """No byte is no answer; but it may be asked for again."""
    async with open_stream(Steps(), DIALECT) as stream:
        assert await data_of(stream.events()) == []
    assert is_interrupted(stream.outcome, Cause.EOF)
    assert stream.outcome.retry_safe
    assert stream.outcome.position == Position(0, 0, 0)


@pytest.mark.parametrize("error", [OSError("gone"), ConnectionResetError(), ValueError("odd")])
async def test_transport_error_comes_behind_the_events(error: Exception) -> None:
    """What the source raises is kept as it is, behind all events."""
    source = FaultySource(sse("a", "b"), faults=[Raise(error)])
    async with open_stream(source, DIALECT) as stream:
        assert await data_of(stream.events()) == ["a", "b"]
    assert is_interrupted(stream.outcome, Cause.TRANSPORT)
    assert stream.outcome.error is error
    assert source.closed


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("ending", [Reset(), Eof()])
async def test_source_is_closed_while_the_consumer_stalls(count: int, ending: Any) -> None:
    """An ending needs no free place in the links, and no event before it is lost."""
    names = [str(number) for number in range(count)]
    source = FaultySource(b"", faults=[*(Send(sse(name)) for name in names), ending])
    async with open_stream(source, DIALECT) as stream:
        await anyio.wait_all_tasks_blocked()
        assert source.closed
        assert stream.outcome is None
        assert await data_of(stream.events()) == names
    cause = Cause.EOF if isinstance(ending, Eof) else Cause.TRANSPORT
    assert is_interrupted(stream.outcome, cause)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
async def test_source_is_closed_at_a_fault_while_the_consumer_stalls(count: int) -> None:
    """A frame that is too long ends the reading, although events before it are in the links."""
    names = [str(number) for number in range(count)]
    steps = [*(Send(sse(name)) for name in names), Send(b"data: " + b"x" * 99), Hang()]
    source = FaultySource(b"", faults=steps)
    async with open_stream(source, DIALECT, limits=Limits(frame_bytes=50)) as stream:
        await anyio.wait_all_tasks_blocked()
        assert source.closed
        assert await data_of(stream.events()) == names
    assert isinstance(stream.outcome, Failed)
    assert stream.outcome.error.code == "frame-limit"
    assert stream.outcome.error.offset == len(sse(*names)) + 50


@pytest.mark.parametrize(
    ("dialect", "bad", "code"),
    [
        (Sse(errors="strict"), b"data: \xff\n\n", "invalid-utf8"),
        (JsonSse(), b"data: {\n\n", "invalid-json"),
        (StrictSse(), b"event: x\n\n", "unsupported-field"),
        (StrictSse(), b'id: 9\ndata: {"type":"error","message":"no"}\n\n', "service-error"),
    ],
)
async def test_fault_comes_behind_the_events(dialect: Any, bad: bytes, code: str) -> None:
    """The events that share a read with the fault are handed out before it."""
    good = b"id: 1\ndata: 1\n\nid: 2\ndata: 2\n\n"
    source = FaultySource(good + bad + good, faults=[Hang()])
    seen = []
    with pytest.raises(StreamFailed) as raised:
        async with open_stream(source, dialect) as stream:
            async for event in stream:
                seen.append(event.id)  # noqa: PERF401 - it raises in the midst
    assert seen == ["1", "2"]
    assert isinstance(stream.outcome, Failed)
    assert stream.outcome.error.code == code
    assert raised.value.__cause__ is stream.outcome.error
    assert len(good) <= stream.outcome.error.offset <= len(good) + 6
    assert source.closed


async def test_total_limit() -> None:
    """The events within the limit are delivered; the fault lies at the first byte beyond."""
    limit = len(sse("a", "b"))
    source = FaultySource(sse("a", "b", "END"))
    async with open_stream(source, DIALECT, limits=Limits(total_bytes=limit)) as stream:
        assert await data_of(stream.events()) == ["a", "b"]
    assert isinstance(stream.outcome, Failed)
    assert (stream.outcome.error.code, stream.outcome.error.offset) == ("total-limit", limit)


async def test_fault_of_the_source_is_a_fault() -> None:
    """A source may know what is wrong with it."""
    fault = ProtocolViolation("The record is not sealed; send it again", offset=9)
    async with open_stream(Steps(sse("a"), fault), DIALECT) as stream:
        assert await data_of(stream.events()) == ["a"]
    assert isinstance(stream.outcome, Failed)
    assert stream.outcome.error is fault


async def test_end_is_sticky() -> None:
    """Asking again behind the end gives the same answer."""
    async with open_stream(FaultySource(sse("END")), DIALECT) as stream:
        assert await data_of(stream) == ["END"]
        for _ in range(3):
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()
        assert await data_of(stream) == []
    async with open_stream(FaultySource(b""), DIALECT) as stream:
        for _ in range(3):
            with pytest.raises(StreamInterrupted):
                await stream.receive()
        assert await data_of(stream.events()) == []


async def test_bytes_behind_the_marker_change_nothing() -> None:
    """What follows the marker is drained: neither a fault nor an event comes of it."""
    source = FaultySource(sse("END", "late") + b"data: " + b"x" * 99, cuts=[len(sse("END"))])
    async with open_stream(source, DIALECT, limits=Limits(frame_bytes=50)) as stream:
        assert await data_of(stream) == ["END"]
    assert isinstance(stream.outcome, Completed)
    assert source.ended


async def test_reads_behind_the_marker_are_dropped() -> None:
    """Also one that was waited for when the marker came."""
    late = [Send(sse("END")), Stall(0.01), Send(sse("late")), Send(b"\xff"), Eof()]
    source = FaultySource(b"", faults=late)
    async with open_stream(source, Sse(sentinel="END", errors="strict")) as stream:
        assert await data_of(stream) == ["END"]
    assert isinstance(stream.outcome, Completed)
    assert source.ended
    assert stream.statistics().bytes == len(sse("END"))


@pytest.mark.parametrize("fatal", [SystemExit(3), KeyboardInterrupt()])
async def test_fatal_exception_of_the_source_comes_out_once(fatal: BaseException) -> None:
    """`SystemExit` is raised in the consumer, behind the events, as the same object."""
    source = Steps(sse("a"), fatal)
    async with open_stream(source, DIALECT) as stream:
        assert (await stream.receive()).data == "a"
        with pytest.raises(type(fatal)) as raised:
            await stream.receive()
        assert raised.value is fatal
        with pytest.raises(StreamInterrupted):
            await stream.receive()
    assert is_interrupted(stream.outcome, Cause.TRANSPORT)
    assert stream.outcome.error is fatal
    assert source.closed


class Acting(Dialect[str, int]):
    """A dialect whose reducer does as the frame's data says."""

    asks = frozenset()

    def __init__(self, **actions: Any) -> None:
        self.actions = actions

    def reducer(self, limits: Limits) -> Reducer[str, int]:
        return _Acting(self.actions)


class _Acting(Reducer[str, int]):
    def __init__(self, actions: dict[str, Any]) -> None:
        self.actions = actions
        self.broken = False

    @property
    def value(self) -> int:
        if self.broken:
            raise ZeroDivisionError("no value")
        return 0

    def feed(self, frame: Any) -> list[str]:
        action = self.actions.get(frame[1])
        if isinstance(action, BaseException):
            raise action
        if action == "break":
            self.broken = True
        return [frame[1]]

    def is_keepalive(self, event: str) -> bool:
        if event == "odd":
            raise ZeroDivisionError("odd")
        return event == "ping"


@pytest.mark.parametrize("fatal", [SystemExit(3), KeyboardInterrupt()])
async def test_fatal_exception_of_a_reducer_comes_out_bare(fatal: BaseException) -> None:
    """`SystemExit` in a stage is raised in the consumer, as the same object."""
    source, alive = hanging("a", "exit"), living()
    with pytest.raises(type(fatal)) as raised:
        async with open_stream(source, Acting(exit=fatal)) as stream:
            assert await stream.receive() == "a"
            await stream.receive()
    assert raised.value is fatal
    assert isinstance(stream.outcome, Interrupted)
    assert stream.outcome.error is fatal
    assert source.closed
    assert living() == alive


async def test_bug_of_a_reducer_fails_the_stream() -> None:
    """The events before it come, and the fault names the bug."""
    bug = ZeroDivisionError("oh")
    source = hanging("a", "bug")
    async with open_stream(source, Acting(bug=bug)) as stream:
        assert [event async for event in stream.events()] == ["a"]
    assert isinstance(stream.outcome, Failed)
    assert isinstance(stream.outcome.error, StageError)
    assert stream.outcome.error.__cause__ is bug
    assert source.closed


async def test_value_that_cannot_be_had_harms_nobody_else() -> None:
    """A reducer that cannot tell its value fails the stream, and not the host."""
    source, alive = FaultySource(sse("a", "b")), living()
    async with open_stream(source, Acting(a="break")) as stream:
        await data_of_any(stream.events())
        assert isinstance(stream.outcome, Failed)
        assert stream.outcome.error.code == "stage-error"
        assert stream.outcome.partial is None
    assert source.closed
    assert living() == alive


async def test_leaving_a_stream_without_a_value() -> None:
    """A reducer that cannot tell its value keeps nobody from leaving."""
    source, alive = hanging("a"), living()
    async with open_stream(source, Acting(a="break")) as stream:
        assert await stream.receive() == "a"
    assert isinstance(stream.outcome, Failed)
    assert not stream.outcome.retry_safe
    assert source.closed
    assert living() == alive


async def data_of_any(events: Any) -> list[Any]:
    return [event async for event in events]


class BrokenStage:
    """A framer or decoder that breaks once, when it is fed or at the end."""

    offset = comments = largest = open = replacements = literal_replacements = 0

    def __init__(self, where: str, error: BaseException) -> None:
        self.errors = {where: error}

    def feed(self, item: Any) -> list[Any]:
        self._break("feed")
        return []

    def end(self, ending: Any) -> Any:
        self._break("end")
        return [], ending

    def _break(self, where: str) -> None:
        if where in self.errors:
            raise self.errors.pop(where)


class BrokenFramer(Acting):
    def framer(self, limits: Limits) -> Any:
        return BrokenStage(**self.actions)


class BrokenDecoder(Acting):
    def decoder(self, limits: Limits) -> Any:
        return BrokenStage(**self.actions)


@pytest.mark.parametrize("where", ["feed", "end"])
@pytest.mark.parametrize("kind", [BrokenFramer, BrokenDecoder])
async def test_fatal_exception_of_a_stage_comes_out_bare(kind: Any, where: str) -> None:
    source, alive, fatal = FaultySource(sse("a")), living(), SystemExit(1)
    with pytest.raises(SystemExit) as raised:
        async with open_stream(source, kind(where=where, error=fatal)) as stream:
            await stream.receive()
    assert raised.value is fatal
    assert isinstance(stream.outcome, Interrupted)
    assert source.closed
    assert living() == alive


async def test_bug_in_telling_keepalives_fails_the_stream() -> None:
    source = FaultySource(sse("a", "odd"), cuts=[9], faults=[Hang()])
    async with open_stream(source, Acting(), clocks=Clocks(progress=9)) as stream:
        assert await data_of_any(stream.events()) == ["a"]
    assert isinstance(stream.outcome, Failed)
    assert isinstance(stream.outcome.error.__cause__, ZeroDivisionError)
    assert source.closed


class AtTheEnd(Utf8Decoder):
    """A decoder that hands all text on at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = b""

    def feed(self, chunk: bytes) -> Any:
        self.kept += chunk
        return []

    def end(self, ending: Any) -> Any:
        return [*super().feed(self.kept), *super().feed(b"")], ending


class AllAtTheEnd(Acting):
    def decoder(self, limits: Limits) -> Any:
        return AtTheEnd()


async def test_text_that_is_held_to_the_end_is_not_lost() -> None:
    """Nor does it keep the source open while the consumer stalls."""
    source = FaultySource(sse("a", "b"), cuts=[9])
    async with open_stream(source, AllAtTheEnd()) as stream:
        await anyio.wait_all_tasks_blocked()
        assert source.closed
        assert await data_of_any(stream.events()) == ["a", "b"]
    assert is_interrupted(stream.outcome, Cause.EOF)


class BadEnd(Utf8Decoder):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.errors = [error]

    def end(self, ending: Any) -> Any:
        if self.errors:
            raise self.errors.pop()
        return super().end(ending)


class BadEndOnly(Acting):
    def decoder(self, limits: Limits) -> Any:
        return BadEnd(LookupError())


async def test_bug_at_the_end_comes_behind_the_events() -> None:
    """As with `parse()`, what was decoded before it is delivered."""
    async with open_stream(FaultySource(sse(*"abc"), cuts=[9, 18]), BadEndOnly()) as stream:
        assert await data_of_any(stream.events()) == ["a", "b", "c"]
    assert isinstance(stream.outcome, Failed)
    assert stream.outcome.error.code == "stage-error"
    assert stream.outcome.position.events == 3


@pytest.mark.parametrize("where", ["feed", "end"])
@pytest.mark.parametrize("kind", [BrokenFramer, BrokenDecoder])
async def test_bug_of_a_stage_fails_the_stream(kind: Any, where: str) -> None:
    """A bug in a stage is reported as one and leaves no task behind."""
    source, alive = FaultySource(sse("a")), living()
    async with open_stream(source, kind(where=where, error=LookupError())) as stream:
        assert await data_of_any(stream.events()) == []
    assert isinstance(stream.outcome, Failed)
    assert isinstance(stream.outcome.error, StageError)
    assert isinstance(stream.outcome.error.__cause__, LookupError)
    assert source.closed
    assert living() == alive


class LateBug(Acting):
    def decoder(self, limits: Limits) -> Any:
        return BadEnd(self.actions["error"])

    def reducer(self, limits: Limits) -> Any:
        reducer: Any = super().reducer(limits)
        reducer.complete("at once")
        return reducer


@pytest.mark.parametrize("error", [LookupError(), SystemExit(1)])
async def test_bug_behind_the_marker_changes_nothing(error: BaseException) -> None:
    """The first outcome stands."""
    source = FaultySource(b"", faults=[Send(sse("a")), Stall(0.01), Eof()])
    async with open_stream(source, LateBug(error=error)) as stream:
        assert await data_of_any(stream) == ["a"]
    assert isinstance(stream.outcome, Completed)


# --- closing the source -----------------------------------------------------------


async def test_source_that_cannot_be_closed_is_left_to_itself() -> None:
    """The wait for `aclose()` is bounded; the outcome stands, and the error is kept."""
    source, alive = FaultySource(sse("END"), on_close=Hang()), living()
    began = anyio.current_time()
    async with open_stream(source, DIALECT) as stream:
        assert await data_of(stream) == ["END"]
    assert 0.9 < anyio.current_time() - began < 2
    assert isinstance(stream.outcome, Completed)
    assert isinstance(stream.close_error, TimeoutError)
    assert living() == alive


@pytest.mark.parametrize("error", [OSError("no"), SystemExit(1)])
async def test_error_of_closing_is_kept(error: BaseException) -> None:
    """What `aclose()` raises is kept on the stream and not raised over the outcome."""
    async with open_stream(FaultySource(sse("END"), on_close=Raise(error)), DIALECT) as stream:
        assert await data_of(stream) == ["END"]
    assert isinstance(stream.outcome, Completed)
    assert stream.close_error is error


@pytest.mark.parametrize("wire", [sse("a", "b"), sse("a", "END")])
async def test_closing_takes_its_time_behind_the_scenes(wire: bytes) -> None:
    """Events are not held up by a source that closes slowly."""
    source = FaultySource(wire, on_close=Stall(0.05))
    async with open_stream(source, DIALECT) as stream:
        began = anyio.current_time()
        assert len(await data_of(stream.events())) == 2
        assert anyio.current_time() - began < 0.04
    assert stream.close_error is None


@pytest.mark.parametrize("wire", [sse("a", "b"), sse("a", "END")])
async def test_source_may_be_left_open(wire: bytes) -> None:
    """`close_source=False`: it is not closed, and not read behind the marker."""
    source = FaultySource(wire, faults=[Send(b": more\n")])
    async with open_stream(source, DIALECT, close_source=False) as stream:
        await stream.receive()
        await stream.receive()
    assert not source.closed
    assert stream.outcome is not None


async def test_source_left_open_can_be_read_on() -> None:
    """What untorn has not read is still there."""
    source = FaultySource(b"", faults=[Send(sse("END")), Stall(0.01), Send(b"rest")])
    async with open_stream(source, DIALECT, close_source=False) as stream:
        assert await data_of(stream) == ["END"]
    assert await source.receive() == b"rest"


# --- forged cancellations ---------------------------------------------------------


@in_asyncio
async def test_forged_cancellation_is_a_transport_error() -> None:
    """A `CancelledError` that nobody asked for, from some future the source awaited."""
    forged = asyncio.CancelledError("a foreign future")
    source, alive = Steps(sse("a"), sse("b"), forged), living()
    async with open_stream(source, DIALECT) as stream:
        assert await data_of(stream.events()) == ["a", "b"]
    assert is_interrupted(stream.outcome, Cause.TRANSPORT)
    assert stream.outcome.error is forged
    assert source.closed
    assert living() == alive


@in_asyncio
async def test_forged_cancellation_is_raised_as_an_interruption() -> None:
    async def foreign() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    with pytest.raises(StreamInterrupted) as raised:
        async with open_stream(Steps(sse("a"), foreign), DIALECT) as stream:
            await data_of(stream)
    assert isinstance(raised.value.__cause__, asyncio.CancelledError)


@in_asyncio
@pytest.mark.parametrize("wire", [sse("a", "b", "c"), sse("a", "b", "END")])
async def test_forged_cancellation_of_closing_loses_nothing(wire: bytes) -> None:
    """An `aclose()` that raises `CancelledError` is an `aclose()` that raises."""
    forged = asyncio.CancelledError("a foreign future")
    steps = [Send(wire[k : k + 9]) for k in range(0, len(wire), 9)]
    source = FaultySource(b"", faults=steps, on_close=Raise(forged))
    async with open_stream(source, DIALECT) as stream:
        assert len(await data_of(stream.events())) == 3
    assert isinstance(stream.outcome, (Completed, Interrupted))
    assert not is_interrupted(stream.outcome, Cause.CANCELLED)
    assert stream.close_error is forged


async def test_service_error_carries_the_partial_value() -> None:
    wire = b'id: 1\ndata: 1\n\nid: 2\ndata: {"type":"error","message":"busy"}\n\n'
    async with open_stream(FaultySource(wire), StrictSse()) as stream:
        assert len(await data_of(stream.events())) == 1
    assert isinstance(stream.outcome, Failed)
    assert isinstance(stream.outcome.error, ServiceError)
    assert stream.outcome.partial == 1
