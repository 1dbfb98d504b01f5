"""The gateway with a page that asks by itself, of services that end in different ways."""

from __future__ import annotations

import os
import runpy
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import fastapi
from fastapi.responses import HTMLResponse

from untorn.testing import Ending, chaos_server

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
GATEWAY: dict[str, Any] = runpy.run_path(str(EXAMPLES / "gateway.py"))
PIECES: list[bytes] = GATEWAY["demo_pieces"]()

gateway: fastapi.FastAPI = GATEWAY["make_app"](None, Path(os.environ["GATEWAY_DB"]))
services: dict[str, Any] = {}
results: list[Any] = []


@asynccontextmanager
async def lifespan(app: fastapi.FastAPI) -> AsyncIterator[None]:
    servers = {
        "whole": chaos_server(b"".join(PIECES), cuts=PIECES, delays=0.02),
        "cut": chaos_server(b"".join(PIECES[:7]), ending=Ending.MISSING_LAST_CHUNK),
        "refused": chaos_server(b"no", status=401),
    }
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(gateway.router.lifespan_context(gateway))
        for name, server in servers.items():
            await stack.enter_async_context(server)
            services[name] = GATEWAY["Service"](server.url, "m")
        yield


app = fastapi.FastAPI(lifespan=lifespan)


@app.get("/test")
async def page() -> HTMLResponse:
    script = (HERE / "gateway_page.js").read_text()
    html = (EXAMPLES / "gateway.html").read_text()
    return HTMLResponse(f'{html}<script type="module">{script}</script>')


@app.post("/use/{name}")
async def use(name: str) -> None:
    gateway.state.service = services[name]


@app.post("/results")
async def take(request: fastapi.Request) -> None:
    results.append(await request.json())


@app.get("/results")
async def give() -> list[Any]:
    return results


app.mount("/", gateway)
