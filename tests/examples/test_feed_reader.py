"""The feed reader has every item once, whatever is cut and whoever is killed."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest

pytest.importorskip("httpx2")

from untorn.http import connect

from .programs import functions, program, read_until, until

ITEMS = 40


class Service(ThreadingHTTPServer):
    """Forty items, from the one that was named on, and cut behind so many or in the next."""

    daemon_threads = True

    def __init__(self, at_once: int) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.at_once = at_once
        self.limit = ITEMS
        """The last item that it has by now; it waits for the others."""
        self.asked_for: list[str | None] = []


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        named = self.headers["Last-Event-ID"]
        self._service.asked_for.append(named)
        first = int(named or 1)  # the one that was named comes again, as of some services
        self.send_response(200 if first < ITEMS else 204)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if first < ITEMS:
            self._send(first)

    def _send(self, first: int) -> None:
        try:
            for number in range(first, min(first + self._service.at_once, ITEMS) + 1):
                while number > self._service.limit:
                    time.sleep(0.01)
                self.wfile.write(event(number))
            self.wfile.write(event(0)[: len(self._service.asked_for) % 40])  # and a torn one
        except ConnectionError:
            pass  # killed

    @property
    def _service(self) -> Service:
        assert isinstance(self.server, Service)
        return self.server

    def log_message(self, format: str, *args: object) -> None:
        pass


def event(number: int) -> bytes:
    item = {"meta": {"id": f"i{number}"}, "wiki": "w", "title": f"第{number}"}
    return f"retry: 1\nid: {number}\ndata: {json.dumps(item)}\n\n".encode()


@contextmanager
def service(at_once: int) -> Iterator[tuple[str, Service]]:
    with Service(at_once) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", server
        finally:
            server.shutdown()
            thread.join()


def kept(file: Path) -> tuple[list[int], str]:
    """Return the numbers of the items in the order in which they were kept, and the last id."""
    with closing(sqlite3.connect(file)) as db:
        items = [json.loads(row[0]) for row in db.execute("select item from items order by rowid")]
        ids = [row[0] for row in db.execute("select last_id from feeds")] or [""]
    return [int(item["meta"]["id"][1:]) for item in items], *ids


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_feed_that_is_cut_is_kept_whole(
    tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every item once and in order, though each connection is cut and repeats one."""
    assert connect.__kwdefaults__ is not None
    monkeypatch.setitem(connect.__kwdefaults__, "random", lambda: 0.0)
    reader = functions("feed_reader")
    with service(at_once=7) as (url, server), closing(reader["Store"](tmp_path / "db", url)) as db:
        anyio.run(reader["follow"], url, db, backend=backend)
    assert kept(tmp_path / "db") == (list(range(1, ITEMS + 1)), str(ITEMS))
    assert server.asked_for == [None, "8", "15", "22", "29", "36", "40"]


def test_a_reader_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """What is kept and the id to go on behind are one at every moment; in the end, all is there."""
    file = tmp_path / "db"
    before: list[str | None] = [None]
    with service(at_once=ITEMS) as (url, server):
        for least in (3, 11, 24):
            server.limit = least + 5
            with program("feed_reader", url, "--db", file) as reader:
                until(partial(has, file, least))
                reader.kill()
                reader.wait()
            items, last = kept(file)
            assert items == list(range(1, int(last) + 1))
            before.append(last)
        server.limit = ITEMS
        with program("feed_reader", url, "--db", file) as reader:
            assert reader.wait(60) == 0
    assert kept(file) == (list(range(1, ITEMS + 1)), str(ITEMS))
    assert [asked for asked in server.asked_for if asked != str(ITEMS)] == before


def has(file: Path, least: int) -> bool:
    try:
        return file.exists() and len(kept(file)[0]) >= least
    except sqlite3.OperationalError:  # no tables yet
        return False


def test_an_item_and_the_id_to_go_on_behind_are_kept_together(tmp_path: Path) -> None:
    """Where the one cannot be written, the other is not either."""
    with closing(functions("feed_reader")["Store"](tmp_path / "db", "x")) as store:
        assert store.keep("1", "i1", {})
        with closing(sqlite3.connect(tmp_path / "db")) as db:
            db.execute("create trigger t before insert on feeds begin select raise(abort, ''); end")
        with pytest.raises(sqlite3.IntegrityError):
            store.keep("2", "i2", {})
        assert store.last_event_id() == "1"
    with closing(sqlite3.connect(tmp_path / "db")) as db:
        assert db.execute("select id from items").fetchall() == [("i1",)]


def test_an_event_without_an_id_of_its_own_is_an_item(tmp_path: Path) -> None:
    """The id of the one before stays in force; that makes them no repetitions."""
    reader = functions("feed_reader")
    db = reader["Store"](tmp_path / "db", "x")
    with closing(db):
        new = [db.keep("7", reader["item_id"]("7", item), item) for item in items("a", "b", "a")]
    assert new == [True, True, False]


def items(*titles: str) -> list[Any]:
    return [{"title": title} for title in titles]


def test_the_demo_goes_on_when_it_is_started_again(tmp_path: Path) -> None:
    """Its feed begins anew each time, and nothing is shown that was shown before."""
    with program("feed_reader", "--demo", "--db", tmp_path / "db") as reader:
        read_until(reader, "+ demowiki: Page 2\n")
        reader.send_signal(signal.SIGINT)
        assert reader.wait(10) == 130
        shown = reader.stdout.read() if reader.stdout else ""
    next_page = 3 + shown.count("Page")
    with program("feed_reader", "--demo", "--db", tmp_path / "db") as reader:
        again = read_until(reader, f"Page {next_page}\n")
    assert again.splitlines()[2:] == [
        f"[connected, behind {next_page - 1}]",
        f"+ demowiki: Page {next_page}",
    ]
