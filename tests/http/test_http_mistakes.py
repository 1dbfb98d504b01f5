"""A request that no client could send is refused at once, and is no failure of the network."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest
from served import DIALECT, read

from untorn.http import RequestSource, connect, stream

KEY = "sk-Ab3dEf6h"
TYPES = ["text/event-stream"]

Ask = Callable[..., Any]


def _connect(client: Any, method: str, url: Any, **request: Any) -> Any:
    return connect(client, url, dialect=DIALECT, method=method, **request)


def _connect_first(client: Any, method: str, url: Any, **request: Any) -> Any:
    return connect(client, url, dialect=DIALECT, first={"method": method, **request})


def _stream(client: Any, method: str, url: Any, **request: Any) -> Any:
    return stream(client, method, url, dialect=DIALECT, **request)


def _source(client: Any, method: str, url: Any, **request: Any) -> Any:
    return RequestSource(client, method, url, media_types=TYPES, **request)


every_way = pytest.mark.parametrize("ask", [_connect, _connect_first, _stream, _source])


@every_way
@pytest.mark.parametrize(
    "url",
    ["", "/", "/x", "x", "htps://x/", "http://", "http:///x", "http:x", "//x/", " http://x/",
     "localhost:8000/x", "file:///x", "ftp://x/"],
)  # fmt: skip
@pytest.mark.parametrize("of_client", [{}, {"base_url": "/a"}])
def test_a_url_that_leads_nowhere_is_refused(
    library: ModuleType, ask: Ask, url: str, of_client: dict[str, Any]
) -> None:
    """Keys may be in it: it is not quoted."""
    client = library.AsyncClient(**of_client)
    for given in (url + f"?key={KEY}", library.URL(url + f"?key={KEY}")):
        with pytest.raises(ValueError, match=r"http:// or https://.*or set base_url") as raised:
            ask(client, "GET", given)
        assert KEY not in repr(raised.value)


@every_way
@pytest.mark.parametrize("url", ["http://x", "HTTPS://x/y?z", "ws://x/", "wss://x/"])
def test_what_clients_can_send_is_not_refused(library: ModuleType, ask: Ask, url: str) -> None:
    ask(library.AsyncClient(), "GET", url)
    ask(library.AsyncClient(proxy="http://proxy.test"), "GET", url)


@every_way
@pytest.mark.parametrize("url", ["", "/x", "x"])
def test_a_base_url_makes_it_whole(library: ModuleType, ask: Ask, url: str) -> None:
    for given in (url, library.URL(url)):
        ask(library.AsyncClient(base_url="https://service.test/v1"), "GET", given)


class _Tunnel(httpx2.AsyncHTTPTransport):
    """A transport of somebody else, which is not judged."""


@every_way
@pytest.mark.parametrize("url", ["http+unix://socket/x", "asgi://app/", "htps://x/"])
def test_transports_of_others_may_know_other_schemes(
    library: ModuleType, ask: Ask, url: str
) -> None:
    """Mounted, or in place of the client's own."""
    transport = library.MockTransport(lambda request: None)
    ask(library.AsyncClient(transport=transport), "GET", url)
    scheme = url.partition("//")[0]
    mounted = library.AsyncClient(mounts={f"{scheme}//": transport})
    ask(mounted, "GET", url)
    with pytest.raises(ValueError, match="http:// or https://"):
        ask(mounted, "GET", "others://x/")
    ask(httpx2.AsyncClient(transport=_Tunnel()), "GET", url)
    back = library.AsyncClient(
        transport=transport, mounts={"all://x": library.AsyncHTTPTransport()}
    )
    ask(back, "GET", "others://y/")
    with pytest.raises(ValueError, match="http:// or https://"):
        ask(back, "GET", "others://x/")


@pytest.mark.anyio
async def test_transports_of_others_have_schemes_of_their_own(library: ModuleType) -> None:
    def handle(request: Any) -> Any:
        return library.Response(200, content=b"data: END\n\n")

    async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
        data, _ = await read(stream(client, "GET", "others://x/", dialect=DIALECT))
    assert data == ["END"]


@every_way
@pytest.mark.parametrize(
    "value",
    [f"{KEY}\n", f"{KEY}\r\n", f" {KEY}", f"{KEY} ", f"\t{KEY}", f"{KEY}\x0b", f"a\x0c{KEY}",
     f"a\0{KEY}", f"a\nX-Other: {KEY}", "Bearer ", " "],
)  # fmt: skip
def test_a_header_that_cannot_be_sent_is_refused(library: ModuleType, ask: Ask, value: str) -> None:
    """As from a key that was read from a file, or from one that is not set; of the client, too."""
    for of_client, headers in (({}, {"X-Key": value}), ({"headers": {"X-Key": value}}, {})):
        client = library.AsyncClient(**of_client)
        with pytest.raises(ValueError, match=r"(?i)header x-key .* strip it") as raised:
            ask(client, "GET", "http://test/", headers=headers)
        assert KEY not in repr(raised.value)


@every_way
@pytest.mark.parametrize("name", ["", "X Key", "X-Key:", f"Authorization: {KEY}", "X\n", "X\r\n"])
def test_a_header_name_that_is_none_is_refused(library: ModuleType, ask: Ask, name: str) -> None:
    """It is not quoted either: a whole line may stand there."""
    with pytest.raises(ValueError, match="A header has a name that none can have") as raised:
        ask(library.AsyncClient(), "GET", "http://test/", headers={name: "x"})
    assert KEY not in repr(raised.value)


@every_way
@pytest.mark.parametrize("value", ["", "a b", "a\tb", "a\x01b", "é".encode(), b"\x80\xff"])
def test_other_headers_are_sent_as_they_are(library: ModuleType, ask: Ask, value: Any) -> None:
    """Whatever the client's own transport lets through."""
    ask(library.AsyncClient(), "GET", "http://test/", headers={"X-Key": value})


@every_way
@pytest.mark.parametrize(
    ("method", "error"),
    [("", ValueError), ("GE T", ValueError), ("GÉT", ValueError), ("GET\n", ValueError),
     (None, TypeError), (5, TypeError), (b"GET", TypeError)],
)  # fmt: skip
def test_a_method_that_is_none_is_refused(
    library: ModuleType, ask: Ask, method: Any, error: Any
) -> None:
    with pytest.raises(error, match=r"method=.*; give .*'GET', 'POST'"):
        ask(library.AsyncClient(), method, "http://test/")


def test_other_methods_are_methods(library: ModuleType) -> None:
    for method in ("get", "QUERY", "M-SEARCH"):
        assert f"RequestSource {method.upper()} " in repr(
            RequestSource(library.AsyncClient(), method, "http://test/", media_types=TYPES)
        )


def test_the_rule_is_that_of_the_clients() -> None:
    """Their transports, as they name them today, are what is judged."""
    for library in (httpx, httpx2):
        transport = library.AsyncClient()._transport_for_url(library.URL("http://test/"))
        assert type(transport) is library.AsyncHTTPTransport
