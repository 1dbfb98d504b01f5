"""A response is judged before it is framed: by its status, its media type and its codings."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import anyio
import pytest
from served import DIALECT, Peer, read, served, sse, unexpected

from untorn import Clocks, Completed
from untorn.dialects import JsonLines, KubernetesWatch, OllamaChat
from untorn.http import connect, open_response, stream
from untorn.testing import chaos_server

pytestmark = pytest.mark.anyio

WIRE = sse("a", "END")


async def outcome_of(library: ModuleType, wire: bytes, **options: Any) -> Any:
    """Return how a stream ends that a chaos server answers with."""
    async with chaos_server(wire, **options) as server, library.AsyncClient() as client:
        return await read(stream(client, "GET", server.url, dialect=DIALECT))


@pytest.mark.parametrize("status", [200, 201, 202, 203, 206, 226, 299])
async def test_every_status_of_success_is_read(library: ModuleType, status: int) -> None:
    data, outcome = await outcome_of(library, WIRE, status=status)
    assert data == ["a", "END"]
    assert isinstance(outcome, Completed)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (300, "check the request"),
        (302, "check the request"),
        (400, "check the request"),
        (401, "check the key"),
        (403, "check the key"),
        (404, "check the method and the URL"),
        (418, "check the request"),
        (429, "ask again later"),
        (500, "ask again later"),
        (503, "ask again later"),
        (599, "ask again later"),
    ],
)
async def test_every_other_status_fails(library: ModuleType, status: int, advice: str) -> None:
    """Even if what follows looks like a stream; nothing was handed out, so it may be retried."""
    data, outcome = await outcome_of(library, WIRE, status=status)
    assert data == []
    assert outcome.retry_safe
    fault = unexpected(outcome)
    assert (fault.code, fault.status) == ("http-status", status)
    assert (fault.media_type, fault.body) == ("text/event-stream", WIRE)
    assert f"answered {status}" in str(fault)
    assert advice in str(fault)


@pytest.mark.parametrize("status", ["204 No Content", "205 Reset Content"])
async def test_no_content_is_no_stream(library: ModuleType, status: str) -> None:
    async def answer(peer: Peer) -> None:
        await peer.send(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())

    async with served(answer) as server, library.AsyncClient() as client:
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
    fault = unexpected(outcome)
    assert str(fault) == f"The server answered {status}; there is nothing to read [http-status]"


@pytest.mark.parametrize("status", [200, 400])
async def test_json_error_says_what_it_says(library: ModuleType, status: int) -> None:
    """Whatever its status: an answer in JSON is no stream."""
    body = json.dumps({"error": {"message": "No such\nmodel", "code": 7}}).encode()
    headers = {"content-type": "application/json; charset=utf-8", "x-request-id": "req-1"}
    data, outcome = await outcome_of(library, body, status=status, headers=headers)
    assert data == []
    fault = unexpected(outcome)
    assert (fault.message, fault.request_id) == ("No such model", "req-1")
    assert fault.media_type == "application/json"
    assert fault.body == body
    if status == 200:
        assert fault.code == "content-type"
        assert "200 with application/json, not text/event-stream: No such model" in str(fault)
        assert "or name this type in media_types if it is one" in str(fault)
    else:
        assert "400 Bad Request: No such model; check the request" in str(fault)


async def test_page_is_described_by_its_title(library: ModuleType) -> None:
    body = b"<!doctype html><html><title>\n Log&nbsp;in &amp; wait </title><p>...</html>"
    _, outcome = await outcome_of(library, body, headers={"content-type": "text/html"})
    fault = unexpected(outcome)
    assert fault.code == "content-type"
    assert fault.message == "a page titled 'Log in & wait'"
    assert "check the URL, and what stands between" in str(fault)


@pytest.mark.parametrize(
    "kind",
    ["text/event-stream", "Text/Event-Stream; charset=utf-8", "text/event-stream;charset=UTF-8"],
)
async def test_case_and_parameters_make_no_difference(library: ModuleType, kind: str) -> None:
    _, outcome = await outcome_of(library, WIRE, headers={"content-type": kind})
    assert isinstance(outcome, Completed)


async def test_missing_media_type_is_taken_as_it_is(library: ModuleType) -> None:
    async def answer(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(WIRE), WIRE))

    async with served(answer) as server, library.AsyncClient() as client:
        data, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
    assert data == ["a", "END"]
    assert isinstance(outcome, Completed)


@pytest.mark.parametrize(
    ("dialect", "kind", "fits"),
    [
        (JsonLines(eof="completes"), "application/x-ndjson", True),
        (JsonLines(eof="completes"), "application/jsonl", True),
        (JsonLines(eof="completes"), "application/json", False),
        (JsonLines(eof="completes"), "text/event-stream", False),
        (OllamaChat(), "application/x-ndjson", True),
        (KubernetesWatch(), "application/json;stream=watch", True),
        (KubernetesWatch(), "application/x-ndjson", False),
    ],
)
async def test_each_dialect_has_its_types(
    library: ModuleType, dialect: Any, kind: str, fits: bool
) -> None:
    headers = {"content-type": kind}
    async with (
        chaos_server(b"", headers=headers) as server,
        library.AsyncClient() as client,
        stream(client, "GET", server.url, dialect=dialect) as events,
    ):
        async for _ in events.events():
            pass
    failed = getattr(events.outcome, "error", None)
    assert (getattr(failed, "code", None) != "content-type") is fits


@pytest.mark.parametrize("types", [["text/plain"], ["Text/Plain; a=b"], ["text/*"], ["*/*"]])
async def test_types_can_be_named(library: ModuleType, types: list[str]) -> None:
    """In place of the dialect's; `*/*` and `text/*` are ranges."""
    headers = {"content-type": "text/plain"}
    async with chaos_server(WIRE, headers=headers) as server, library.AsyncClient() as client:
        opened = stream(client, "GET", server.url, dialect=DIALECT, media_types=types)
        _, outcome = await read(opened)
        assert isinstance(outcome, Completed)
        opened = stream(client, "GET", server.url, dialect=DIALECT, media_types=["image/*"])
        _, outcome = await read(opened)
        assert unexpected(outcome).code == "content-type"


