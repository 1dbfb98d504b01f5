"""User code that must type-check: what streams, `collect` and `parse` give. Never run."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, assert_type

import untorn
from untorn import (
    Clocks,
    Completed,
    Dialect,
    EventStream,
    JsonEvent,
    JsonReducer,
    Limits,
    Outcome,
    Parse,
    Reducer,
    ServerSentEvent,
    Statistics,
    TextDelta,
)
from untorn.dialects import JsonLines, JsonSse, Sse, SseState, StrictSse, TextSse


async def chunks() -> AsyncIterator[bytes]:
    yield b""


async def a_stream_knows_its_events_and_its_value() -> None:
    async with untorn.open_stream(chunks(), TextSse()) as stream:
        assert_type(stream, EventStream[TextDelta, str])
        async for event in stream:
            assert_type(event, TextDelta)
        async for event in stream.events():
            assert_type(event, TextDelta)
        assert_type(await stream.receive(), TextDelta)
        assert_type(stream.value, str)
        assert_type(stream.outcome, Outcome[str] | None)
        assert_type(stream.statistics(), Statistics)
        await stream.aclose()


async def every_dialect_has_its_own() -> None:
    async with untorn.open_stream(chunks(), Sse()) as sse:
        assert_type(sse, EventStream[ServerSentEvent, SseState])
    async with untorn.open_stream(chunks(), JsonSse()) as json_sse:
        assert_type(json_sse, EventStream[JsonEvent, SseState])
    async with untorn.open_stream(chunks(), StrictSse()) as strict:
        assert_type(strict, EventStream[JsonEvent, int])
    async with untorn.open_stream(chunks(), JsonLines()) as lines:
        assert_type(lines, EventStream[JsonEvent, int])


async def collect_gives_an_outcome() -> None:
    limits, clocks = Limits(frame_bytes=1), Clocks(idle=1)
    outcome = await untorn.collect(chunks(), TextSse(), limits=limits, clocks=clocks)
    assert_type(outcome, Outcome[str])
    assert_type(outcome.unwrap(), str)


def parse_is_an_iterator(data: bytes) -> None:
    stream = untorn.parse([data], Sse())
    assert_type(stream, Parse[ServerSentEvent, SseState])
    assert_type(next(stream), ServerSentEvent)
    assert_type(list(stream.events()), list[ServerSentEvent])
    assert_type(stream.outcome, Outcome[SseState] | None)
    if isinstance(stream.outcome, Completed):
        assert_type(stream.outcome.value, SseState)


class Count(JsonReducer[str, int]):
    """A dialect of one's own needs no more than this."""

    @property
    def value(self) -> int:
        return 0

    def on_json(self, data: Any) -> Iterable[str]:
        yield str(data)


class Counted(Dialect[str, int]):
    def reducer(self, limits: Limits) -> Reducer[str, int]:
        return Count()


def a_dialect_is_covariant(dialect: Counted) -> Dialect[object, object]:
    assert_type(untorn.parse([b""], dialect), Parse[str, int])
    return dialect


async def readers_know_what_the_stream_knows() -> None:
    async with untorn.open_stream(chunks(), TextSse()) as stream:
        shared = untorn.broadcast(stream, slow="evict", capacity=4)
        assert_type(shared, untorn.Broadcast[TextDelta, str])
        async with shared.subscribe(slow="block") as reader:
            assert_type(reader, untorn.Reader[TextDelta, str])
            async for event in reader:
                assert_type(event, TextDelta)
            async for event in reader.events():
                assert_type(event, TextDelta)
            assert_type(await reader.receive(), TextDelta)
            assert_type(reader.value, str)
            assert_type(reader.outcome, Outcome[str] | None)
            assert_type(reader.dropped, int)
        readers = untorn.tee(stream, 2)
        assert_type(readers, tuple[untorn.Reader[TextDelta, str], ...])
        assert_type(untorn.tee(readers[0], 2), tuple[untorn.Reader[TextDelta, str], ...])


class Numbers:
    """What is enough to be shared."""

    outcome: Outcome[str] | None = None
    value = ""

    async def receive(self) -> int:
        return 0


def what_is_like_a_stream_can_be_shared() -> None:
    assert_type(untorn.broadcast(Numbers()), untorn.Broadcast[int, str])
