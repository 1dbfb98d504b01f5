from collections.abc import AsyncIterable, AsyncIterator

from untorn.testing import assert_untorn


async def frames(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Frames of a binary protocol: a byte that holds the length, then as many bytes."""
    held = b""
    async for chunk in chunks:
        held += chunk
        while held and len(held) > held[0]:
            yield held[1 : 1 + held[0]]
            held = held[1 + held[0] :]
    if held:
        raise EOFError("The stream ended inside a frame.")


async def all_frames(chunks: AsyncIterable[bytes]) -> list[bytes]:
    return [frame async for frame in frames(chunks)]


WIRE = b"\x03one\x00\x05three"

for backend in ("asyncio", "trio"):
    answer = assert_untorn(
        frames, WIRE, expected=[b"one", b"", b"three"], prompt=True, backend=backend
    )
    print(*answer.events)
    print(assert_untorn(frames, WIRE[:-1], end="reset", backend=backend).raised)
    print(assert_untorn(all_frames, WIRE, prefixes=False, backend=backend) == answer)
