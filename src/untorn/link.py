"""The channels between the tasks: bounded, in order, and losing nothing.

Back-pressure is counted twice. A link has room for one batch, so that behind a
stalled consumer work is left undone. And of bytes, only so many may be read ahead,
see `Credit`: that is the bound to rely on.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import deque
from collections.abc import Awaitable
from typing import Any, Final, Generic, Protocol, TypeVar

from .stage import Ending

__all__ = ["Credit", "Link", "Spot", "in_trio", "spot"]

T = TypeVar("T")

# Batches per link: few, so that most of what a stalled consumer has not asked for stays
# unparsed. But trio runs ready tasks in random order: with room for one, every second
# stage would have to wait for room, which costs 40 % at small reads.
CAPACITY: Final = 4


def in_trio() -> bool:
    """Say whether the current task is trio's."""
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_task())


class Spot(Protocol):
    """A place where one task waits to be woken; waking nobody is forgotten."""

    waiter: Any
    """What waits there, `None` if nothing does: ask first where you call `wake` often."""

    @property
    def waits(self) -> bool:
        """Whether a task waits there that was not cancelled."""
        ...

    def wait(self) -> Awaitable[Any]:
        """Return what the task has to await at once."""
        ...

    def wake(self) -> None: ...


# Tasks are parked natively: on an anyio.Event a hop costs twice as much.


class _AsyncioSpot:
    __slots__ = ("_create_future", "waiter")

    def __init__(self) -> None:
        self._create_future = asyncio.get_running_loop().create_future
        self.waiter: asyncio.Future[None] | None = None

    @property
    def waits(self) -> bool:
        return self.waiter is not None and not self.waiter.done()

    def wait(self) -> Awaitable[None]:
        self.waiter = future = self._create_future()
        return future

    def wake(self) -> None:
        future, self.waiter = self.waiter, None
        if future is not None and not future.done():  # cancelled, for instance
            future.set_result(None)


class _TrioSpot:
    __slots__ = ("_lowlevel", "waiter")

    def __init__(self) -> None:
        self._lowlevel = sys.modules["trio"].lowlevel
        self.waiter: Any = None

    @property
    def waits(self) -> bool:
        return self.waiter is not None

    def wait(self) -> Awaitable[Any]:
        self.waiter = self._lowlevel.current_task()
        waiting: Awaitable[Any] = self._lowlevel.wait_task_rescheduled(self._leave)
        return waiting

    def _leave(self, raise_cancel: object) -> Any:
        self.waiter = None
        return self._lowlevel.Abort.SUCCEEDED

    def wake(self) -> None:
        task, self.waiter = self.waiter, None
        if task is not None:
            self._lowlevel.reschedule(task)


def spot() -> Spot:
    """Return a spot in the loop that runs."""
    return _TrioSpot() if in_trio() else _AsyncioSpot()


class Link(Generic[T]):
    """A bounded channel from one task to one other.

    An item is never handed over to a waiting reader: the reader waits until there
    is one and takes it without awaiting.

        while link.items or await link.ready():
            item = link.pop()

    So a reader that is cancelled while it waits, by whatever means, has taken
    nothing.
    """

    __slots__ = ("_reader", "_writer", "closed", "ending", "finished", "items")

    def __init__(self) -> None:
        self.items: deque[T] = deque()
        """The items that are there to be taken, with `pop`."""
        self._reader = spot()
        self._writer = spot()
        self.finished = False
        """Whether no item follows."""
        self.closed = False
        """Whether the reader has left."""
        self.ending: Ending | None = None
        """How the items ended, once there are no more."""

    @property
    def full(self) -> bool:
        """Whether the next item has to wait for room."""
        return len(self.items) >= CAPACITY

    @property
    def awaited(self) -> bool:
        """Whether the reader waits for an item."""
        return not self.items and self._reader.waits

    async def room(self) -> None:
        """Wait until there is room, or the reader has left."""
        while self.full:
            await self._writer.wait()

    async def put(self, item: T) -> bool:
        """Add an item once there is room; return `False` if the reader has left."""
        await self.room()
        return self.put_now(item)

    def put_now(self, item: T) -> bool:
        """Add an item whether there is room or not: after `full`, or for the last one."""
        if self.closed:
            return False
        self.items.append(item)
        self._reader.wake()
        return True

    def finish(self, ending: Ending | None) -> None:
        """Say that no item follows; never waits."""
        if not self.finished:
            self.finished, self.ending = True, ending
            self._reader.wake()

    async def ready(self) -> bool:
        """Wait until there is an item; return `False` at the end."""
        while not self.items:
            if self.finished or self.closed:
                return False
            await self._reader.wait()
        return True

    def pop(self) -> T:
        """Take the item that is there."""
        if self._writer.waiter is not None:
            self._writer.wake()
        return self.items.popleft()

    def close(self) -> None:
        """The reader leaves: what is left is dropped, and the writer told."""
        self.closed = True
        self.items.clear()
        self._writer.wake()
        self._reader.wake()


class Credit:
    """How many bytes may be read ahead of the consumer.

    Of all bytes read, some are released: their events were taken and done with, or
    they made none; and some are `open`, part of the unfinished frame. The next read
    waits until fewer than `window` are neither: until some are `left`. So at most
    window + one read + one frame are ever held, however many stages there are, and a
    frame larger than the window cannot block itself.
    """

    __slots__ = ("_spot", "left", "open")

    def __init__(self, window: int) -> None:
        # An unfinished character is of no frame yet, and must not fill the window.
        self.left: float = max(window, 4)
        """Bytes that may be read; whoever reads some, takes them off."""
        self.open = 0
        self._spot = spot()

    async def wait(self) -> None:
        """Wait until there is credit for a read."""
        while self.left <= 0:
            await self._spot.wait()

    def release(self, size: int) -> None:
        """So many bytes are done with."""
        self.left += size
        if self._spot.waiter is not None and self.left > 0:
            self._spot.wake()

    def reckon(self, open: int) -> None:
        """So many bytes belong to the unfinished frame now."""
        self.left += open - self.open
        self.open = open
        if self._spot.waiter is not None and self.left > 0:
            self._spot.wake()

    def stop(self) -> None:
        """Nobody reads any more: never wait again."""
        self.left = math.inf
        self._spot.wake()
