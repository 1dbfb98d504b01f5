"""Its tests: the reader is put through every cut, every early end, stalls, and bad servers."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given, settings
from reader import read, read_async

from untorn.testing import (
    Ending,
    FaultySource,
    Reset,
    Stall,
    assert_untorn,
    chaos_server,
    run_virtual,
)
from untorn.testing.strategies import sse_wires

CAPTURE = "\ufeff: a comment\n\ndata: one\r\n\r\ndata: zwei €\rdata: 🙂\r\r".encode()


def test_every_cut_gives_the_same_events() -> None:
    assert_untorn(read, CAPTURE, expected=["one", "zwei €\n🙂"], prompt=True)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_every_cut_gives_the_same_events_to_the_async_reader(backend: str) -> None:
    assert_untorn(read_async, CAPTURE, expected=["one", "zwei €\n🙂"], backend=backend)


@settings(max_examples=15, deadline=None)
@given(sse_wires())
def test_no_wire_is_read_differently_when_it_is_cut(wire: bytes) -> None:
    assert_untorn(read, wire, prompt=True, empty_chunks=True, samples=4)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_event_before_a_reset_is_not_lost(backend: str) -> None:
    source = FaultySource(CAPTURE, faults=[Stall(60, at=20), Reset(at=40)])
    events = []

    async def consume() -> None:
        async for data in read_async(source):
            events.append(data)  # noqa: PERF401 - those before the error count

    with pytest.raises(ConnectionResetError):
        run_virtual(consume, backend=backend)
    assert events == ["one"]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.anyio
async def test_server_that_forgets_the_last_chunk_is_noticed() -> None:
    events = []
    forgetful = chaos_server(CAPTURE, cuts=[30, 42], ending=Ending.MISSING_LAST_CHUNK)
    async with forgetful as server, httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            async with client.stream("GET", server.url) as response:
                async for data in read_async(response.aiter_raw()):
                    events.append(data)  # noqa: PERF401 - those before the error count
    assert events == ["one", "zwei €\n🙂"]
