"""The asynchronous pipeline is `parse()`: same events, same outcome, same position."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
import wires
from anyio.lowlevel import checkpoint
from fixture import LINE_ENDS, sse
from hypothesis import given, settings
from hypothesis import strategies as st

from untorn import Clocks, Dialect, Limits, open_stream
from untorn.dialects import JsonLines, JsonSse, Sse, StrictSse
from untorn.testing import Chunks, FaultySource, Reset, Stall, assert_untorn, run_virtual

KINDS = {
    "Sse": (wires.sse_wires, [Sse(), Sse(sentinel="[DONE]", eof="completes")]),
    "strict UTF-8": (wires.sse_wires, [Sse(errors="strict")]),
    "JsonSse": (wires.json_sse_wires, [JsonSse(sentinel="[DONE]"), JsonSse(eof="completes")]),
    "StrictSse": (wires.strict_wires, [StrictSse()]),
    "JsonLines": (wires.line_wires, [JsonLines(), JsonLines(eof="completes", tail="accepts")]),
}
LIMITS = st.sampled_from(
    [
        None,
        Limits(read_bytes=1),
        Limits(read_bytes=3, drain_bytes=0),
        Limits(frame_bytes=20, read_bytes=7),
        Limits(total_bytes=30),
        Limits(frame_bytes=9, total_bytes=50, read_bytes=2),
    ]
)


async def read(
    source: Any, dialect: Dialect[Any, Any], limits: Limits | None, stalls: random.Random | None
) -> tuple[list[Any], tuple[Any, ...]]:
    """Return all events and the answer; a consumer that stalls does so now and then."""
    events = []
    clocks = Clocks(first_byte=100, idle=100, progress=1000, total=10_000)
    async with open_stream(source, dialect, limits=limits, clocks=clocks) as stream:
        async for event in stream.events():
            events.append(event)
            if stalls is not None and stalls.random() < 0.3:
                await (anyio.sleep(stalls.randrange(9)) if stalls.random() < 0.5 else checkpoint())
    return events, wires.answer(stream.outcome)


async def one_by_one(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_pipeline_is_parse(backend: str, kind: str, data: st.DataObject) -> None:
    """Over any wire, any damage, any cut, any limits, and a consumer that stalls at random."""
    some, dialects = KINDS[kind]
    wire = data.draw(some, label="wire")
    dialect = data.draw(st.sampled_from(dialects), label="dialect")
    limits = data.draw(LIMITS, label="limits")
    chunks = data.draw(wires.cuttings(wire), label="chunks")
    seed = data.draw(st.none() | st.integers(0, 99), label="stalls")
    stalls = None if seed is None else random.Random(seed)
    expected = wires.read([wire], dialect, limits)
    source = one_by_one(chunks)
    assert run_virtual(read, source, dialect, limits, stalls, backend=backend) == expected


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=25)
@given(data=st.data())
def test_broken_pipeline_is_parse(backend: str, data: st.DataObject) -> None:
    """The same for a transport that stalls and breaks, wherever it does."""
    wire = data.draw(wires.sse_wires, label="wire")
    at = data.draw(st.integers(0, len(wire)), label="reset at")
    stall = data.draw(st.integers(0, at), label="stall at")
    seed = data.draw(st.integers(0, 99), label="stalls")
    source = FaultySource(wire, cuts=[at // 2], faults=[Stall(50, at=stall), Reset(at=at)])
    events, answer = run_virtual(read, source, Sse(), None, random.Random(seed), backend=backend)
    error = answer[3]
    assert isinstance(error, ConnectionResetError)

    def broken() -> Any:
        yield wire[:at]
        raise error

    assert (events, answer) == wires.read(broken(), Sse())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("line_ends", LINE_ENDS)
def test_every_cut_of_the_fixture(backend: str, line_ends: str) -> None:
    """Cut in two at every offset, in a few pieces, and byte by byte: always the same."""
    wire, dialect = sse(line_ends), Sse(sentinel="[DONE]")
    events, answer = wires.read([wire], dialect)

    async def parse(chunks: Chunks) -> list[Any]:
        events, answer = await read(chunks, dialect, None, None)
        return [*events, answer]

    assert_untorn(
        parse, wire, expected=[*events, answer], prefixes=False, samples=8, backend=backend
    )
