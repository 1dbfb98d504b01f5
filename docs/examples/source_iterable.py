import asyncio
from collections.abc import AsyncIterator

from untorn import collect
from untorn.dialects import JsonLines


async def chunks() -> AsyncIterator[bytes]:
    yield b'{"temperature": 2'
    yield b'1}\n{"temperature": 22}\n'


async def main() -> None:
    outcome = await collect(chunks(), JsonLines(eof="completes"))
    print(outcome)


asyncio.run(main())
