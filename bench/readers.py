"""Whole synchronous readers, as their users call them: an iterable of bytes, public events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from untorn import parse
from untorn.dialects import Sse

from .framers import LIMITS, Batches, Framer, framers
from .measure import OURS

_HEADERS = {"content-type": "text/event-stream"}


def _untorn(chunks: Iterable[bytes]) -> Batches:
    yield parse(chunks, Sse(eof="completes"), limits=LIMITS)


def _httpx_sse(chunks: Iterable[bytes]) -> Batches:
    import httpx
    from httpx_sse import EventSource

    class Body(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return iter(chunks)

    yield EventSource(httpx.Response(200, headers=_HEADERS, stream=Body())).iter_sse()


def _httpx2(chunks: Iterable[bytes]) -> Batches:
    import httpx2

    class Body(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return iter(chunks)

    request = httpx2.Request("GET", "http://localhost")
    response = httpx2.Response(200, headers=_HEADERS, stream=Body(), request=request)
    yield httpx2.EventSource(response, max_event_size=LIMITS.frame_bytes)


_THROUGH_A_RESPONSE = {OURS: _untorn, "httpx-sse": _httpx_sse, "httpx2": _httpx2}


def readers() -> list[Framer]:
    """Return those that can run here; where a framer is all there is to a reader, it is that."""
    return [
        Framer(
            each.name,
            _THROUGH_A_RESPONSE.get(each.name, each.read),
            each.pair if each.name != OURS else lambda event: (event.event, event.data),
            each.data if each.name != OURS else lambda event: str(event.data),
            each.data_only,
        )
        for each in framers()
    ]
