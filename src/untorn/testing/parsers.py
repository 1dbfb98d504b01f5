"""Parsers of others, and ours, in the shape that `assert_untorn` takes: by name.

The parsers of client libraries are reached as a program reaches them, through the public
calls of the library, over a transport in memory that answers with the chunks. What comes out
are the library's own events; those of an event stream as mappings, for some classes of them
show their fields in properties only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .adapter import Adapter
from .answer import Chunks, Parse

if TYPE_CHECKING:
    from ..reduce import Dialect

__all__ = ["OURS", "PARSERS"]

ParserOf: TypeAlias = "Callable[[Dialect[Any, Any]], Parse]"
"""Makes the parser of a dialect; one that reads a single wire pays no heed to it."""

HEADERS: Final = {"content-type": "text/event-stream"}
MESSAGES: Final = [{"role": "user", "content": "Hello"}]
URL: Final = "http://untorn.test"


# --- ours ---------------------------------------------------------------------------


def untorn_parse(dialect: Dialect[Any, Any]) -> Parse:
    """Return our plain reader, `untorn.parse`."""
    from ..fold import parse

    return lambda chunks: parse(chunks, dialect)


def untorn_stream(dialect: Dialect[Any, Any]) -> Parse:
    """Return our asynchronous pipeline, `untorn.open_stream`."""
    from ..stream import open_stream

    async def events(chunks: Chunks) -> AsyncIterator[Any]:
        async with open_stream(chunks, dialect) as stream:
            async for event in stream:
                yield event

    return events


# --- event streams of any kind ------------------------------------------------------


def _httpx_sse() -> ParserOf:
    httpx, httpx_sse = import_module("httpx"), import_module("httpx_sse")
    return _events(lambda chunks: httpx_sse.EventSource(_response(httpx, chunks)).iter_sse())


def _httpx2_sse() -> ParserOf:
    httpx2 = import_module("httpx2")
    return _events(lambda chunks: httpx2.EventSource(_response(httpx2, chunks)))


def _sseclient() -> ParserOf:
    sseclient = import_module("sseclient")
    return _events(lambda chunks: sseclient.SSEClient(chunks).events())


def _launchdarkly() -> ParserOf:
    """Without its reconnecting: a stream that ends, ends."""
    client, config = import_module("ld_eventsource"), import_module("ld_eventsource.config")

    def parse(chunks: Chunks) -> Any:
        connection = type("Connection", (config.ConnectionClient,), {})()
        connection.connect = lambda _: config.ConnectionResult(chunks, None)
        strategy = type("Strategy", (config.ConnectStrategy,), {})()
        strategy.create_client = lambda _: connection
        return client.SSEClient(strategy).events

    return _events(parse, "event", "data", "last_event_id")


def _events(parse: Callable[[Chunks], Iterable[Any]], *fields: str) -> ParserOf:
    """Return the parser of an event stream, whose events have these fields."""
    names = fields or ("event", "data", "id", "retry")

    def events(chunks: Chunks) -> Iterator[dict[str, Any]]:
        for event in parse(chunks):
            yield {name: getattr(event, name) for name in names}

    return _for_all(events)


# --- the SDKs of services, which only the session `parity` installs -----------------


def _openai() -> ParserOf:  # pragma: no cover - run by nox -s parity
    openai, httpx2 = import_module("openai"), import_module("httpx2")

    def parse(chunks: Chunks) -> Any:
        sdk = openai.OpenAI(
            api_key="sk-none", base_url=URL, max_retries=0, http_client=_http(httpx2, chunks)
        )
        return sdk.chat.completions.create(model="none", messages=MESSAGES, stream=True)

    return _for_all(parse)


def _anthropic() -> ParserOf:  # pragma: no cover - run by nox -s parity
    anthropic, httpx2 = import_module("anthropic"), import_module("httpx2")

    def parse(chunks: Chunks) -> Any:
        sdk = anthropic.Anthropic(
            api_key="sk-none", base_url=URL, max_retries=0, http_client=_http(httpx2, chunks)
        )
        asked = {"model": "none", "max_tokens": 1, "messages": MESSAGES}
        return sdk.messages.create(**asked, stream=True)

    return _for_all(parse)


def _mistralai() -> ParserOf:  # pragma: no cover - run by nox -s parity
    mistralai, httpx2 = import_module("mistralai.client"), import_module("httpx2")

    def parse(chunks: Chunks) -> Any:
        sdk = mistralai.Mistral(api_key="none", server_url=URL, client=_http(httpx2, chunks))
        return sdk.chat.stream(model="none", messages=MESSAGES)

    return _for_all(parse)


def _google_genai() -> ParserOf:  # pragma: no cover - run by nox -s parity
    genai, httpx2 = import_module("google.genai"), import_module("httpx2")

    def parse(chunks: Chunks) -> Any:
        options = {"base_url": URL, "httpx_client": _http(httpx2, chunks)}
        sdk = genai.Client(api_key="none", http_options=options)
        return sdk.models.generate_content_stream(model="none", contents="Hello")

    return _for_all(parse)


def _for_all(parse: Callable[[Chunks], Any]) -> ParserOf:
    return lambda _: parse


def _http(http: ModuleType, chunks: Chunks) -> Any:  # pragma: no cover - run by nox -s parity
    """Return a client of httpx2 whom every service answers with `chunks`."""
    transport = http.MockTransport(lambda _: _response(http, chunks))
    return http.Client(transport=transport, trust_env=False)


def _response(http: ModuleType, chunks: Chunks) -> Any:
    return http.Response(200, headers=HEADERS, content=chunks, request=http.Request("GET", URL))


OURS: Final[Mapping[str, Adapter[ParserOf]]] = {
    "untorn.parse": Adapter("our reader without I/O", ("untorn",), lambda: untorn_parse),
    "untorn.open_stream": Adapter("our async pipeline", ("untorn",), lambda: untorn_stream),
}
"""Our two readers, which follow the dialect they are given."""

PARSERS: Final[Mapping[str, Adapter[ParserOf]]] = {
    **OURS,
    "httpx-sse": Adapter("EventSource.iter_sse", ("httpx-sse", "httpx"), _httpx_sse),
    "httpx2": Adapter("EventSource", ("httpx2",), _httpx2_sse),
    "sseclient-py": Adapter("SSEClient.events", ("sseclient-py",), _sseclient),
    "launchdarkly-eventsource": Adapter(
        "SSEClient.events", ("launchdarkly-eventsource",), _launchdarkly
    ),
    "openai": Adapter("chat.completions.create(stream=True)", ("openai", "httpx2"), _openai),
    "anthropic": Adapter("messages.create(stream=True)", ("anthropic", "httpx2"), _anthropic),
    "mistralai": Adapter("chat.stream", ("mistralai", "httpx2"), _mistralai),
    "google-genai": Adapter(
        "models.generate_content_stream", ("google-genai", "httpx2"), _google_genai
    ),
}
"""All parsers, by the names of the packages that they are from."""
