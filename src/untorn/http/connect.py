"""`connect`: open a feed, which goes on behind the last event when a connection ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import random as uniform
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anyio.lowlevel import checkpoint

from ..fold import check_dialect
from ..limits import Clocks, Limits
from ..outcome import Cause
from ..reduce import Dialect
from ..stream import is_cancelled
from .backoff import Backoff
from .connection import Connections
from .feed import Feed
from .media_types import as_media_types, media_types_of
from .request import method_of
from .resumption import Asking, Resumption, is_sendable

if TYPE_CHECKING:
    import httpx
    import httpx2

__all__ = ["OpenFeed", "connect"]

E = TypeVar("E")
V = TypeVar("V")


def connect(
    client: httpx2.AsyncClient | httpx.AsyncClient,
    url: httpx2.URL | httpx.URL | str,
    *,
    dialect: Dialect[E, V],
    method: str = "GET",
    first: Mapping[str, Any] | None = None,
    last_event_id: str = "",
    accept_gaps: bool = False,
    backoff: Backoff = Backoff(),
    media_types: Iterable[str] | None = None,
    limits: Limits | None = None,
    clocks: Clocks = Clocks(),
    task_group: Any = None,
    random: Callable[[], float] = uniform,
    **request: Any,
) -> OpenFeed[E, V]:
    """Open a feed that is resumed where its connection broke.

    Use it as `async with connect(...) as feed`, once. It follows the `EventSource` of
    the HTML Standard (9.2): the id of the last event goes into `Last-Event-ID`, `retry`
    sets the reconnection time, `204` ends the feed (`Completed`, marker `"204"`), and so
    does a response that is no such stream (`Failed`, `UnexpectedResponse`). There are
    three deviations: a status that says "later" is tried again, see `Backoff`; any
    status of success is accepted, and a stream that does not say its media type; and
    what has been handed out is never asked for again unknowingly.

    So a feed whose events have no ids ends at the first cut behind an event, as
    `Interrupted` with the error `NotResumable`. So does one whose request must not be
    repeated (RFC 9110, 9.2.2: a POST) at a cut before the first id, unless the service
    has certainly not acted on it (no connection, 408, 425, 429, 503).

    client
        An `httpx2.AsyncClient` or `httpx.AsyncClient`. It stays yours.
    dialect
        `Sse`, `JsonSse` and `Mcp` know of ids; see `Resumable` for your own.
    method, url, request
        What is sent on each connection, as of `untorn.http.stream`.
    first
        What to send instead on the first connection: `method` (`"POST"` unless you
        name another), and what of `request` differs, above all the body.
    last_event_id
        The id to go on behind, of a feed that was read before; `first` is then
        taken for sent.
    accept_gaps
        Connect again without an id as well: for live feeds, where what was missed
        does not matter, and where to send the request twice does no harm.
    backoff, random
        When to try again; `random` returns numbers from 0 to 1.
    media_types, limits, clocks, task_group
        As of `untorn.http.stream`, for each connection anew. A task group must
        outlive the feed.

    Raises `TypeError`, `ValueError`, and what `client.build_request` raises, for a
    wrong request or option: at once, before anything is sent.
    """
    check_dialect(dialect)
    _check_kinds(first, last_event_id, backoff, random)
    accepted = media_types_of(dialect) if media_types is None else as_media_types(media_types)
    connections = Connections(client, url, dialect, accepted, limits, clocks, task_group)
    _check_id(last_event_id, connections)
    again = Asking(method_of(method), request)
    opening = None if first is None else _opening(first, request)
    for asking in (again, again.behind(last_event_id), opening or again):
        connections.make(asking, None)  # a mistake in a request is raised here, not in a retry
    resumption = Resumption(again, opening, last_event_id, accept_gaps)
    return OpenFeed(Feed(connections, resumption, backoff, random))


def _check_kinds(first: Any, last_event_id: Any, backoff: Any, random: Any) -> None:
    if first is not None and not isinstance(first, Mapping):
        kind = type(first).__name__  # what is in it may be secret
        raise TypeError(f"first is no mapping, but {kind}; write first={{'method': 'POST', ...}}")
    if not isinstance(last_event_id, str):
        raise TypeError(f"last_event_id={last_event_id!r} is not text; give the id as a string")
    if not isinstance(backoff, Backoff):
        raise TypeError(f"Not a backoff: {backoff!r}; write backoff=Backoff(attempts=...)")
    if not callable(random):
        raise TypeError(f"random={random!r} cannot be called; give a function: random.random")


def _check_id(last_event_id: str, connections: Connections[Any, Any]) -> None:
    if last_event_id and not connections.resumable:
        raise TypeError(
            f"The dialect {type(connections.dialect).__name__} has no event ids, so there is "
            "nothing to go on behind; leave last_event_id out, or read the feed with Sse"
        )
    if not is_sendable(last_event_id):
        raise ValueError(
            f"last_event_id={last_event_id!r} is no event id that a header can carry; "
            "give one without control characters"
        )


def _opening(first: Mapping[str, Any], request: Mapping[str, Any]) -> Asking:
    """Return the request that opens a feed, where it is another than the rest."""
    options = {**request, **first}
    return Asking(method_of(options.pop("method", "POST")), options)


class OpenFeed(Generic[E, V]):
    """The async context manager that `connect` returns; single use.

    Nothing is sent before the first event is asked for.
    """

    def __init__(self, feed: Feed[E, V]) -> None:
        self._feed = feed
        self._entered = False

    async def __aenter__(self) -> Feed[E, V]:
        if self._entered:
            raise RuntimeError("This feed was opened before; call connect() once for each")
        self._entered = True
        await checkpoint()
        return self._feed

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._feed._leave(Cause.CANCELLED if is_cancelled(exc) else Cause.ABANDONED)
