"""The application that the real servers serve: it relays whatever upstream it is told."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from untorn import EventStream, open_stream
from untorn.dialects import Sse, SseState
from untorn.event import ServerSentEvent
from untorn.http import stream
from untorn.relay import Cancel, Detach, Drain, Report
from untorn.relay.starlette import RelayResponse

REPORTS = Path(os.environ["RELAY_REPORTS"])
DIALECT = Sse(sentinel="END")
# The relays that have not reported yet.
open_relays: set[Any] = set()
# The task group of the process, for what outlives its request; and its client.
groups: list[Any] = []
clients: list[httpx2.AsyncClient] = []
# What lies in the kernel is not to hide what lies with us.
SMALL_BUFFER = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)]


def new_client() -> httpx2.AsyncClient:
    transport = httpx2.AsyncHTTPTransport(socket_options=SMALL_BUFFER)
    return httpx2.AsyncClient(timeout=60, transport=transport)


def upstream(request: Request) -> Any:
    """Return the upstream of the query, in one of two ways."""
    url = request.query_params["upstream"]
    if "http" in request.query_params:
        return stream(clients[0], "GET", url, dialect=DIALECT)
    return own_upstream(url)


@asynccontextmanager
async def own_upstream(url: str) -> AsyncIterator[EventStream[ServerSentEvent, SseState]]:
    """Ask a service in one's own way; nothing is sent before it is entered."""
    async with (
        new_client() as client,
        client.stream("GET", url) as response,
        open_stream(response, DIALECT) as events,
    ):
        yield events


def policy(request: Request) -> Any:
    query = request.query_params
    bounds = {
        "max_bytes": int(query.get("max_bytes", 1024 * 1024)),
        "seconds": float(query.get("seconds", 60)),
    }
    match query.get("policy", "cancel"):
        case "drain":
            return Drain(**bounds)
        case "detach":
            return Detach(groups[0], **bounds)
        case _:
            return Cancel()


async def relay(request: Request) -> Response:
    """Relay the upstream of the query, and note what became of it."""
    query = request.query_params

    def note(report: Report) -> None:
        open_relays.discard(note)
        line = {
            "name": query.get("name", ""),
            "outcome": type(report.outcome).__name__,
            "cause": getattr(getattr(report.outcome, "cause", None), "value", None),
            "sent": report.sent,
            "delivered": report.delivered,
            "client_left": report.client_left,
            "at": time.monotonic(),
        }
        with REPORTS.open("a") as file:
            file.write(json.dumps(line) + "\n")

    open_relays.add(note)
    return RelayResponse(
        upstream(request),
        on_leave=policy(request),
        on_end=note,
        keepalive=float(query.get("keepalive", 15)),
        head_wait=float(query.get("head_wait", 15)),
    )


async def pid(request: Request) -> Response:
    """Say which process answers: a server may have several."""
    return Response(str(os.getpid()))


class Passing(BaseHTTPMiddleware):
    """A middleware of the kind that wraps `receive` and `send`."""

    async def dispatch(self, request: Request, call_next: Any) -> Response:
        return await call_next(request)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Have a task group for what outlives its request, and wait for all at the end."""
    async with new_client() as client, anyio.create_task_group() as group:
        clients.append(client)
        groups.append(group)
        yield
        group.cancel_scope.cancel()
    for _ in range(200):
        if open_relays:
            await anyio.sleep(0.01)


ROUTES = [Route("/relay", relay, methods=["GET", "POST"]), Route("/pid", pid)]
app = Starlette(
    routes=[
        *ROUTES,
        Mount("/wrapped", Starlette(routes=ROUTES, middleware=[Middleware(Passing)])),
    ],
    lifespan=lifespan,
)
