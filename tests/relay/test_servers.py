"""A relay on real servers, which notice in their own ways that a client has left."""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from .servers import SERVERS, Server, serve
from .upstream import Asked, Upstream, upstream

APP = Path(__file__).with_name("apps.py")
# What the upstream has to be closed within. A machine that does other things may be late.
AT_ONCE = 0.5

BIG = 1024 * 1024

numbers = count()

for library in ("starlette", "httpx2"):  # of which the application is made
    pytest.importorskip(library)


@dataclass
class Place:
    """A server, the upstream that it relays, and what it reports."""

    server: Server
    upstream: Upstream
    reports: Path

    def ask(self, path: str, **query: Any) -> Visit:
        """Have it relay a path of the upstream; the connection is open when this returns."""
        name = f"n{next(numbers)}"
        path = f"{path}?{name}"
        prefix, buffer = query.pop("prefix", ""), query.pop("buffer", 16 * 1024)
        method, connection = query.pop("method", "GET"), query.pop("connection", "close")
        asked = {"upstream": self.upstream.url + path, "name": name, **query}
        target = f"{prefix}/relay?" + "&".join(f"{k}={quote(str(v))}" for k, v in asked.items())
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.settimeout(10)
        client.connect(("127.0.0.1", self.server.port))
        client.sendall(
            f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\n\r\n".encode()
        )
        return Visit(client, self, path, name)


@dataclass
class Visit:
    """A client and what it asked for."""

    client: socket.socket
    place: Place
    path: str
    name: str

    @property
    def asked(self) -> Asked:
        return self.place.upstream.asked(self.path)

    def read_until(self, what: bytes) -> bytes:
        read = b""
        while what not in read:
            part = self.client.recv(65536)
            assert part, f"it ended with {read[-200:]!r}"
            read += part
        return read

    def read_all(self) -> bytes:
        with closing(self.client):
            return b"".join(iter(lambda: self.client.recv(65536), b""))

    def leave(self, how: str = "close") -> float:
        """Leave, properly or with a reset, and return when."""
        if how == "reset":
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client.close()
        return time.monotonic()

    def closed_after(self, left_at: float) -> float:
        """Return how long after that the upstream was closed."""
        assert self.asked.gone.wait(15), "the upstream was never closed"
        return self.asked.gone_at - left_at

    def reported(self) -> bool:
        """Say whether there is a report already."""
        return bool(_reports(self.place.reports, self.name))

    def report(self) -> dict[str, Any]:
        """Wait for the one report of this request."""
        until = time.monotonic() + 10
        while not (found := _reports(self.place.reports, self.name)):
            assert time.monotonic() < until, "no report"
            time.sleep(0.02)
        (report,) = found
        return report


def _reports(file: Path, name: str) -> list[dict[str, Any]]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [report for line in lines if (report := json.loads(line))["name"] == name]


@pytest.fixture(scope="module", params=SERVERS)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """One server of each kind, for all tests."""
    folder = tmp_path_factory.mktemp("relay")
    reports = folder / "reports"
    with (
        upstream() as asked,
        serve(request.param, APP, folder, env={"RELAY_REPORTS": str(reports)}) as server,
    ):
        yield Place(server, asked, reports)


leaving = pytest.mark.parametrize("how", ["close", "reset"])
# Plain; within a middleware that wraps `receive` and `send`; on an upstream of `untorn.http`.
ways = pytest.mark.parametrize(
    "way", [{}, {"prefix": "/wrapped"}, {"http": 1}], ids=["plain", "middleware", "http"]
)


# --- the three shapes that leak, under Cancel


@leaving
@ways
@pytest.mark.parametrize("path", ["/mute", "/silent"])
def test_a_client_that_leaves_before_the_first_event(
    place: Place, path: str, way: dict[str, Any], how: str
) -> None:
    """The wait for the first event is ours: the upstream is closed at once."""
    visit = place.ask(path, **way)
    assert not visit.asked.gone.wait(0.1)
    assert visit.closed_after(visit.leave(how)) < AT_ONCE
    report = visit.report()
    assert (report["cause"], report["sent"], report["client_left"]) == ("abandoned", 0, True)


