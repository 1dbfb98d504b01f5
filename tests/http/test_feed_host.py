"""A feed in an asyncio loop that has ways of its own with tasks."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from feeds import Service, answer, read, short

from untorn import Cause, StreamInterrupted

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True),
]


async def test_a_runner_cancelled_by_the_host_ends_the_feed() -> None:
    """Nothing is connected again, and the cursor stays at what was handed out."""
    letters = [f"id: {number}\ndata: {data}\n\n".encode() for number, data in enumerate("abcd")]
    script = Service(answer(*letters, 1.0))
    async with script.connect() as feed:
        assert [short(await feed.receive()) for _ in range(2)] == ["<1>", "a"]
        await anyio.sleep(0.5)  # some more are folded by now, and one is on its way to us
        assert feed.value.last_event_id > "1"
        (runner,) = (task for task in asyncio.all_tasks() if task.get_name() == "untorn runner")
        runner.cancel()
        await anyio.sleep(0.1)
        seen = ["a"]
        with pytest.raises(StreamInterrupted, match="cancelled"):
            while True:  # how many were on their way is the pipeline's business
                seen.append(short(await feed.receive()))
    assert feed.outcome.cause is Cause.CANCELLED
    assert seen == list("abcd")[: len(seen)] and len(script.requests) == 1
    assert feed.last_event_id == str(len(seen) - 1)


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="since Python 3.12")
async def test_tasks_may_be_eager() -> None:
    """The answer may be there before the connection knows that it is open."""
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    async with asyncio.TaskGroup() as own, anyio.create_task_group() as group:
        for task_group in (None, own, group):
            first, second = answer(b"id: 1\ndata: a\n\n"), answer(b"data: END\n\n")
            seen, _ = await read(Service(first, second, seconds=-1.0), task_group=task_group)
            assert seen == ["<1>", "a", "<1 in 3>", "<1 from 1>", "END"]
