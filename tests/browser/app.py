"""The application that the real servers serve: a page, and the feeds that it reads."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from feeds import FEEDS, READ, TYPES, Feed, Tear
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untorn import open_stream
from untorn.dialects import Sse
from untorn.event import ServerSentEvent
from untorn.http import stream
from untorn.relay import Report, SseEncoder, last_event_id
from untorn.relay.starlette import RelayResponse

# What each reader asked for, by the feed and the reader; and what the page has sent.
asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
reports: list[dict[str, Any]] = []
results: list[Any] = []
clients: list[httpx2.AsyncClient] = []


async def feed(request: Request) -> ASGIApp:
    """Relay a feed behind the id that was sent, and end this connection as is its turn."""
    name, reader = request.path_params["name"], request.query_params["reader"]
    visits = asked[f"{name}/{reader}"]
    visit: dict[str, Any] = {"last_event_id": last_event_id(request.scope), "at": time.monotonic()}
    visits.append(visit)
    if name not in READ:
        return refusal(name)
    if READ[name].wire:
        return as_written(READ[name].wire, visit)
    events = READ[name].behind(visit["last_event_id"])
    if not events:
        return Response(status_code=204)
    end = ([*READ[name].ends, None] * 2)[len(visits) - 1]
    if isinstance(end, int):
        events = [event for event in events if READ[name].events.index(event) < end]
    relay = RelayResponse(
        open_stream(wire(READ[name], events), Sse(eof="completes")),
        keepalive=0.05,
        head_wait=0.05,
        last=None,
    )
    return Noted(relay, visit, end if isinstance(end, Tear) else None)


def as_written(wire: bytes, visit: dict[str, Any]) -> ASGIApp:
    if visit["last_event_id"]:
        return Response(status_code=204)
    return Noted(Response(wire, media_type="text/event-stream"), visit, None)


async def wire(feed: Feed, events: list[ServerSentEvent]) -> AsyncIterator[bytes]:
    encoder = SseEncoder()
    for event in events:
        await anyio.sleep(feed.pause)
        yield encoder.encode(event)


def refusal(name: str) -> ASGIApp:
    match name:
        case "no content":
            return Response(status_code=204)
        case "another type":
            return Response("data: x\n\n", media_type="text/plain")
        case _:  # the relay's own, of an upstream that was cut before its first event
            return RelayResponse(open_stream(nothing(), Sse()))


async def nothing() -> AsyncIterator[bytes]:
    for chunk in (b"data: ha",):
        yield chunk


class Noted:
    """A response that notes what it sends and when it ends, and may be torn."""

    def __init__(self, response: ASGIApp, visit: dict[str, Any], tear: Tear | None) -> None:
        self._response = response
        self._visit = visit
        self._tear = tear

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noted(message: Message) -> None:
            body = message.get("body", b"")
            self._visit["keepalives"] = self._visit.get("keepalives", 0) + body.startswith(b":")
            self._visit["ended"] = time.monotonic()
            if self._tear is not None and self._tear.within in body:
                await self._end(body[: body.index(self._tear.within) + 1], self._tear.how, send)
            await send(message)

        try:
            await self._response(scope, receive, noted)
        except Torn:
            if self._tear is None or self._tear.how == "break":
                raise

    async def _end(self, rest: bytes, how: str, send: Send) -> None:
        more = how == "break"
        await send({"type": "http.response.body", "body": rest, "more_body": more})
        raise Torn


class Torn(Exception):
    """A response has ended too early, as it was told."""


async def tab(request: Request) -> ASGIApp:
    """Relay a path of the upstream for a tab that will be closed."""
    path = request.query_params["path"]

    def note(report: Report) -> None:
        reports.append({"path": path, "client_left": report.client_left, "whole": report.whole})

    upstream = stream(clients[0], "GET", os.environ["UPSTREAM"] + path, dialect=Sse())
    return RelayResponse(upstream, on_end=note)


async def page(request: Request) -> Response:
    return FileResponse(Path(__file__).with_name("page.html"))


async def plan(request: Request) -> Response:
    """Say what the page has to read."""
    return JSONResponse({"feeds": FEEDS, "types": TYPES})


async def take_results(request: Request) -> Response:
    results.append(await request.json())
    return Response(status_code=204)


async def seen(request: Request) -> Response:
    """Say all that was seen so far."""
    return JSONResponse({"results": results, "asked": asked, "reports": reports})


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with httpx2.AsyncClient() as client:
        clients.append(client)
        yield


app = Starlette(
    routes=[
        Route("/", page),
        Route("/plan", plan),
        Route("/feeds/{name}", feed),
        Route("/tab", tab),
        Route("/results", take_results, methods=["POST"]),
        Route("/seen", seen),
    ],
    lifespan=lifespan,
)
