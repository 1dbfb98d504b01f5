"""Whatever readers do, in whatever order: each receives what its policy says, and none hangs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
import pytest
from anyio.lowlevel import checkpoint
from flow.backends import run
from flow.sources import is_interrupted, sse
from hypothesis import given
from hypothesis import strategies as st

from untorn import Cause, Completed, EventsDropped, ReaderEvicted, broadcast

from .supply import Receiving, opened, to_numbers

POLICIES = ("block", "drop_oldest", "evict")
READERS = 5
Step: TypeAlias = tuple[str, Any]

steps = st.lists(
    st.tuples(st.just("feed"), st.integers(1, 9))
    | st.tuples(st.sampled_from(["receive", "receive", "cancel", "leave"]), st.integers(0, READERS))
    | st.tuples(st.just("take"), st.tuples(st.integers(0, READERS), st.integers(1, 6)))
    | st.tuples(st.just("join"), st.sampled_from(POLICIES))
    | st.tuples(st.sampled_from(["turn", "rest"]), st.none()),
    max_size=60,
)
starts = st.lists(st.sampled_from(POLICIES), min_size=1, max_size=3)


@dataclass
class Seat:
    """A reader, and what is known of it."""

    reader: Any
    policy: str
    receiving: Receiving | None = None
    seen: list[int] = field(default_factory=list)
    left: bool = False

    def collect(self) -> None:
        """Note what a receive that is over has brought."""
        if self.receiving is not None and self.receiving.done:
            assert self.receiving.error is None or self.ended
            if self.receiving.got is not None:
                self.seen += to_numbers([self.receiving.got])
            self.receiving = None

    @property
    def ended(self) -> bool:
        return self.reader.outcome is not None

    @property
    def next(self) -> int:
        """The number of the event that it comes to next."""
        return int(self.reader.skipped + len(self.seen) + self.reader.dropped)


class Table:
    """Readers of one stream, and the schedule that they follow."""

    def __init__(self, supply: Any, stream: Any, capacity: int, group: Any) -> None:
        self.supply = supply
        self.capacity = capacity
        self.shared = broadcast(stream, capacity=capacity)
        self.group = group
        self.seats: list[Seat] = []

    def join(self, policy: Any) -> None:
        if len(self.seats) < READERS:
            self.seats.append(Seat(self.shared.subscribe(slow=policy), policy))

    def feed(self, count: int) -> None:
        self.supply.feed(count)

    def receive(self, index: int) -> None:
        seat = self._seat(index)
        if seat is not None and seat.receiving is None and not seat.ended:
            seat.receiving = Receiving(seat.reader, self.group)

    def cancel(self, index: int) -> None:
        seat = self._seat(index)
        if seat is not None and seat.receiving is not None:
            seat.receiving.scope.cancel()

    async def take(self, what: tuple[int, int]) -> None:
        """Receive some events in one go, as far as there are any."""
        index, count = what
        seat = self._seat(index)
        if seat is None or seat.receiving is not None or seat.ended:
            return
        for _ in range(count):
            with anyio.move_on_after(0.5):
                seat.seen.append(int((await seat.reader.receive()).data))

    async def leave(self, index: int) -> None:
        seat = self._seat(index)
        if seat is not None:
            seat.left = seat.left or not seat.ended
            await seat.reader.aclose()

    def _seat(self, index: int) -> Seat | None:
        return self.seats[index] if index < len(self.seats) else None

    async def turn(self, _: None) -> None:
        await checkpoint()

    async def rest(self, _: None) -> None:
        await anyio.wait_all_tasks_blocked()
        for seat in self.seats:
            seat.collect()
        self.check_nobody_waits_in_vain()

    def check_nobody_waits_in_vain(self) -> None:
        """Who still receives has nothing to receive, or waits for one that blocks."""
        head = max((seat.next for seat in self.seats), default=0)
        blocked = [seat for seat in self.seats if seat.policy == "block" and not seat.ended]
        full = any(head - seat.next >= self.capacity for seat in blocked)
        assert all(head - seat.next <= self.capacity for seat in blocked)
        for seat in self.seats:
            if seat.receiving is not None:
                assert seat.next == head
                assert full or head == self.supply.fed

    async def follow(self, steps: list[Step]) -> None:
        for name, what in steps:
            done = getattr(self, name)(what)
            if done is not None:
                await done
            for seat in self.seats:
                seat.collect()

    async def finish(self) -> None:
        """Let everybody read to the end."""
        await self.rest(None)
        self.supply.end(sse("END"))
        with anyio.fail_after(3600):
            async with anyio.create_task_group() as group:
                for seat in self.seats:
                    group.start_soon(self._read, seat)

    async def _read(self, seat: Seat) -> None:
        if seat.receiving is not None:
            await seat.receiving.over.wait()
            seat.collect()
        if not seat.left:
            seat.seen += to_numbers([event.data async for event in seat.reader.events()])

    def check(self) -> None:
        """Each has received what its policy says, and says so."""
        for seat in self.seats:
            assert seat.seen == sorted(set(seat.seen))
            getattr(self, f"check_{seat.policy}")(seat, seat.reader.outcome)

    def check_block(self, seat: Seat, outcome: Any) -> None:
        assert seat.reader.dropped == 0
        assert seat.seen == list(range(seat.reader.skipped, seat.next))
        self._check_end(seat, outcome)

    def check_drop_oldest(self, seat: Seat, outcome: Any) -> None:
        if seat.left or not seat.reader.dropped:
            self._check_end(seat, outcome)
        else:
            assert isinstance(outcome.error, EventsDropped)
            total = self.supply.fed + 1  # END is never lost: it is the last
            assert seat.reader.skipped + outcome.position.events + seat.reader.dropped == total

    def check_evict(self, seat: Seat, outcome: Any) -> None:
        assert seat.seen == list(range(seat.reader.skipped, seat.next))
        assert seat.reader.dropped == 0
        if is_interrupted(outcome, Cause.CANCELLED):
            assert isinstance(outcome.error, ReaderEvicted)
            assert outcome.position.events == len(seat.seen)
        else:
            self._check_end(seat, outcome)

    def _check_end(self, seat: Seat, outcome: Any) -> None:
        if seat.left:
            assert is_interrupted(outcome, Cause.ABANDONED)
            assert outcome.position.events == len(seat.seen)
        else:
            assert isinstance(outcome, Completed)
            assert seat.next == self.supply.fed
            assert outcome.position.events == len(seat.seen) + 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(capacity=st.integers(1, 6), starts=starts, steps=steps)
def test_any_schedule(backend: str, capacity: int, starts: list[str], steps: list[Step]) -> None:
    """Readers that receive, are cancelled, leave and join, fast and slow, in any order."""

    async def main() -> None:
        async with opened() as (supply, stream), anyio.create_task_group() as group:
            table = Table(supply, stream, capacity, group)
            for policy in starts:
                table.join(policy)
            await table.follow(steps)
            await table.finish()
            table.check()
            group.cancel_scope.cancel()

    run(backend, main)
