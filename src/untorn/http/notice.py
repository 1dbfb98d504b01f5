"""What a feed tells between its events: that it is connected, and that it connects again."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final, overload

from ..outcome import Failed, Interrupted, StreamInterrupted

if TYPE_CHECKING:
    from .feed import Feed

__all__ = ["Connected", "Reconnecting", "events_of", "messages"]

E = TypeVar("E")


@final
@dataclass(frozen=True, slots=True)
class Connected:
    """The service has answered with a stream; its events follow.

    `attempt` counts the connections from 1 since the last one that brought
    anything. `resumed_from` is the id that was sent as `Last-Event-ID`, `None` if
    none was: behind events that were handed out this is a gap of unknown size.
    """

    attempt: int
    resumed_from: str | None


@final
@dataclass(frozen=True, slots=True)
class Reconnecting:
    """A connection has ended, and another is made after `delay` seconds.

    `attempt` is that of the `Connected` to come. `outcome` says how the connection
    ended that was. `last_event_id` is what the next one goes on behind, `""` if
    there is no id.
    """

    attempt: int
    delay: float
    outcome: Failed[Any] | Interrupted[Any]
    last_event_id: str

    @property
    def reason(self) -> str:
        """Why, as a sentence."""
        if isinstance(self.outcome, Failed):
            return str(self.outcome.error)
        return str(StreamInterrupted(self.outcome))


# A feed by itself comes first: of a union of events mypy infers no more than `object` otherwise.
@overload
def messages(feed: Feed[E, Any]) -> AsyncIterator[E]: ...
@overload
def messages(feed: AsyncIterable[E | Connected | Reconnecting]) -> AsyncIterator[E]: ...
def messages(feed: AsyncIterable[Any]) -> AsyncIterator[Any]:
    """Return the events of a feed alone, without `Connected` and `Reconnecting`.

    It ends as the feed does, by raising where the feed raises. Raises `TypeError` for
    what is no feed, and nothing made of one.
    """
    return _Messages(feed)


class _Messages(AsyncIterator[E], Generic[E]):
    def __init__(self, feed: AsyncIterable[E | Connected | Reconnecting]) -> None:
        self._feed = events_of(feed)

    async def __anext__(self) -> E:
        while True:
            event = await self._feed.__anext__()
            if not isinstance(event, (Connected, Reconnecting)):
                return event


def events_of(feed: AsyncIterable[E]) -> AsyncIterator[E]:
    """Return what iterates a feed, or what was made of one; raises `TypeError`."""
    if hasattr(feed, "__aiter__"):
        return feed.__aiter__()
    opening = "; enter its block first: async with connect(...) as feed"
    raise TypeError(
        f"Not a feed: an object of {type(feed).__name__} gives no events to an async for"
        + (opening if hasattr(feed, "__aenter__") else "; give what connect() has opened")
    )
