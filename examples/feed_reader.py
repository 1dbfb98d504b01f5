"""Keep the items of a feed in a database, none lost and none twice, whatever is killed.

    python examples/feed_reader.py --demo
    python examples/feed_reader.py https://stream.wikimedia.org/v2/stream/recentchange

Kill it in any way (`kill -9` too) and start it again: it goes on behind the last item that is
in the database. Each item is written together with the id of its event, in one transaction:
so there is no moment at which the one is there and the other is not. What a service sends
twice, because it begins with the last event again or knows nothing of ids, is kept once.
It needs httpx2.
"""

import argparse
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import httpx2

from untorn import Clocks, JsonEvent, StreamError
from untorn.dialects import JsonSse
from untorn.http import Backoff, Connected, Reconnecting, connect
from untorn.testing import Ending, chaos_server

# Whoever sends a comment every 15 seconds is alive; whoever is silent for three of them is not.
ALIVE = Clocks(idle=45)
FOR_EVER = Backoff(attempts=None)
# Wikimedia wants to know who asks (and so do others who serve feeds for nothing).
WHO = {"user-agent": "feed_reader.py (an example of untorn)"}


TABLES = """
create table if not exists items (feed text, id text, item text, primary key (feed, id));
create table if not exists feeds (feed text primary key, last_id text);
"""


class Store:
    """The items of one feed, and the id of its last event; both or neither."""

    def __init__(self, file: Path, feed: str) -> None:
        self._feed = feed
        self._db = sqlite3.connect(file)
        self._db.executescript(TABLES)

    def last_event_id(self) -> str:
        row = self._db.execute("select last_id from feeds where feed = ?", [self._feed]).fetchone()
        return str(row[0]) if row else ""

    def keep(self, last_event_id: str, id: str, item: Any) -> bool:
        """Keep an item and the id to go on behind; say whether the item is new."""
        row = (self._feed, id, json.dumps(item))
        with self._db:  # one transaction
            new = self._db.execute("insert or ignore into items values (?, ?, ?)", row)
            self._db.execute(
                "insert or replace into feeds values (?, ?)", [self._feed, last_event_id]
            )
        return new.rowcount == 1

    def close(self) -> None:
        self._db.close()


async def follow(url: str, store: Store) -> None:
    """Keep what comes, for ever; raises `StreamError` where trying again is of no use."""
    async with (
        httpx2.AsyncClient(headers=WHO) as client,
        connect(
            client,
            url,
            dialect=JsonSse(),
            clocks=ALIVE,
            backoff=FOR_EVER,
            last_event_id=store.last_event_id(),
        ) as feed,
    ):
        async for event in feed:
            match event:
                case Connected():
                    print(f"[connected, behind {event.resumed_from or 'nothing'}]", flush=True)
                case Reconnecting():
                    print(f"[again in {event.delay:.1f} s: {event.reason}]", flush=True)
                case JsonEvent(id, item):
                    if store.keep(feed.last_event_id, item_id(id, item), item):
                        print(f"+ {title(item)}", flush=True)


def item_id(event_id: str | None, item: Any) -> str:
    """Return what an item is known by, however often it comes.

    Wikimedia gives each one an id of its own. An event id alone is not enough: it stays in
    force for the events behind it that have none.
    """
    return str(item["meta"]["id"]) if "meta" in item else f"{event_id} {json.dumps(item)}"


def title(item: Any) -> str:
    return f"{item.get('wiki', '?')}: {item.get('title', '?')}"


# --- a feed of one's own ---------------------------------------------------------


@asynccontextmanager
async def demo() -> AsyncIterator[str]:
    """Serve twenty edits, two in a second, and then comments.

    It begins with the first edit whatever it is asked for, as the worst of services do.
    """
    edits = [edit(number) for number in range(1, 21)]
    async with chaos_server(
        b"".join(edits),
        cuts=edits,
        delays=0.5,
        ending=Ending.COMMENTS,
        ping_seconds=5,
    ) as server:
        yield server.url


def edit(number: int) -> bytes:
    item = {"meta": {"id": f"edit-{number}"}, "wiki": "demowiki", "title": f"Page {number}"}
    return f"event: message\nid: {number}\ndata: {json.dumps(item)}\n\n".encode()


async def follow_demo(store: Store) -> None:
    async with demo() as url:
        print("[twenty edits, two in a second, and then comments alone]", flush=True)
        print("[stop me with Ctrl-C, and start me again: nothing is shown twice]", flush=True)
        await follow(url, store)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", nargs="?", help="the feed: Server-Sent Events with JSON objects")
    parser.add_argument("--demo", action="store_true", help="read a feed that this program serves")
    parser.add_argument("--db", type=Path, default=Path("feed.sqlite3"), help="the database")
    arguments = parser.parse_args()
    if not arguments.demo and arguments.url is None:
        parser.error("give a URL, or --demo")
    with closing(Store(arguments.db, "demo" if arguments.demo else arguments.url)) as store:
        if arguments.demo:
            anyio.run(follow_demo, store)
        else:
            anyio.run(follow, arguments.url, store)


if __name__ == "__main__":
    try:
        main()
    except StreamError as error:
        raise SystemExit(f"The feed has ended: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
