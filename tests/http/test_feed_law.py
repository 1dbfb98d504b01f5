"""The law of feeds: wherever connections are cut, the events are those of the feed, each once."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute
from feeds import Service, answer
from flow.backends import run
from hypothesis import given
from hypothesis import strategies as st
from replay import FEED, Entry, Replay, entry, words
from served import Peer, served

from untorn import Cause, Completed, Interrupted
from untorn.dialects import Sse
from untorn.http import Backoff, NotResumable, connect, distinct, messages

DIALECT = Sse(sentinel="END")
AT_ONCE = Backoff(base=0, reconnection=0)
# On the other Pythons every so many bytes are enough: this is a matter of minutes.
STEP = int(os.environ.get("UNTORN_STEP", "1"))
LAST = entry("last", "END")

ids = st.sampled_from(["7", "é", "🦊🦊", "a b", "-", "0", "x:y", "\u2028"])
data = st.lists(st.sampled_from(["", "a", " b ", "从前", ":", "id: 9", "🦊" * 9]), min_size=1)
none: st.SearchStrategy[list[str]] = st.just([])
between = st.sampled_from(["", ": ping\n\n", ":\r\n:\r\n", "retry: 0\n\n", "\n\n", "event: x\n\n"])
eols = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def feeds(draw: st.DrawFn) -> list[Entry]:
    """Feeds in which every event has an id of its own, or stands behind a block that has."""
    entries: list[Entry] = []
    for number, name in enumerate(draw(st.lists(ids, min_size=1, max_size=6))):
        eol = draw(eols)
        fields = draw(st.sampled_from([{}, {"event": "fox"}, {"retry": "0"}]))
        entries.append(
            entry(f"{number}{name}", *draw(data | none), before=draw(between), eol=eol, **fields)
        )
        entries += [
            entry(None, *draw(data), before=draw(between), eol=eol)
            for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2])))
        ]
    return [*entries, LAST]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(feeds(), st.lists(st.integers(0, 120), max_size=12), st.booleans(), st.booleans())
def test_any_feed_however_its_connections_are_cut(
    backend: str, feed: list[Entry], cuts: list[int], inclusive: bool, broken: bool
) -> None:
    """Nothing is lost and nothing comes twice, whether the service repeats the last or not."""
    replay = Replay(feed, inclusive)

    def next_answer() -> httpx2.Response:
        wire = replay.wire(service.asked_for[-1])
        if not cuts:
            return answer(wire)
        return answer(wire[: cuts.pop()], *([httpx2.ReadError("")] if broken else []))

    service: Any = None

    async def read() -> tuple[list[Any], Any]:
        nonlocal service
        service = Service(*[next_answer] * (len(cuts) + 1))
        async with service.connect(dialect=DIALECT, backoff=Backoff(attempts=20)) as opened:
            seen = [words(event) async for event in messages(distinct(opened))]
        return seen, opened.outcome

    seen, outcome = run(backend, read)
    assert isinstance(outcome, Completed)
    assert seen == replay.events


# --- on sockets ------------------------------------------------------------------------


async def _reset(peer: Peer) -> None:
    """Close with a RST."""
    raw = peer._stream.extra(SocketAttribute.raw_socket)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await peer.close()


ENDINGS: list[Callable[[Peer], Awaitable[object]]] = [Peer.last, Peer.close, _reset]


class Cutting:
    """Serves a feed, and cuts each connection: after `first` bytes, then twice as many, ..."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.begin(1)

    def begin(self, first: int) -> None:
        self.first = self.most = first
        self.asked_for: list[str | None] = []

    async def __call__(self, peer: Peer) -> None:
        id = _last_event_id(peer.request)
        self.asked_for.append(id)
        part = self.replay.wire(id)[: self.most]
        self.most *= 2
        await peer.head()
        await peer.chunks(*filter(None, (part[:-1], part[-1:])))
        await ENDINGS[(self.first + len(self.asked_for)) % 3](peer)


def _last_event_id(head: bytes) -> str | None:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b": ")
        if name.lower() == b"last-event-id":
            return value.decode()
    return None


@asynccontextmanager
async def serving(service: Cutting, library: ModuleType) -> AsyncIterator[Callable[[], Any]]:
    """Yield what returns a new feed of this service, not entered yet."""
    async with served(service) as server, library.AsyncClient(verify=False) as client:
        yield lambda: connect(client, server.url, dialect=DIALECT, backoff=AT_ONCE)


@pytest.mark.anyio
@pytest.mark.parametrize("inclusive", [False, True], ids=["behind", "with"])
async def test_a_feed_cut_after_every_byte(library: ModuleType, inclusive: bool) -> None:
    """Over real connections, which end cleanly, end early or break: the events of the feed."""
    replay = Replay(FEED, inclusive)
    service, whole, reconnections = Cutting(replay), replay.events, 0
    async with serving(service, library) as opening:
        for size in range(1, len(replay.wire(None)) + 1, STEP):
            service.begin(size)
            with anyio.fail_after(30):
                async with opening() as feed:
                    seen = [words(event) async for event in messages(distinct(feed))]
            assert seen == whole, size
            assert isinstance(feed.outcome, Completed) and feed.last_event_id == "6"
            reconnections += len(service.asked_for) - 1
    assert reconnections > size // STEP


@pytest.mark.anyio
async def test_a_feed_without_ids_cut_after_every_byte(library: ModuleType) -> None:
    """Up to its first whole event it is asked for again; from there on it says that it is torn."""
    replay = Replay([entry(None, "a"), entry(None, "é"), entry(None, "END")], False)
    service, whole, wire = Cutting(replay), replay.events, replay.wire(None)
    first = wire.index(b"\n\n") + 2
    async with serving(service, library) as opening:
        for size in range(1, len(wire)):
            service.begin(size)
            with anyio.fail_after(30):
                async with opening() as feed:
                    seen = [words(event) async for event in messages(feed.events())]
            assert seen and seen == whole[: len(seen)]
            if size >= first:
                assert service.asked_for == [None]
            if seen != whole:
                assert isinstance(feed.outcome, Interrupted)
                assert feed.outcome.cause in (Cause.EOF, Cause.TRANSPORT)
                assert isinstance(feed.outcome.error, NotResumable)
