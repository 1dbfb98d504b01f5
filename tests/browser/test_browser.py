"""A browser's own EventSource and `connect` read the same relay, and get the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("httpx2")
pytest.importorskip("starlette")

import httpx2
from relay.servers import SERVERS, serve
from relay.upstream import Upstream, upstream

from untorn import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Interrupted,
    Outcome,
    ServerSentEvent,
    UnexpectedResponse,
)
from untorn.dialects import Sse, SseState
from untorn.http import Backoff, Reconnecting, connect, distinct

from .chromium import chromium, need_chromium
from .feeds import FEEDS, READ, REFUSALS

APP = Path(__file__).with_name("app.py")
# A browser that starts while the machine does other things may take its time.
PAGE_SECONDS = 90.0
# What the upstream has to be closed within, when the tab is.
AT_ONCE = 0.5

# The standard's own times, and no others: no random time on top, no status tried again.
AS_EVENT_SOURCE = Backoff(base=0, statuses=())
DIALECT = Sse(complete_when="done")

READERS = ("browser", "asyncio", "trio")


@dataclass(frozen=True)
class Got:
    """What one reader got of one feed, and what the server saw of it."""

    events: list[tuple[str, str, str]]
    stopped: bool
    """Whether it stopped by itself, and not for the event `done`."""
    visits: list[dict[str, Any]]
    cuts: list[tuple[Cause, Boundary]]
    """How its connections ended before the last; a browser does not say."""

    @property
    def last_event_ids(self) -> list[str]:
        return [visit["last_event_id"] for visit in self.visits]


@dataclass(frozen=True)
class Seen:
    """All that came of one server."""

    got: dict[tuple[str, str], Got]
    """By the feed and the reader."""
    upstream: Upstream
    killed_at: float
    reports: list[dict[str, Any]]


@pytest.fixture(scope="module", params=SERVERS)
def seen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Seen]:
    """Let the browser and `connect` read all feeds of one server, then kill the browser."""
    need_chromium()
    folder = tmp_path_factory.mktemp("browser")
    with (
        upstream() as asked,
        serve(request.param, APP, folder, env={"UPSTREAM": asked.url}) as server,
    ):
        with chromium(server.url, folder) as browser:
            results = {"browser": page_results(server.url, browser.log)}
            asked.asked("/steady?closed").gone.wait(15)  # not by the kill
            killed_at = browser.kill()
        for backend in READERS[1:]:
            results[backend] = anyio.run(read_all, server.url, backend, backend=backend)
        seen = wait_for(server.url, lambda seen: len(seen["reports"]) == 3)
        yield Seen(all_got(results, seen["asked"]), asked, killed_at, seen["reports"])


def page_results(url: str, log: Path) -> Any:
    results = wait_for(url, lambda seen: seen["results"])["results"]
    assert len(results) == 1, log.read_text()
    assert "error" not in results[0], results
    return results[0]


def wait_for(url: str, done: Any) -> dict[str, Any]:
    until = time.monotonic() + PAGE_SECONDS
    while not done(seen := httpx2.get(f"{url}/seen").json()):
        assert time.monotonic() < until, seen
        time.sleep(0.1)
    return dict(seen)


async def read_all(url: str, reader: str) -> dict[str, Any]:
    async with httpx2.AsyncClient() as client:
        return {name: await read(client, f"{url}/feeds/{name}?reader={reader}") for name in FEEDS}


async def read(client: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    events, cuts = [], []
    with anyio.fail_after(PAGE_SECONDS):
        async with connect(client, url, dialect=DIALECT, backoff=AS_EVENT_SOURCE) as feed:
            async for event in distinct(feed.events()):
                match event:
                    case ServerSentEvent(type, data, id):
                        events.append((type, data, id))
                    case Reconnecting(outcome=Interrupted(cause, torn)):
                        cuts.append((cause, torn))
    return {"events": events, "gaveUp": gave_up(feed.outcome), "cuts": cuts}


def gave_up(outcome: Outcome[SseState] | None) -> bool:
    match outcome:
        case Completed(marker=marker):
            return marker == "204"
        case Failed(UnexpectedResponse()):
            return True
        case _:
            raise AssertionError(outcome)


def all_got(results: dict[str, Any], asked: dict[str, Any]) -> dict[tuple[str, str], Got]:
    return {
        (name, reader): Got(
            [tuple(event) for event in result["events"]],
            result["gaveUp"],
            asked[f"{name}/{reader}"],
            result.get("cuts", []),
        )
        for reader, by_name in results.items()
        for name, result in by_name.items()
    }


readers = pytest.mark.parametrize("reader", READERS)


@readers
@pytest.mark.parametrize("name", READ)
def test_every_event_comes_once_and_as_it_was(seen: Seen, name: str, reader: str) -> None:
    """Types, data and last event ids are those of the feed, however often it was cut."""
    got = seen.got[name, reader]
    assert got.events == [(event.event, event.data, event.id) for event in READ[name].events]


@readers
def test_a_cut_feed_is_asked_for_behind_the_last_whole_event(seen: Seen, reader: str) -> None:
    """A proper end, one inside a character and a broken one: the torn event comes again."""
    got = seen.got["resumed", reader]
    assert got.last_event_ids == ["", "3", "事-4", "6", "9"]
    assert got.stopped


@readers
def test_a_block_with_an_id_and_no_data_moves_the_id(seen: Seen, reader: str) -> None:
    """It is no event, and the next request names it; one without its blank line is nothing."""
    assert seen.got["as written", reader].last_event_ids == ["", "moved"]


@pytest.mark.parametrize("reader", ["asyncio", "trio"])
def test_connect_knows_how_each_connection_was_cut(seen: Seen, reader: str) -> None:
    """The feed is what we mean it to be: these are the cuts that the browser has met, too."""
    assert seen.got["resumed", reader].cuts == [
        (Cause.EOF, Boundary.MESSAGE),
        (Cause.EOF, Boundary.CHARACTER),
        (Cause.TRANSPORT, Boundary.FRAME),
        (Cause.EOF, Boundary.MESSAGE),
    ]


@readers
def test_the_reconnection_time_is_that_of_the_service(seen: Seen, reader: str) -> None:
    """It waits as long as the last `retry` says, and not for the three seconds it has itself."""
    visits = seen.got["resumed", reader].visits
    waits = [after["at"] - before["ended"] for before, after in pairwise(visits)]
    for wait, retry in zip(waits, [0.1, 0.3, 0.3, 0.3], strict=True):
        assert retry - 0.02 < wait < 2.5


@readers
def test_comments_are_no_events(seen: Seen, reader: str) -> None:
    """The relay has filled the silence with comments, and nobody has got one."""
    (visit,) = seen.got["quiet", reader].visits
    assert visit["keepalives"] >= 3
    assert len(seen.got["quiet", reader].events) == 3


@readers
@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_the_end(seen: Seen, name: str, reader: str) -> None:
    """Of a 204, of another content type and of a 502 there is no event and no second request."""
    got = seen.got[name, reader]
    assert got.stopped
    assert got.events == []
    assert got.last_event_ids == [""]


@pytest.mark.parametrize("path", ["/steady?killed", "/one?killed"])
def test_a_tab_that_is_closed_has_its_upstream_closed(seen: Seen, path: str) -> None:
    """At once, whether events come or not; and the report says that the client left."""
    asked = seen.upstream.asked(path)
    assert asked.gone.wait(15), "the upstream was never closed"
    assert 0 < asked.gone_at - seen.killed_at < AT_ONCE
    assert {"path": path, "client_left": True, "whole": False} in seen.reports


def test_a_source_that_the_page_closes_has_its_upstream_closed(seen: Seen) -> None:
    """The tab was open for a while yet."""
    asked = seen.upstream.asked("/steady?closed")
    assert asked.gone.is_set()
    assert asked.gone_at < seen.killed_at
    assert {"path": "/steady?closed", "client_left": True, "whole": False} in seen.reports
