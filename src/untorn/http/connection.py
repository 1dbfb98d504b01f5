"""One connection of a feed: a stream that begins with a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

from anyio import Event, current_time

from ..limits import Clocks, Limits
from ..reduce import Dialect
from ..stream import EventStream, OpenStream, open_stream
from .resumption import Asking
from .source import RequestSource

__all__ = ["Connection", "Connections", "Resumable"]

E = TypeVar("E")
V = TypeVar("V")


@runtime_checkable
class Resumable(Protocol):
    """A dialect whose events have ids, and whose value has `last_event_id` and `retry` (ms)."""

    reconnection_ms: int
    """The reconnection time as long as the service has set none."""

    def resumed_from(self, last_event_id: str) -> Any:
        """Return the dialect for a stream that goes on behind this id."""


class _AnsweredSource(RequestSource):
    """Sends nothing before its stream is open, and says when the response has been judged."""

    on_answer: Callable[[], object]
    _opened: Event | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Send nothing until the block is left, and nothing at all if it is left by an error.

        To start a task in a group of the caller's is to wait, and the task runs meanwhile.
        If that wait were cancelled, the next attempt would send the request once more.
        """
        self._opened = opened = Event()
        yield
        opened.set()

    def resume_from_nothing(self) -> None:
        """Send no `Last-Event-ID`, whatever the client sends by itself."""
        self._sent.headers.pop("last-event-id", None)

    async def _judged(self) -> Any:
        assert self._opened is not None
        if not self._opened.is_set():
            await self._opened.wait()
        body = await super()._judged()
        self.on_answer()
        return body


class Connection(Generic[E, V]):
    """A stream on the response to a request; `resumed_from` is the id that the request names."""

    def __init__(
        self, opening: OpenStream[E, V], source: _AnsweredSource, resumed_from: str | None
    ) -> None:
        self._opening = opening
        self._source = source
        self._since: float | None = None
        source.on_answer = self._on_answer
        self.stream: EventStream[E, V] | None = None
        """The stream, once it is open."""
        self.resumed_from = resumed_from
        self.announced = False
        """Whether the consumer has been told of the answer."""
        self.events = 0
        """Events handed out."""

    async def open(self) -> EventStream[E, V]:
        """Start it. A cancellation meanwhile has started nothing."""
        with self._source.held():
            self.stream = await self._opening.__aenter__()
        return self.stream

    def _on_answer(self) -> None:
        assert self.stream is not None
        self._since = current_time()
        # No event; it wakes the consumer, which leaves it where it is.
        self.stream._flow.events.put_now(([], 0, None, False))

    async def answered(self) -> bool:
        """Wait for the answer; return `False` if the stream ends without one."""
        assert self.stream is not None
        if self._since is None:
            await self.stream._flow.events.ready()
        return self._since is not None

    @property
    def seconds(self) -> float:
        """How long it has been since the answer."""
        return 0.0 if self._since is None else current_time() - self._since


@dataclass(frozen=True, repr=False)
class Connections(Generic[E, V]):
    """Makes the connections of one feed."""

    client: Any
    url: Any
    dialect: Dialect[E, V]
    media_types: frozenset[str]
    limits: Limits | None
    clocks: Clocks
    task_group: Any

    @property
    def closed(self) -> bool:
        """Whether the client makes no connections any more."""
        return bool(getattr(self.client, "is_closed", False))

    @property
    def resumable(self) -> bool:
        """Whether the dialect knows of ids."""
        return isinstance(self.dialect, Resumable)

    @property
    def reconnection(self) -> float:
        """The dialect's reconnection time, in seconds."""
        # The HTML Standard: "probably in the region of a few seconds".
        return float(getattr(self.dialect, "reconnection_ms", 3000)) / 1000

    def value(self, resumed_from: str | None) -> V:
        """Return the value of a stream that has not begun."""
        dialect = self._dialect(resumed_from)
        return dialect.reducer(self.limits or dialect.limits).value

    def make(self, asking: Asking, resumed_from: str | None) -> Connection[E, V]:
        """Return a connection that is not open yet; raises what a wrong request raises."""
        source = _AnsweredSource(
            self.client,
            asking.method,
            self.url,
            media_types=self.media_types,
            clocks=self.clocks,
            **asking.options,
        )
        if resumed_from is None:  # a header of the client's own would name another id
            source.resume_from_nothing()
        dialect = self._dialect(resumed_from)
        opening = open_stream(
            source,
            dialect,
            limits=self.limits,
            clocks=self.clocks,
            task_group=self.task_group,
        )
        return Connection(opening, source, resumed_from)

    def _dialect(self, resumed_from: str | None) -> Dialect[E, V]:
        if resumed_from is None:
            return self.dialect
        resumed: Dialect[E, V] = cast(Resumable, self.dialect).resumed_from(resumed_from)
        return resumed
