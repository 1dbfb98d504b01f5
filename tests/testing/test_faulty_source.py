import anyio
import pytest
from anyio.lowlevel import checkpoint

from untorn.testing import (
    Closing,
    Corrupt,
    Drip,
    Eof,
    FaultySource,
    Hang,
    Raise,
    Read,
    Reset,
    Send,
    Stall,
)
from untorn.testing.faults import script

pytestmark = pytest.mark.anyio


async def read_all(source: FaultySource) -> list[bytes]:
    return [chunk async for chunk in source]


class TestScript:
    @pytest.mark.parametrize(
        ("cuts", "faults", "steps"),
        [
            (None, [], [Send(b"abcd"), Eof()]),
            ([1, 3], [], [Send(b"a"), Send(b"bc"), Send(b"d"), Eof()]),
            ([b"a", b"bcd"], [], [Send(b"a"), Send(b"bcd"), Eof()]),
            (None, [Stall(3, at=2)], [Send(b"ab"), Stall(3, at=2), Send(b"cd"), Eof()]),
            (None, [Stall(3, at=0), Reset()], [Stall(3, at=0), Send(b"abcd"), Reset()]),
            (None, [Eof(at=1), Reset()], [Send(b"a"), Eof(at=1)]),
            (None, [Send(b"x"), Send(b"")], [Send(b"abcd"), Send(b"x"), Send(b""), Eof()]),
            ([1], [Corrupt(b"XY", at=2)], [Send(b"a"), Send(b"b"), Send(b"XY"), Eof()]),
            (
                [3],
                [Drip(2, at=1, size=2)],
                [Send(b"a"), Stall(2), Send(b"bc"), Stall(2), Send(b"d"), Eof()],
            ),
            (
                None,
                [Drip(1, until=2), Hang(at=3)],
                [Stall(1), Send(b"a"), Stall(1), Send(b"b"), Send(b"c"), Hang(at=3)],
            ),
        ],
    )
    def test_faults_happen_where_they_are_placed(self, cuts, faults, steps) -> None:
        """A drip that ends lets the rest come at once."""
        assert list(script(b"abcd", cuts, faults)) == steps

    def test_place_outside_the_wire_is_refused(self) -> None:
        with pytest.raises(ValueError, match="outside the wire, which has 4 bytes"):
            FaultySource(b"abcd", faults=[Reset(at=5)])

    def test_faults_alone_are_a_script(self) -> None:
        steps = [Send(b"a"), Stall(3), Send(b"b"), Reset()]
        assert list(script(b"", None, steps)) == steps


async def test_source_records_what_was_read_and_when() -> None:
    source = FaultySource(b"abcd", [1], [Stall(10, at=1)])
    assert await read_all(source) == [b"a", b"bcd"]
    assert source.reads == [Read(0, 0, b"a"), Read(pytest.approx(10), 1, b"bcd")]
    assert source.offset == 4
    assert source.ended
    assert not source.closed


async def test_large_chunk_is_given_in_parts() -> None:
    source = FaultySource(b"abcd")
    assert [await source.receive(3), await source.receive(3)] == [b"abc", b"d"]


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        (Eof(), anyio.EndOfStream),
        (Reset(), ConnectionResetError),
        (Raise(KeyError("k")), KeyError),
    ],
)
async def test_ending_is_sticky(ending: Eof | Reset | Raise, error: type[Exception]) -> None:
    source = FaultySource(b"a", faults=[ending])
    await source.receive()
    for _ in range(2):
        with pytest.raises(error):
            await source.receive()


async def test_cancelled_read_loses_nothing_and_stalls_no_longer() -> None:
    source = FaultySource(b"a", faults=[Stall(10, at=0)])
    with anyio.move_on_after(4):
        await source.receive()
    assert await source.receive() == b"a"
    assert source.reads == [Read(pytest.approx(10), 0, b"a")]


async def test_closing_is_recorded() -> None:
    source = FaultySource(b"a")
    async with source:
        await source.receive()
    await source.aclose()
    assert source.closings == [Closing(0, 1, False, False)] * 2
    with pytest.raises(anyio.ClosedResourceError):
        await source.receive()


@pytest.mark.parametrize("fault", [Hang(), Stall(60)])
async def test_closing_wakes_the_reader(fault: Hang | Stall) -> None:
    source = FaultySource(b"", faults=[fault])

    async def read() -> None:
        with pytest.raises(anyio.ClosedResourceError):
            await source.receive()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.sleep(5)
        await source.aclose()
    assert source.closings == [Closing(pytest.approx(5), 0, True, False)]


async def test_second_reader_is_refused() -> None:
    source = FaultySource(b"", faults=[Hang()])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(source.receive)
        await anyio.sleep(1)
        with pytest.raises(anyio.BusyResourceError):
            await source.receive()
        tasks.cancel_scope.cancel()


async def test_close_can_be_slow_hang_or_fail() -> None:
    began = anyio.current_time()
    await FaultySource(b"", on_close=Stall(30)).aclose()
    assert anyio.current_time() - began == pytest.approx(30)
    with anyio.move_on_after(1) as scope:
        await FaultySource(b"", on_close=Hang()).aclose()
    assert scope.cancelled_caught
    with pytest.raises(OSError, match="no"):
        await FaultySource(b"", on_close=Raise(OSError("no"))).aclose()


async def test_every_read_lets_others_run() -> None:
    source = FaultySource(b"abcd", [1, 2, 3])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_all, source)
        for _ in range(10):
            await checkpoint()
            if source.reads:
                break
        # Two, where trio runs the reader last in one turn and first in the next.
        assert len(source.reads) <= 2
