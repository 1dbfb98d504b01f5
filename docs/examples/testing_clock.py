import asyncio

from untorn.testing import NothingCanHappenError, VirtualLoop


async def main() -> None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(86400):
            await asyncio.Event().wait()
    except TimeoutError:
        print("timed out at", loop.time())
    await asyncio.Event().wait()


with asyncio.Runner(loop_factory=VirtualLoop) as runner:
    try:
        runner.run(main())
    except NothingCanHappenError as error:
        print(error)
