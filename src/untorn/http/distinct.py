"""Events that came twice, dropped: services replay the last event, or more, on resumption."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any, Generic, TypeAlias, TypeVar

from ..frame import CarriedId
from .notice import Connected, events_of

__all__ = ["distinct"]

E = TypeVar("E")

_Place: TypeAlias = tuple[str, int]
"""An id, and the number of an event behind it: 0 for that of the block which has the id."""


def distinct(feed: AsyncIterable[E], window: int = 1024) -> AsyncIterator[E]:
    """Return the events of a feed without those whose id was handed out before.

    The last `window` events are remembered, by their ids. What has no id passes,
    so `Connected` and `Reconnecting` do; hand it the feed with these, for it has
    to know where a connection begins. It ends as the feed does.

    An id stays in force for the events behind it that have none of their own. Such
    an event is known by how many came between it and the id, and by what it says:
    it is dropped if the same one was handed out at the same place. So where a
    service repeats them, they are dropped; where it does not, none is lost, but for one
    that says the same as the event at its place before: that is taken for a repeat.
    Where each event has an id of its own, there is no such doubt.

    Raises `TypeError` for what is no feed, and nothing made of one; `ValueError` for a
    `window` below 1.
    """
    if not isinstance(window, int) or isinstance(window, bool) or window < 1:
        raise ValueError(f"distinct(window={window!r}): give a whole number, 1 or more")
    return _Distinct(feed, window)


class _Distinct(AsyncIterator[E], Generic[E]):
    def __init__(self, feed: AsyncIterable[E], window: int) -> None:
        self._feed = events_of(feed)
        self._window = window
        self._seen: dict[_Place, int | None] = {}
        self._id: str | None = None
        self._behind = 0

    async def __anext__(self) -> E:
        while True:
            # Nothing is awaited behind the taking of an event: a cancellation loses none.
            event = await self._feed.__anext__()
            if isinstance(event, Connected):
                self._id = None
            if not self._is_known(event):
                return event

    def _is_known(self, event: Any) -> bool:
        id = getattr(event, "id", None)
        if not id:
            return False
        place = self._place(id)
        # An event with an id of its own is known by it, whatever it says now.
        says = hash(repr(event)) if place[1] else None
        known = place in self._seen and self._seen[place] == says
        self._seen[place] = says
        if len(self._seen) > self._window:
            del self._seen[next(iter(self._seen))]
        return known

    def _place(self, id: str) -> _Place:
        if id == self._id:
            self._behind += 1
        else:
            # Number 0 is the block that has the id, be it an event or not.
            self._id, self._behind = id, int(isinstance(id, CarriedId))
        return id, self._behind
