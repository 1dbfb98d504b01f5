"""Cases from public bug reports whose point is how the transport or the consumer behaves."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from untorn import Cause, Clocks, Failed, Interrupted, Limits, StreamInterrupted, open_stream
from untorn.dialects import Sse
from untorn.testing import FaultySource, Hang, Raise, Reset

from .sources import data_of, is_interrupted

httpx2 = pytest.importorskip("httpx2")

CASES = Path(__file__).parents[3] / "shared" / "cases" / "cases.json"
BY_TRANSPORT = ("stall", "overflow_close", "connect_error", "reset")
BY_OTHERS = ("endless", "cancel_after_event_1", "consumer_raises_after_event_1")


def _cases(*ends: str) -> list[Any]:
    if not CASES.exists():
        skip = pytest.mark.skip(reason=f"there is no folder {CASES.parent.parent.name}/ here")
        return [pytest.param(None, marks=skip)]
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["id"]) for case in cases if case["end"] in ends]


pytestmark = pytest.mark.anyio


def _gzipped() -> list[Any]:
    cases = [param for param in _cases("eof") if param.values[0] is not None]
    return [param for param in cases if param.values[0]["kind"] == "content-encoding"] or _cases()


async def _repeated(wire: bytes, case: dict[str, Any]) -> AsyncIterator[bytes]:
    """Yield an endless case: its filling, or all of it, again and again."""
    filling = case["expand"].get("fill", "").encode() * 4096 or wire * 512
    yield wire.replace(b"FILL", b"")
    while True:
        yield filling


def _source(case: dict[str, Any]) -> Any:
    wire = base64.b64decode(case["wire_b64"])
    match case["end"]:
        case "reset":
            return FaultySource(wire, case.get("cuts"), [Reset()])
        case "connect_error":
            return FaultySource(wire, faults=[Raise(OSError("no route to host"))])
        case "overflow_close":
            return FaultySource(wire)
        case "endless":
            return _repeated(wire, case)
        case _:
            return FaultySource(wire, faults=[Hang()])


@pytest.mark.parametrize("case", _cases(*BY_TRANSPORT, *BY_OTHERS))
async def test_case(case: dict[str, Any]) -> None:
    """The events that a standard framer dispatches, and the outcome that the report asks for."""
    expected, source, seen = case["expected"], _source(case), []
    options: dict[str, Any] = {
        "limits": Limits(frame_bytes=40_000),
        "clocks": Clocks(idle=0.02),
    }
    raised: BaseException | None = None
    try:
        with anyio.CancelScope() as scope:
            async with open_stream(source, Sse(), **options) as stream:
                async for event in stream.events():
                    seen.append({"event": event.event, "data": event.data, "id": event.id})
                    if case["end"] == "cancel_after_event_1":
                        scope.cancel()
                    if case["end"] == "consumer_raises_after_event_1":
                        raise LookupError("mine")
    except LookupError as error:
        raised = error
    whole = [event for event in expected["events"] if not event.get("torn")]
    _check_end(case, stream.outcome, raised)
    if not isinstance(raised, LookupError) and not scope.cancelled_caught:
        assert seen == whole
    assert seen == whole[: len(seen)]
    if isinstance(source, FaultySource):
        assert source.closed


def _check_end(case: dict[str, Any], outcome: Any, raised: BaseException | None) -> None:
    match case["end"]:
        case "stall":
            assert is_interrupted(outcome, Cause.IDLE_TIMEOUT)
        case "endless":
            assert isinstance(outcome, Failed)
            assert (outcome.error.code, outcome.error.offset) == ("frame-limit", 40_000)
        case "cancel_after_event_1":
            assert is_interrupted(outcome, Cause.CANCELLED)
        case "consumer_raises_after_event_1":
            assert is_interrupted(outcome, Cause.ABANDONED)
            assert isinstance(raised, LookupError)
        case "overflow_close":
            assert is_interrupted(outcome, Cause.EOF)
        case _:
            assert is_interrupted(outcome, Cause.TRANSPORT)
            assert isinstance(outcome, Interrupted)
            assert isinstance(outcome.error, OSError)


@pytest.mark.parametrize("case", _cases(*BY_TRANSPORT))
async def test_case_is_loud(case: dict[str, Any]) -> None:
    """Whoever forgets to look at the outcome hears of every such end."""
    with pytest.raises(StreamInterrupted):
        async with open_stream(_source(case), Sse(), clocks=Clocks(idle=0.02)) as stream:
            await data_of(stream)


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("case", _gzipped())
async def test_compressed_case(case: dict[str, Any], library: Any, size: int) -> None:
    """The client takes the encoding off, at whatever pieces it comes in."""
    wire = base64.b64decode(case["wire_b64"])

    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(wire), size):
            yield wire[start : start + size]

    response = library.Response(200, headers={"Content-Encoding": "gzip"}, content=body())
    expected = case["expected"]
    eof: Any = "completes" if expected["outcome"] == "Completed" else "interrupts"
    async with open_stream(response, Sse(eof=eof)) as stream:
        assert await data_of(stream.events()) == [event["data"] for event in expected["events"]]
    assert type(stream.outcome).__name__ == expected["outcome"]
