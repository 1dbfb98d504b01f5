"""The same response in Starlette and FastAPI, with what they wrap around it."""

import importlib
import sys
from typing import Any

import pytest
from flow.sources import sse

pytest.importorskip("starlette")

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.routing import Mount, Route

from untorn import Cause, Interrupted, ServerSentEvent
from untorn.relay import Relay, Report, last_event_id
from untorn.relay.starlette import RelayResponse
from untorn.testing import Hang, Send, Stall

from .asgi import SCOPE, Played, Server
from .upstreams import Upstream, steady

pytestmark = [
    pytest.mark.anyio,
    # BaseHTTPMiddleware leaves it to the collector, which older versions of trio tell.
    pytest.mark.filterwarnings("ignore:Async generator 'starlette.requests.Request.stream'"),
]

END = b'event: end\ndata: {"outcome":"completed","marker":"END"}\n\n'


def scope_of(path: str, method: str = "GET", headers: Any = ()) -> dict[str, Any]:
    return {
        **SCOPE,
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": list(headers),
        "http_version": "1.1",
        "server": ("x", 80),
        "client": ("y", 1),
        "scheme": "http",
    }


class Passing(BaseHTTPMiddleware):
    async def dispatch(self, request: Request, call_next: Any) -> Any:
        return await call_next(request)


def wrapped(app: Any, middleware: list[Middleware]) -> Starlette:
    return Starlette(routes=[Mount("/", app)], middleware=middleware)


MIDDLEWARE = [
    [],
    [Middleware(Passing)],
    [Middleware(Passing), Middleware(Passing)],
    [Middleware(GZipMiddleware)],
]
wrapping = pytest.mark.parametrize("middleware", MIDDLEWARE, ids=["bare", "one", "two", "gzip"])


async def played(app: Any, server: Server, path: str = "/", **scope: Any) -> Played:
    await app(scope_of(path, **scope), server.receive, server.send)
    return Played(server)


def starlette(upstream: Upstream, reports: list[Report], **terms: Any) -> Starlette:
    async def endpoint(request: Request) -> RelayResponse:
        await request.body()
        return RelayResponse(upstream.manager, on_end=reports.append, **terms)

    return Starlette(routes=[Route("/", endpoint, methods=["GET", "POST"])])


def fastapi(upstream: Upstream, reports: list[Report], **terms: Any) -> Any:
    app = pytest.importorskip("fastapi").FastAPI()

    @app.get("/", response_model=None)
    @app.post("/", response_model=None)
    async def endpoint() -> RelayResponse:
        return RelayResponse(upstream.manager, on_end=reports.append, **terms)

    return app


frameworks = pytest.mark.parametrize("framework", [starlette, fastapi])


@wrapping
@frameworks
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_framework_hands_it_on(framework: Any, middleware: Any, method: str) -> None:
    """As a plain relay would, through whatever middleware."""
    reports: list[Report] = []
    app = wrapped(framework(steady(3, 1.0), reports), middleware)
    server = Server(body=2)
    seen = await played(app, server, method=method, headers=[(b"accept-encoding", b"gzip")])
    assert seen.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "content-encoding" not in seen.headers
    assert seen.body == sse("0", "1", "2", "END") + END
    assert [at for at, part in seen.bodies if part][:2] == [1, 2]
    assert [report.whole for report in reports] == [True]


@wrapping
@frameworks
@pytest.mark.parametrize("leave_at", [0.5, 1.5])
async def test_a_framework_lets_a_client_leave(
    framework: Any, middleware: Any, leave_at: float
) -> None:
    """Before the first event or behind it, the upstream is closed at once, and nothing raised."""
    reports: list[Report] = []
    upstream = Upstream(Stall(1), Send(sse("a")), Hang())
    app = wrapped(framework(upstream, reports), middleware)
    await played(app, Server(leave_at=leave_at))
    assert upstream.closed_at == leave_at
    (report,) = reports
    assert isinstance(report.outcome, Interrupted)
    assert report.outcome.cause in (Cause.ABANDONED, Cause.CANCELLED)
    assert not report.whole


@wrapping
async def test_a_status_goes_through_middleware(middleware: Any) -> None:
    """A bad end before the first event is a 502 there too."""
    app = wrapped(starlette(Upstream(), []), middleware)
    seen = await played(app, Server())
    assert (seen.status, seen.headers["content-type"]) == (502, "application/json")


@wrapping
async def test_only_the_last_event_tells_where_middleware_hides_that_it_broke_off(
    middleware: Any,
) -> None:
    """Starlette's ends the body of what has raised; the page on relays warns of that."""
    reports: list[Report] = []
    app = wrapped(starlette(steady(2, 1.0), reports, encode=_fails_at_one), middleware)
    server = Server()
    with pytest.raises(ZeroDivisionError):
        await played(app, server)
    seen = Played(server)
    assert seen.finished is any(each.cls is Passing for each in middleware)
    assert b"event: end" not in seen.body
    assert [report.delivered for report in reports] == [False]


def _fails_at_one(event: Any) -> ServerSentEvent:
    return ServerSentEvent("message", str(1 / (1 - int(event.data))), "")


def test_without_starlette_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of the extra."""
    for name in ("starlette.background", "starlette.responses"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "untorn.relay.starlette")
    with pytest.raises(ImportError, match=r"needs starlette: pip install 'untorn\[starlette\]'$"):
        importlib.import_module("untorn.relay.starlette")


async def test_headers_and_cookies_can_be_set_on_it() -> None:
    """It is a response like any other."""
    response = RelayResponse(steady(1, 0).manager, headers={"X-Mine": "1"})
    response.headers["X-Mine"] = "2"
    response.set_cookie("a", "b")
    response.raw_headers = [*response.raw_headers, (b"x-more", b"3")]
    seen = await played(response, Server())
    assert (seen.headers["x-mine"], seen.headers["set-cookie"][:3]) == ("2", "a=b")
    assert seen.headers["x-more"] == "3"
    assert (response.status_code, response.media_type) == (200, "text/event-stream")


async def test_a_background_task_runs_behind_it() -> None:
    """When the response is over and reported."""
    order: list[str] = []

    async def background() -> None:
        order.append("background")

    response = RelayResponse(
        steady(1, 0).manager,
        on_end=lambda report: order.append("on_end"),
        background=BackgroundTask(background),
    )
    await played(response, Server())
    assert order == ["on_end", "background"]


async def test_a_relay_is_an_application_that_a_route_can_mount() -> None:
    """Without Starlette's response, an endpoint that is an application does the same."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert last_event_id(scope) == "3"
        await Relay(steady(1, 0).manager)(scope, receive, send)

    mounted = Starlette(routes=[Mount("/feed", app)])
    seen = await played(mounted, Server(), "/feed/", headers=[(b"last-event-id", b"3")])
    assert seen.data[:2] == ["0", "END"]


async def test_an_upstream_may_use_what_the_framework_closes_behind_the_response() -> None:
    """A dependency that yields is closed when the relay is over."""
    fastapi = pytest.importorskip("fastapi")
    app, order = fastapi.FastAPI(), []

    async def client() -> Any:
        yield "client"
        order.append("client is closed")

    @app.get("/", response_model=None)
    async def endpoint(client: str = fastapi.Depends(client)) -> RelayResponse:
        return RelayResponse(
            steady(2, 1.0).manager, on_end=lambda report: order.append("relay is over")
        )

    await played(app, Server())
    assert order == ["relay is over", "client is closed"]
