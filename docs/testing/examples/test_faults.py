from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

from untorn.testing import Backend, FaultySource, Hang, Stall, virtual_time

WIRE = b"one\ntwo\n"


async def lines(source: anyio.abc.ByteReceiveStream) -> AsyncIterator[bytes]:
    """The code under test: it gives up after 30 seconds in which nothing came."""
    async with source:
        while True:
            with anyio.fail_after(30):
                chunk = await source.receive()
            for line in chunk.splitlines():
                yield line


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return virtual_time(request.param)


@pytest.mark.anyio
async def test_silence_is_noticed_in_30_seconds(
    faulty_source: Callable[..., FaultySource],
) -> None:
    source = faulty_source(WIRE, faults=[Stall(29, at=4), Hang()])
    seen: list[Any] = []
    with pytest.raises(TimeoutError):
        async for line in lines(source):
            seen.append(line)  # noqa: PERF401 - those before the error count
    assert seen == [b"one", b"two"]
    assert source.closings[0].time == 29 + 30
