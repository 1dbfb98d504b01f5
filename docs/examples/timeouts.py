import asyncio
from collections.abc import AsyncIterator

from untorn import Cause, Clocks, Interrupted, collect
from untorn.dialects import TextSse


async def service_that_hangs() -> AsyncIterator[bytes]:
    yield b"data: One moment\n\n"
    await asyncio.Event().wait()


async def main() -> None:
    clocks = Clocks(first_byte=30, idle=0.05, progress=60, total=600)  # seconds
    outcome = await collect(service_that_hangs(), TextSse(), clocks=clocks)
    assert isinstance(outcome, Interrupted)
    assert outcome.cause is Cause.IDLE_TIMEOUT
    print(outcome.partial)


asyncio.run(main())
