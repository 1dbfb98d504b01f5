"""What follows a connection that has ended: the end of the feed, or another connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ..faults import UnexpectedResponse
from ..outcome import Cause, Completed, Failed, Interrupted, Outcome
from .backoff import Backoff
from .connection import Connection, Connections
from .notice import Reconnecting
from .resumption import NotResumable, Resumption

__all__ = ["Retry"]

E = TypeVar("E")
V = TypeVar("V")


class Retry:
    """Keeps count of what the connections of a feed have brought."""

    def __init__(
        self,
        connections: Connections[Any, Any],
        resumption: Resumption,
        backoff: Backoff,
        random: Callable[[], float],
    ) -> None:
        self._connections = connections
        self._resumption = resumption
        self._backoff = backoff
        self._random = random
        given = backoff.reconnection
        self._reconnection = connections.reconnection if given is None else given
        self.failures = 0
        """Connections in a row that brought nothing, up to the present one."""

    def behind(self, connection: Connection[E, V], ended: Outcome[V]) -> Outcome[V] | Reconnecting:
        """Return the outcome of the feed, or that it connects again and when."""
        moved = self._note(ended)
        if isinstance(ended, Completed):
            return ended
        held = connection.seconds >= self._backoff.cap > 0
        brought = connection.events > 0 or moved or held
        self.failures = 0 if brought else self.failures + 1
        last = self._last(ended)
        if last is not None:
            return last
        asked = ended.error.retry_after if isinstance(ended.error, UnexpectedResponse) else None
        least = max(self._reconnection, asked or 0.0)
        delay = self._backoff.delay(least, self.failures, self._random)
        return Reconnecting(self.failures + 1, delay, ended, self._resumption.last_event_id)

    def _note(self, ended: Outcome[V]) -> bool:
        """Take over what the connection has set; say whether its id moved."""
        # Whoever cancelled the runner may have lost us events that were folded already.
        lost = isinstance(ended, Interrupted) and ended.cause is Cause.CANCELLED
        state: Any = ended.value if isinstance(ended, Completed) else ended.partial
        # A reducer with a bug may have no value to show.
        if lost or state is None or not self._connections.resumable:
            return False
        if state.retry is not None:
            self._reconnection = state.retry / 1000
        moved: bool = state.last_event_id != self._resumption.last_event_id
        self._resumption.last_event_id = str(state.last_event_id)
        return moved

    def _last(self, ended: Failed[V] | Interrupted[V]) -> Outcome[V] | None:
        """Return the outcome of the feed if this connection was the last, else `None`."""
        error = ended.error
        if isinstance(error, UnexpectedResponse) and error.status == 204:
            return Completed(ended.partial, "204", ended.position)
        if not self._backoff.retries(ended) or self._connections.closed:
            return ended
        why = self._resumption.refuse(ended)
        if why is not None and isinstance(ended, Interrupted):
            refused = NotResumable(why)
            refused.__cause__ = error
            return replace(ended, error=refused)
        return ended if why is not None or self._backoff.spent(self.failures) else None
