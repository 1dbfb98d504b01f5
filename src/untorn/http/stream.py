"""`stream` and `open_response`: a stream of events on a response that is judged first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ..fold import check_dialect
from ..limits import Clocks, Limits
from ..reduce import Dialect
from ..stream import OpenStream, open_stream
from .media_types import media_types_of
from .source import RequestSource, ResponseSource

if TYPE_CHECKING:
    import httpx
    import httpx2

__all__ = ["open_response", "stream"]

E = TypeVar("E")
V = TypeVar("V")


def stream(
    client: httpx2.AsyncClient | httpx.AsyncClient,
    method: str,
    url: httpx2.URL | httpx.URL | str,
    *,
    dialect: Dialect[E, V],
    media_types: Iterable[str] | None = None,
    limits: Limits | None = None,
    clocks: Clocks = Clocks(),
    task_group: Any = None,
    **request: Any,
) -> OpenStream[E, V]:
    """Send a request, and open a stream of events on its response.

    Use it as `async with stream(...) as answer`, once. The request is sent when
    the block is entered, in a task of untorn's; all that can go wrong from then on
    is an outcome, as with `untorn.open_stream`:

    - `Failed` with an `UnexpectedResponse` if the response is no such stream;
    - `Interrupted(Cause.TRANSPORT)` if there is no response, or its body breaks off.

    client
        An `httpx2.AsyncClient` or `httpx.AsyncClient`. It stays yours, with its
        redirects, proxies, cookies and hooks.
    dialect, limits, clocks, task_group
        As of `untorn.open_stream`. The time to the first byte includes connecting.
    media_types
        Those under which such a stream is served; `None`: the dialect's own. They
        are sent as `Accept` unless you give that header.
    request
        What `client.stream` takes: `headers`, `json`, `params`, `auth`, ... Without
        `timeout`, the client's own holds for connecting and sending, and none for
        reading: that is for `clocks` to say.

    Raises `TypeError`, `ValueError`, and what `client.build_request` raises, for a
    wrong request: at once, before anything is sent.
    """
    check_dialect(dialect)
    accepted = media_types_of(dialect) if media_types is None else media_types
    source = RequestSource(client, method, url, media_types=accepted, clocks=clocks, **request)
    return open_stream(source, dialect, limits=limits, clocks=clocks, task_group=task_group)


def open_response(
    response: Any,
    dialect: Dialect[E, V],
    *,
    media_types: Iterable[str] | None = None,
    limits: Limits | None = None,
    clocks: Clocks = Clocks(),
    task_group: Any = None,
) -> OpenStream[E, V]:
    """Open a stream of events on a response that you have opened.

    `response` is a streamed one of httpx2, httpx or aiohttp; anything else raises
    `TypeError`. It is judged when the block is entered, as by `stream`, and closed when it
    is left; the rest is as of `untorn.open_stream`. The timeouts of the client hold
    beside `clocks`.
    """
    check_dialect(dialect)
    accepted = media_types_of(dialect) if media_types is None else media_types
    source = ResponseSource(response, accepted, clocks)
    return open_stream(source, dialect, limits=limits, clocks=clocks, task_group=task_group)
