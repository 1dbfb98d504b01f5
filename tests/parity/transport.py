"""A transport that gives every request the same response, in memory."""

from __future__ import annotations

from types import ModuleType
from typing import Any

MESSAGES: list[Any] = [{"role": "user", "content": "Hello"}]


def transport(http: ModuleType, wire: bytes, media_type: str = "text/event-stream") -> Any:
    """Return a transport of `httpx` or `httpx2` that answers 200 with these bytes."""

    def answer(request: Any) -> Any:
        return http.Response(200, headers={"content-type": media_type}, content=wire)

    return http.MockTransport(answer)


def client(http: ModuleType, wire: bytes, media_type: str = "text/event-stream") -> Any:
    """Return a client of `httpx` or `httpx2` to whom every service answers with these bytes."""
    return http.Client(transport=transport(http, wire, media_type))