@leaving
@ways
@pytest.mark.parametrize("path", ["/one", "/steady"])
def test_a_client_that_leaves_between_events(
    place: Place, path: str, way: dict[str, Any], how: str
) -> None:
    """Whether another comes or not, the upstream is closed at once."""
    visit = place.ask(path, **way)
    visit.read_until(b"\n\n")
    assert visit.closed_after(visit.leave(how)) < AT_ONCE
    report = visit.report()
    assert (report["cause"], report["delivered"], report["client_left"]) == (
        "abandoned",
        False,
        True,
    )


def _stall(visit: Visit) -> int:
    """Wait until the upstream can send no more; return how much it has sent."""
    sent = -1
    while sent != (sent := visit.asked.sent):
        time.sleep(0.3)
    return sent


@leaving
@ways
def test_a_client_that_stalls_and_then_leaves(place: Place, way: dict[str, Any], how: str) -> None:
    """It stalls the upstream while it is there, and holds nothing open when it has gone."""
    visit = place.ask("/flood", **way)
    assert _stall(visit) > 0
    assert visit.closed_after(visit.leave(how)) < AT_ONCE
    assert visit.report()["client_left"] is True


# --- the other policies


@ways
@pytest.mark.parametrize("policy", ["drain", "detach"])
def test_the_rest_is_read_for_nobody_within_its_seconds(
    place: Place, policy: str, way: dict[str, Any]
) -> None:
    """Counted from when the client left."""
    visit = place.ask("/steady", **way, policy=policy, seconds=1)
    visit.read_until(b"\n\n")
    after = visit.closed_after(visit.leave())
    assert 0.9 < after < 1 + AT_ONCE
    report = visit.report()
    assert (report["cause"], report["client_left"]) == ("abandoned", True)


@pytest.mark.parametrize("policy", ["drain", "detach"])
def test_the_rest_is_read_for_nobody_within_its_bytes(place: Place, policy: str) -> None:
    """An upstream that floods is closed long before its seconds are over."""
    visit = place.ask("/flood", policy=policy, seconds=60, max_bytes=100_000)
    _stall(visit)
    assert visit.closed_after(visit.leave()) < 5
    assert visit.report()["cause"] == "abandoned"


@pytest.mark.parametrize("policy", ["drain", "detach"])
def test_a_stalled_client_leaves_a_whole_answer(place: Place, policy: str) -> None:
    """What it did not read is read to its end, and reported as completed and not delivered."""
    visit = place.ask("/large/1000", policy=policy, max_bytes=10_000_000)
    _stall(visit)
    visit.leave("reset")
    report = visit.report()
    assert (report["outcome"], report["delivered"], report["client_left"]) == (
        "Completed",
        False,
        True,
    )


def test_a_client_that_stalls_in_the_last_send_has_not_got_it_all(place: Place) -> None:
    """What waits for it when it resets is not delivered, though that send returns in silence."""
    visit = place.ask("/large/5000")
    _stall(visit)
    visit.leave("reset")
    taken = visit.report()["sent"]
    for asked in range(max(1, taken - 4), taken + 6, 2):
        # hypercorn closes a connection in its last send, which waits for what it has taken.
        visit = place.ask(f"/large/{asked}", connection="keep-alive")
        _stall(visit)
        time.sleep(0.5)  # what the upstream has sent may not be with the server yet
        delivered = visit.reported()
        visit.leave("reset")
        report = visit.report()
        assert (report["delivered"], report["client_left"]) == (delivered, not delivered)
        assert report["sent"] == asked + 1 or not delivered


def test_a_client_that_leaves_with_the_last_event_has_got_it_all(place: Place) -> None:
    """As a page does; it need not wait for the end of the response."""
    visits = []
    for _ in range(30):
        visit = place.ask("/count/3")
        visit.read_until(b"event: end\n")
        visit.leave()
        visits.append(visit)
    reports = [visit.report() for visit in visits]
    assert [(report["sent"], report["delivered"]) for report in reports] == [(4, True)] * 30


# --- what is relayed


@ways
def test_a_whole_stream_is_relayed(place: Place, way: dict[str, Any]) -> None:
    """With its end behind its last event."""
    read = place.ask("/count/500", **way)
    body = read.read_all()
    assert body.startswith(b"HTTP/1.1 200")
    assert body.count(b"data: ") == 502
    assert b'{"outcome":"completed","marker":"END"}' in body
    report = read.report()
    assert (report["sent"], report["delivered"], report["client_left"]) == (501, True, False)


