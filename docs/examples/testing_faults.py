from untorn.testing import Drip, FaultySource, Reset, Stall, run_virtual

WIRE = b"data: one\n\ndata: two\n\n"


async def main() -> None:
    source = FaultySource(
        WIRE, faults=[Stall(3600, at=11), Drip(0.5, at=17, until=19), Reset(at=20)]
    )
    try:
        async for _ in source:
            pass
    except ConnectionResetError as error:
        print(error)
    await source.aclose()
    for read in source.reads:
        print(read.time, read.offset, read.data)
    print(source.closings)


for backend in ("asyncio", "trio"):
    run_virtual(main, backend=backend)
