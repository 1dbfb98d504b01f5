import asyncio
import math
import time

import anyio
import pytest

from untorn.testing import NothingCanHappenError, VirtualLoop, backends, run_virtual, virtual_time
from untorn.testing.virtual_time import run_on

pytestmark = pytest.mark.anyio


async def test_hours_pass_in_no_time() -> None:
    real, virtual = time.monotonic(), anyio.current_time()
    await anyio.sleep(3600)
    assert anyio.current_time() - virtual == pytest.approx(3600)
    assert time.monotonic() - real < 10


async def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    woken = []

    async def sleeper(seconds: float) -> None:
        await anyio.sleep(seconds)
        woken.append((seconds, anyio.current_time()))

    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        for seconds in (5, 0.5, 100_000, 0):
            tasks.start_soon(sleeper, seconds)
    assert [seconds for seconds, _ in woken] == [0, 0.5, 5, 100_000]
    assert [at - began for _, at in woken] == pytest.approx([0, 0.5, 5, 100_000])


async def test_timeout_fires_at_its_time() -> None:
    with anyio.move_on_after(60) as scope:
        await anyio.sleep_forever()
    assert scope.cancelled_caught


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_wait_for_ever_is_an_error_not_a_hang(backend: str) -> None:
    with pytest.raises(NothingCanHappenError, match="nothing will wake it"):
        run_virtual(anyio.sleep_forever, backend=backend)


def test_loop_in_which_nothing_can_happen_says_so() -> None:
    error = pytest.raises(NothingCanHappenError, match="no timer is set")
    with asyncio.Runner(loop_factory=VirtualLoop) as runner, error:
        runner.run(anyio.sleep_forever())


def test_clock_always_moves_on() -> None:
    loop = VirtualLoop()
    loop.jump(2.0**60)
    loop.jump(1e-9)
    assert loop.time() == math.nextafter(2.0**60, math.inf)
    loop.close()


def test_result_and_exception_come_out() -> None:
    async def double(number: int) -> int:
        return number * 2

    async def fail() -> None:
        raise KeyError("k")

    assert run_virtual(double, 21) == 42
    with pytest.raises(KeyError):
        run_virtual(fail)


def test_backends_are_what_anyio_takes() -> None:
    assert backends(virtual=False) == [("asyncio", {}), ("trio", {})]
    for name, options in backends():
        assert run_on((name, options), anyio.sleep, 1000) is None


def test_other_loops_cannot_be_virtual() -> None:
    with pytest.raises(ValueError, match="no virtual time for 'uvloop'"):
        virtual_time("uvloop")