@ways
@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/cut", 200, b'{"outcome":"interrupted","cause":"eof","torn":"frame"}'),
        ("/broken", 502, b'{"error":{"code":"eof",'),
    ],
)
def test_a_cut_stream_says_so(
    place: Place, path: str, status: int, said: bytes, way: dict[str, Any]
) -> None:
    """In the last event, or by a status where there was no first."""
    visit = place.ask(path, **way)
    body = visit.read_all()
    assert body.startswith(b"HTTP/1.1 %d" % status)
    assert said in body
    assert visit.report()["outcome"] == "Interrupted"


def test_silence_is_kept_open(place: Place) -> None:
    """Whether the upstream has answered or not: a head, and comments."""
    for path in ("/mute", "/silent"):
        visit = place.ask(path, head_wait=0.05, keepalive=0.05)
        read = visit.read_until(b": keepalive")
        assert read.startswith(b"HTTP/1.1 200")
        visit.read_until(b": keepalive")
        assert visit.closed_after(visit.leave()) < AT_ONCE


def test_a_head_request_is_answered_without_the_upstream(place: Place) -> None:
    """With the head that a GET would have had, and nothing behind it."""
    visit = place.ask("/one", method="HEAD")
    head, _, body = visit.read_all().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"text/event-stream; charset=utf-8" in head
    assert body == b""
    assert visit.report()["sent"] == 0
    assert not place.upstream.was_asked(visit.path)


# --- bounds


def _resident(pid: int) -> int:
    """Return the bytes of memory that a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def _pid(place: Place) -> int:
    with socket.create_connection(("127.0.0.1", place.server.port)) as client:
        client.sendall(b"GET /pid HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    return int(answer.split()[-1])


def test_a_stalled_client_stops_the_upstream(place: Place) -> None:
    """What was sent to nobody lies in the kernel's buffers, and a little of it with us."""
    visit = place.ask("/flood")
    sent = _stall(visit)
    visit.leave()
    assert sent < _send_buffer() + 1024 * 1024


def _send_buffer() -> int:
    """Return the most that a kernel takes of what a server sends."""
    sysctl = Path("/proc/sys/net/ipv4/tcp_wmem")
    return int(sysctl.read_text().split()[2]) if sysctl.exists() else 4 * 1024 * 1024


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_ten_thousand_events_for_a_slow_client_take_no_memory(place: Place) -> None:
    """40 MB go through a process that grows by a fraction of it."""
    pid = _pid(place)
    place.ask("/large/500", buffer=BIG).read_all()  # what is allocated once is allocated now
    before = peak = _resident(pid)
    visit = place.ask("/large/10000", buffer=BIG)
    read = 0
    with closing(visit.client):
        while part := visit.client.recv(256 * 1024):
            read += len(part)
            if read // 1_000_000 != (read - len(part)) // 1_000_000:
                time.sleep(0.05)
                peak = max(peak, _resident(pid))
    assert read > 40_000_000
    assert peak - before < 8_000_000
    assert visit.report()["delivered"] is True


# --- shutdown


# granian kills a worker that has open requests, hypercorn waits for its clients.
WAITS = {"hypercorn"} if sys.version_info >= (3, 12) else set()


@pytest.mark.parametrize("name", [name for name in SERVERS if name != "granian"])
def test_a_shutdown_reports_what_it_ends(name: str, tmp_path: Path) -> None:
    """A relay that is open is ended by its server, and says so."""
    reports = tmp_path / "reports"
    with (
        upstream() as asked,
        serve(name, APP, tmp_path, env={"RELAY_REPORTS": str(reports)}) as server,
    ):
        visit = Place(server, asked, reports).ask("/one")
        with closing(visit.client):
            visit.read_until(b"\n\n")
            server.process.terminate()
            if name in WAITS:
                visit.leave()
            report = visit.report()
        assert visit.asked.gone.wait(5)
    assert report["cause"] == ("abandoned" if name in WAITS else "cancelled")
    assert report["delivered"] is False
