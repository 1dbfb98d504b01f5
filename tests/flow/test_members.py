"""The members of a stream, and `collect`."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.abc import ByteReceiveStream, ObjectReceiveStream
from anyio.streams.stapled import StapledByteStream

from untorn import (
    Cause,
    Clocks,
    Completed,
    EventStream,
    Failed,
    Interrupted,
    Limits,
    StreamFailed,
    StreamInterrupted,
    collect,
    open_stream,
)
from untorn.dialects import Sse, SseState, TextSse
from untorn.testing import FaultySource, Reset

from .sources import DIALECT, Steps, data_of, hanging, is_interrupted, sse

pytestmark = pytest.mark.anyio


async def test_stream_is_an_anyio_stream() -> None:
    async with open_stream(FaultySource(sse("END")), DIALECT) as stream:
        assert isinstance(stream, ObjectReceiveStream)
        assert isinstance(stream, EventStream)
        assert (await stream.receive()).data == "END"


@pytest.mark.parametrize(
    ("source", "count"),
    [(sse("a", "END"), 2), (sse("a"), 1), (sse("a", "b") + b"\xff", 2), (b"", 0)],
)
async def test_events_end_quietly(source: bytes, count: int) -> None:
    """Whatever happened, the outcome says it, and has said it before the end is seen."""
    dialect = Sse(sentinel="END", errors="strict")
    async with open_stream(FaultySource(source), dialect) as stream:
        events = stream.events()
        assert aiter(events) is events
        assert len(await data_of(events)) == count
        assert stream.outcome is not None
        assert await data_of(stream.events()) == []


async def test_value_is_what_was_folded_so_far() -> None:
    source = hanging("one ", "two")
    async with open_stream(source, TextSse(sentinel="END")) as stream:
        await stream.receive()
        await stream.receive()
        assert stream.value == "one two"
    assert stream.outcome is not None
    assert stream.outcome.partial == "one two"


async def test_partial_value_may_be_ahead_of_the_consumer() -> None:
    """What arrived and was folded is not lost because nobody took it."""
    async with open_stream(FaultySource(sse(*"abc")), TextSse()) as stream:
        assert (await stream.receive()).text == "a"
    assert is_interrupted(stream.outcome, Cause.ABANDONED)
    assert stream.outcome.partial == "abc"
    assert stream.outcome.position.events == 1


class Attributed(ByteReceiveStream):
    """A source that knows something about itself."""

    key = anyio.typed_attribute()

    @property
    def extra_attributes(self) -> Any:
        return {self.key: lambda: "known"}

    async def receive(self, max_bytes: int = 65536) -> bytes:
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        pass


async def test_attributes_of_the_source_are_handed_on() -> None:
    async with open_stream(Attributed(), DIALECT) as stream:
        assert stream.extra(Attributed.key) == "known"
    async with open_stream(Steps(), DIALECT) as stream:
        assert stream.extra(Attributed.key, None) is None
        assert not stream.extra_attributes


async def test_statistics_count() -> None:
    wire = b": hi\n\ndata: \xef\xbf\xbd\n\ndata: abc\xff\n\n"
    async with open_stream(FaultySource(wire), Sse()) as stream:
        await data_of(stream.events())
        counts = stream.statistics()
    assert (counts.bytes, counts.frames, counts.events, counts.comments) == (len(wire), 2, 2, 1)
    assert (counts.literal_replacements, counts.replacements, counts.largest_frame) == (1, 1, 4)
    assert counts.first_byte is not None
    assert counts.first_event is not None


# --- collect ------------------------------------------------------------------------


async def test_collect_returns_the_value() -> None:
    source = FaultySource(b"id: 7\nretry: 50\n" + sse("END"))
    outcome = await collect(source, DIALECT)
    assert isinstance(outcome, Completed)
    assert outcome.unwrap() == SseState("7", 50)
    assert source.closed


async def test_collect_never_raises_for_what_the_stream_did() -> None:
    broken = await collect(FaultySource(sse("a"), faults=[Reset()]), DIALECT)
    assert is_interrupted(broken, Cause.TRANSPORT)
    with pytest.raises(StreamInterrupted):
        broken.unwrap()
    failed = await collect(FaultySource(sse("a")), DIALECT, limits=Limits(total_bytes=3))
    assert isinstance(failed, Failed)
    with pytest.raises(StreamFailed):
        failed.unwrap()


async def test_collect_takes_what_open_stream_takes() -> None:
    source = hanging("a")
    async with anyio.create_task_group() as group:
        outcome = await collect(
            source, DIALECT, clocks=Clocks(idle=0.01), close_source=False, task_group=group
        )
    assert is_interrupted(outcome, Cause.IDLE_TIMEOUT)
    assert not source.closed


async def test_collect_is_cancelled_as_anything_is() -> None:
    source = hanging("a")
    with anyio.move_on_after(0.01) as scope:
        await collect(source, DIALECT)
    assert scope.cancelled_caught
    assert source.closed


async def test_collect_lets_a_fatal_exception_out() -> None:
    with pytest.raises(SystemExit):
        await collect(Steps(sse("a"), SystemExit(1)), DIALECT)


async def test_duplex_stream_is_read() -> None:
    """A stream that can send as well is taken by its receiving half."""
    send, receive = anyio.create_memory_object_stream[bytes](1)
    await send.send(sse("END"))

    class Half(ByteReceiveStream):
        async def receive(self, max_bytes: int = 65536) -> bytes:
            return await receive.receive()

        async def aclose(self) -> None:
            receive.close()

    duplex = StapledByteStream(send, Half())  # type: ignore[arg-type]
    assert isinstance(await collect(duplex, DIALECT), Completed)


async def test_what_cannot_be_opened_is_refused_with_a_sentence() -> None:
    """Clocks and task groups that are none, before anything is touched."""
    with pytest.raises(TypeError, match="Not clocks: 5"):
        open_stream(FaultySource(b""), Sse(), clocks=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Not a task group: 5"):
        open_stream(FaultySource(b""), Sse(), task_group=5)


@pytest.mark.parametrize("chunk", ["", [], None, 5])
async def test_a_chunk_that_is_no_bytes_is_told_whatever_it_is(chunk: Any) -> None:
    """An empty one of another type is no empty chunk; `parse` says the same."""

    async def source() -> Any:
        yield b"data: a\n\n"
        yield chunk

    outcome = await collect(source(), Sse())
    assert isinstance(outcome, Interrupted)
    assert outcome.cause is Cause.TRANSPORT
    assert isinstance(outcome.error, TypeError)
    assert "not bytes" in str(outcome.error)


@pytest.mark.parametrize("at", range(9, 24))
async def test_a_break_before_a_silent_completion_is_no_completion(at: int) -> None:
    """Wherever the wire was cut: a completion without an event is seen only by asking on."""
    wire = b"data: a\n\ndata: [DONE]\n\n"
    source = FaultySource(wire, [at] if at < len(wire) else None)
    async with open_stream(source, TextSse(sentinel="[DONE]")) as stream:
        await stream.receive()
    assert isinstance(stream.outcome, Interrupted)
