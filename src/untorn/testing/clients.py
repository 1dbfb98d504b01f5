"""Clients by name: how a program reads an answer with each of them, over a real socket.

A client takes an address and the seconds of its own timeout. It returns if it takes what came
for a whole answer, and raises if it notices that it is none. Those that give events leave the
rest to their caller; they are used here in the loop that their documentation shows: parse each
event, and stop at `[DONE]`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Final, TypeAlias

from .adapter import Adapter
from .chat_wires import ANTHROPIC, OPENAI_CHAT, ChatWire

__all__ = ["CLIENTS", "Client", "Read"]

Read: TypeAlias = Callable[[str, float], Awaitable[None]]
"""Reads the answer at an address, with a timeout in seconds wherever the client has one."""

Use: TypeAlias = Callable[[Any], Awaitable[None]]
"""Asks for an answer with a client of a service's SDK, and reads it."""

MESSAGES: Final = [{"role": "user", "content": "Hello"}]
DONE: Final = "[DONE]"


@dataclass(frozen=True, slots=True)
class Client(Adapter[Read]):
    """A client, and the wire that it reads."""

    wire: ChatWire = OPENAI_CHAT


def _http(http: ModuleType, timeout: float | None) -> Any:
    # Loading the certificates would hold up the loop, and there is no TLS on loopback.
    return http.AsyncClient(timeout=timeout, trust_env=False, verify=False)


# --- ours ---------------------------------------------------------------------------


def _untorn_chat() -> Read:
    from ..dialects.openai_chat import OpenAIChat

    return _untorn(OpenAIChat(done="required"))


def _untorn_done_optional() -> Read:
    from ..dialects.openai_chat import OpenAIChat

    return _untorn(OpenAIChat())


def _untorn_anthropic() -> Read:
    from ..dialects.anthropic import AnthropicMessages

    return _untorn(AnthropicMessages())


def _untorn(dialect: Any) -> Read:
    from ..limits import Clocks
    from ..stream import collect

    httpx2 = import_module("httpx2")

    async def read(url: str, timeout: float) -> None:  # noqa: ASYNC109 - the client's own
        async with _http(httpx2, None) as http, http.stream("GET", url) as response:
            outcome = await collect(
                response, dialect, clocks=Clocks(idle=timeout, progress=timeout)
            )
        outcome.unwrap()

    return read


# --- event streams of any kind ------------------------------------------------------


def _httpx2_sse() -> Read:
    httpx2 = import_module("httpx2")

    async def read(url: str, timeout: float) -> None:  # noqa: ASYNC109
        async with _http(httpx2, timeout) as http, http.stream("GET", url) as response:
            async for event in httpx2.EventSource(response):
                if event.data == DONE:
                    return
                json.loads(event.data)

    return read


def _httpx_sse() -> Read:
    httpx, httpx_sse = import_module("httpx"), import_module("httpx_sse")

    async def read(url: str, timeout: float) -> None:  # noqa: ASYNC109
        async with (
            _http(httpx, timeout) as http,
            httpx_sse.aconnect_sse(http, "GET", url) as source,
        ):
            async for event in source.aiter_sse():
                if event.data == DONE:
                    return
                json.loads(event.data)

    return read


def _httpx_lines() -> Read:
    httpx = import_module("httpx")

    async def read(url: str, timeout: float) -> None:  # noqa: ASYNC109
        async with _http(httpx, timeout) as http, http.stream("GET", url) as response:
            async for line in response.aiter_lines():
                if line == f"data: {DONE}":
                    return
                if line.startswith("data: "):
                    json.loads(line.removeprefix("data: "))

    return read


# --- the SDKs of services, which only the session `parity` installs -----------------


def _openai(use: Use) -> Callable[[], Read]:
    return lambda: _sdk(import_module("openai").AsyncOpenAI, use)


def _anthropic(use: Use) -> Callable[[], Read]:
    return lambda: _sdk(import_module("anthropic").AsyncAnthropic, use)


def _sdk(kind: Any, use: Use) -> Read:  # pragma: no cover - run by nox -s parity
    httpx2 = import_module("httpx2")

    async def read(url: str, timeout: float) -> None:  # noqa: ASYNC109
        async with _http(httpx2, timeout) as http:
            await use(
                kind(
                    api_key="sk-none",
                    base_url=url,
                    max_retries=0,
                    timeout=timeout,
                    http_client=http,
                )
            )

    return read


async def _chat_create(sdk: Any) -> None:  # pragma: no cover - run by nox -s parity
    async for _ in await sdk.chat.completions.create(model="m", messages=MESSAGES, stream=True):
        pass


async def _chat_stream(sdk: Any) -> None:  # pragma: no cover - run by nox -s parity
    async with sdk.chat.completions.stream(model="m", messages=MESSAGES) as stream:
        await stream.get_final_completion()


async def _messages_create(sdk: Any) -> None:  # pragma: no cover - run by nox -s parity
    asked = {"model": "m", "max_tokens": 9, "messages": MESSAGES}
    async for _ in await sdk.messages.create(**asked, stream=True):
        pass


async def _messages_stream(sdk: Any) -> None:  # pragma: no cover - run by nox -s parity
    asked = {"model": "m", "max_tokens": 9, "messages": MESSAGES}
    async with sdk.messages.stream(**asked) as stream:
        await stream.get_final_message()


CLIENTS: Final[Mapping[str, Client]] = {
    "untorn": Client('collect, OpenAIChat(done="required")', ("untorn", "httpx2"), _untorn_chat),
    "untorn-done-optional": Client(
        "collect, OpenAIChat()", ("untorn", "httpx2"), _untorn_done_optional
    ),
    "untorn-anthropic": Client(
        "collect, AnthropicMessages()", ("untorn", "httpx2"), _untorn_anthropic, ANTHROPIC
    ),
    "openai": Client(
        "chat.completions.create(stream=True)", ("openai", "httpx2"), _openai(_chat_create)
    ),
    "openai-stream": Client(
        "chat.completions.stream, get_final_completion",
        ("openai", "httpx2"),
        _openai(_chat_stream),
    ),
    "anthropic": Client(
        "messages.create(stream=True)",
        ("anthropic", "httpx2"),
        _anthropic(_messages_create),
        ANTHROPIC,
    ),
    "anthropic-stream": Client(
        "messages.stream, get_final_message",
        ("anthropic", "httpx2"),
        _anthropic(_messages_stream),
        ANTHROPIC,
    ),
    "httpx2": Client("EventSource", ("httpx2",), _httpx2_sse),
    "httpx-sse": Client("aconnect_sse, aiter_sse", ("httpx-sse", "httpx"), _httpx_sse),
    "httpx": Client("aiter_lines", ("httpx",), _httpx_lines),
}
"""All clients, by the names of the packages that they are from."""
