"""The channels between the tasks: bounded, in order, and losing nothing.

Back-pressure is counted twice. A link has room for one batch, so that behind a
stalled consumer work is left undone. And of bytes, only so many may be read ahead,
see `Credit`: that is the bound to rely on.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable
from typing import Any, Final, Generic, Protocol, TypeVar

from .stage import Ending

__all__ = ["Credit", "Link", "in_trio"]

T = TypeVar("T")

# Batches per link. One keeps everything but the bytes in flight unparsed while the
# consumer stalls, and costs no throughput that could be measured.
CAPACITY: Final = 1


def in_trio() -> bool:
    """Say whether the current task is trio's."""
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_task())


class Spot(Protocol):
    """A place where one task waits to be woken; waking nobody is forgotten."""

    waiting: bool
    """Whether somebody may be there: ask before you call `wake`, it is called often."""

    def wait(self) -> Awaitable[Any]: ...
    def wake(self) -> None: ...


# Tasks are parked natively: on an anyio.Event a hop costs twice as much.


class _AsyncioSpot:
    __slots__ = ("_future", "_loop", "waiting")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None]
        self.waiting = False

    def wait(self) -> Awaitable[None]:
        self._future = self._loop.create_future()
        self.waiting = True
        return self._future

    def wake(self) -> None:
        if self.waiting:
            self.waiting = False
            if not self._future.done():  # cancelled, for instance
                self._future.set_result(None)


class _TrioSpot:
    __slots__ = ("_lowlevel", "_task", "waiting")

    def __init__(self) -> None:
        self._lowlevel = sys.modules["trio"].lowlevel
        self._task: Any = None
        self.waiting = False

    async def wait(self) -> None:
        self._task = self._lowlevel.current_task()
        self.waiting = True
        await self._lowlevel.wait_task_rescheduled(self._leave)

    def _leave(self, raise_cancel: object) -> Any:
        self.waiting = False
        return self._lowlevel.Abort.SUCCEEDED

    def wake(self) -> None:
        if self.waiting:
            self.waiting = False
            self._lowlevel.reschedule(self._task)


def _spot() -> Spot:
    return _TrioSpot() if in_trio() else _AsyncioSpot()


class Link(Generic[T]):
    """A bounded channel from one task to one other.

    An item is never handed over to a waiting reader: the reader waits until there
    is one and takes it without awaiting.

        while link.holds or await link.ready():
            item = link.pop()

    So a reader that is cancelled while it waits, by whatever means, has taken
    nothing.
    """

    __slots__ = ("_items", "_reader", "_writer", "closed", "ending", "finished")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._reader = _spot()
        self._writer = _spot()
        self.finished = False
        """Whether no item follows."""
        self.closed = False
        """Whether the reader has left."""
        self.ending: Ending | None = None
        """How the items ended, once there are no more."""

    @property
    def holds(self) -> bool:
        """Whether an item is there to be taken."""
        return bool(self._items)

    @property
    def full(self) -> bool:
        """Whether the next item has to wait for room."""
        return len(self._items) >= CAPACITY and not self.closed

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
        self._items.append(item)
        if self._reader.waiting:
            self._reader.wake()
        return True

    def finish(self, ending: Ending | None) -> None:
        """Say that no item follows; never waits."""
        if not self.finished:
            self.finished, self.ending = True, ending
            self._reader.wake()

    async def ready(self) -> bool:
        """Wait until there is an item; return `False` at the end."""
        while not self._items:
            if self.finished or self.closed:
                return False
            await self._reader.wait()
        return True

    def pop(self) -> T:
        """Take the item that is there."""
        item = self._items.popleft()
        if self._writer.waiting:
            self._writer.wake()
        return item

    def close(self) -> None:
        """The reader leaves: what is left is dropped, and the writer told."""
        self.closed = True
        self._items.clear()
        self._writer.wake()
        self._reader.wake()


class Credit:
    """How many bytes may be read ahead of the consumer.

    Of all bytes `read`, some are `released`: their events were taken and done
    with, or they made none; and some are `open`, part of the unfinished frame.
    The next read waits until fewer than `window` are neither. So at most
    window + one read + one frame are ever held, however many stages there are,
    and a frame larger than the window cannot block itself.
    """

    __slots__ = ("_spot", "_stopped", "_window", "open", "read", "released")

    def __init__(self, window: int) -> None:
        # An unfinished character is of no frame yet, and must not fill the window.
        self._window = max(window, 4)
        self._spot = _spot()
        self._stopped = False
        self.read = self.released = self.open = 0

    @property
    def spent(self) -> bool:
        """Whether the next read has to wait."""
        return self.read - self.released - self.open >= self._window and not self._stopped

    async def wait(self) -> None:
        """Wait until there is credit for a read."""
        while self.spent:
            await self._spot.wait()

    def release(self, size: int) -> None:
        """So many bytes are done with."""
        self.released += size
        if self._spot.waiting and not self.spent:
            self._spot.wake()

    def reckon(self, open: int) -> None:
        """So many bytes belong to the unfinished frame now."""
        self.open = open
        if self._spot.waiting and not self.spent:
            self._spot.wake()

    def stop(self) -> None:
        """Nobody reads any more: never wait again."""
        self._stopped = True
        self._spot.wake()