@pytest.mark.parametrize(
    ("coding", "package"),
    [("br", "brotli"), ("zstd", "backports.zstd"), ("gzip, compress", None)],
)
async def test_undecodable_body_fails(
    library: ModuleType, coding: str, package: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a sentence, and not as garbage."""
    monkeypatch.setattr("untorn.http.content_coding._first_of", lambda *modules: None)
    headers = {"content-encoding": coding}
    data, outcome = await outcome_of(library, b"\x1b\x03\x00", headers=headers)
    assert data == []
    fault = unexpected(outcome)
    assert (fault.code, fault.status, fault.body) == ("content-encoding", 200, b"")
    assert coding.split(", ")[-1] in str(fault)
    assert "Accept-Encoding: gzip" in str(fault)
    assert (f"install the package {package}" in str(fault)) is (package is not None)


async def test_error_in_a_coding_is_readable(library: ModuleType) -> None:
    body = json.dumps({"detail": "Ask less"}).encode()
    headers = {"content-type": "application/json", "retry-after": "2.5"}
    options = {"status": 503, "headers": headers, "content_encoding": "gzip"}
    _, outcome = await outcome_of(library, body, **options)
    fault = unexpected(outcome)
    assert (fault.message, fault.body, fault.retry_after) == ("Ask less", body, 2.5)
    assert str(fault).startswith(
        "The server answered 503 Service Unavailable: Ask less; ask again in 2.5 s"
    )


async def test_endless_error_body_is_capped(library: ModuleType) -> None:
    """4096 bytes are kept, and the connection is closed."""

    async def answer(peer: Peer) -> None:
        await peer.head("500 Internal Server Error", type="text/plain")
        while True:
            await peer.chunks(b"no " * 500)

    async with served(answer) as server, library.AsyncClient() as client:
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
        await server.all_closed()
    assert unexpected(outcome).body == (b"no " * 1366)[:4096]


async def test_no_more_of_an_error_is_waited_for_than_is_kept(library: ModuleType) -> None:
    """With the last byte that is kept it is done."""

    async def answer(peer: Peer) -> None:
        await peer.head("500 Internal Server Error", type="text/plain")
        await peer.chunks(bytes(4096))
        await peer.left()

    async with served(answer) as server, library.AsyncClient() as client:
        with anyio.fail_after(1.5):  # the bound in time is 2 s
            _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
    assert unexpected(outcome).body == bytes(4096)


async def test_stalled_error_body_is_not_waited_for(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came of it in time is kept."""
    monkeypatch.setattr("untorn.http.unexpected._BODY_SECONDS", 0.1)

    async def answer(peer: Peer) -> None:
        await peer.head("500 Internal Server Error", type="text/plain")
        await peer.chunks(b"It is broken")
        await peer.left()

    async with served(answer) as server, library.AsyncClient() as client:
        with anyio.fail_after(5):
            _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
        await server.all_closed()
    assert unexpected(outcome).message == "It is broken"


async def test_broken_error_body_still_is_that_error(library: ModuleType) -> None:
    async def answer(peer: Peer) -> None:
        await peer.head("500 Internal Server Error", type="text/plain")
        await peer.chunks(b"It is bro")
        await peer.close()

    async with served(answer) as server, library.AsyncClient() as client:
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
    assert unexpected(outcome).message == "It is bro"


async def test_redirect_is_followed_only_by_clients_that_do(library: ModuleType) -> None:
    """Otherwise it fails, and says where to ask; not with what secrets."""

    async def answer(peer: Peer) -> None:
        if b" /nowhere" in peer.request:
            await peer.send(
                b"HTTP/1.1 302 Found\r\nlocation: http://[\r\ncontent-length: 0\r\n\r\n"
            )
        elif b" /old" in peer.request:
            location = "location: http://me:hush@127.0.0.1/new?token=hush"
            if b"follow" in peer.request:
                location = "location: /new"
            head = f"HTTP/1.1 307 Temporary Redirect\r\n{location}\r\ncontent-length: 0\r\n\r\n"
            await peer.send(head.encode())
        else:
            await peer.head()
            await peer.chunks(WIRE)
            await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        _, outcome = await read(stream(client, "GET", f"{server.url}nowhere", dialect=DIALECT))
        assert "302 Found; check the request" in str(unexpected(outcome))
        _, outcome = await read(stream(client, "GET", f"{server.url}old", dialect=DIALECT))
        said = str(unexpected(outcome))
        assert "follow redirects, or ask http://127.0.0.1/new instead" in said
        assert "hush" not in said
        url = f"{server.url}old?follow"
        opened = stream(client, "GET", url, dialect=DIALECT, follow_redirects=True)
        data, outcome = await read(opened)
        assert data == ["a", "END"]
        assert isinstance(outcome, Completed)


@pytest.mark.parametrize("clock", ["first_byte", "idle", "progress", "total"])
async def test_status_is_told_before_a_clock_strikes(library: ModuleType, clock: str) -> None:
    """What is known already is no timeout, though the body of the error never comes."""

    async def answer(peer: Peer) -> None:
        await peer.head("401 Unauthorized", type="text/plain")
        await peer.left()

    clocks = Clocks(**{clock: 0.6})
    async with served(answer) as server, library.AsyncClient() as client:
        with anyio.fail_after(20):
            opened = stream(client, "GET", server.url, dialect=DIALECT, clocks=clocks)
            _, outcome = await read(opened)
            assert unexpected(outcome).status == 401
            async with client.stream("GET", server.url) as response:
                _, outcome = await read(open_response(response, DIALECT, clocks=clocks))
            assert unexpected(outcome).status == 401


async def test_refused_feed_is_not_asked_for_again(library: ModuleType) -> None:
    """A 401 whose body stalls is a 401."""

    async def answer(peer: Peer) -> None:
        await peer.head("401 Unauthorized", type="text/plain")
        await peer.left()

    async with served(answer) as server, library.AsyncClient() as client:
        opened = connect(client, server.url, dialect=DIALECT, clocks=Clocks(first_byte=0.6))
        async with opened as feed:
            assert [event async for event in feed.events()] == []
    assert unexpected(feed.outcome).status == 401
    assert len(server.requests) == 1
