"""Keys lie in requests; they show up in nothing that untorn says, keeps or hands on."""

from __future__ import annotations

import logging
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from served import DIALECT, Peer, everything_said, read, served, sse, unexpected

from untorn.discreet import forget_secrets
from untorn.hidden import Hiding
from untorn.http import HttpAttribute, RequestSource, open_response, stream
from untorn.secrets import SECRETS

pytestmark = pytest.mark.anyio

KEY = "sk-Ab3dEf6h"
PASSWORD = "hunter+2/%"


def secret(library: ModuleType, url: str, **more: str) -> dict[str, Any]:
    """Return a request with keys wherever a request may have them."""
    at = url.replace("http://", f"http://user:{KEY}@") + f"?api_key={KEY}&n=1"
    return {
        "method": "POST",
        "url": at,
        "headers": {"Authorization": f"Bearer {KEY}", "X-Api-Key": KEY, "X-Other": KEY, **more},
        "json": {"key": KEY},
    }


def client_of(library: ModuleType) -> Any:
    return library.AsyncClient(cookies={"session": KEY})


async def refuse(peer: Peer) -> None:
    """Repeat what was sent, in the head and in the body."""
    [path] = [line.split()[1] for line in peer.request.splitlines()[:1]]
    fields = [f"location: http://me:{KEY}@127.0.0.1/?key={KEY}", f"x-request-id: {KEY}"]
    await peer.head(f"403 No {KEY}", *fields, type="text/plain")
    await peer.chunks(b"You sent " + path + b" and " + peer.request)
    await peer.last()


async def break_off(peer: Peer) -> None:
    await peer.head()
    await peer.chunks(sse("a"))
    await peer.close()


@pytest.mark.parametrize("answer", [refuse, break_off, Peer.close])
async def test_keys_show_nowhere(
    library: ModuleType, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever goes wrong, and even if the server repeats what it was sent."""
    caplog.set_level(logging.DEBUG, logger="untorn")
    async with served(answer) as server, client_of(library) as client:
        request = secret(library, server.url)
        async with stream(client, **request, dialect=DIALECT) as events:
            async for _ in events.events():
                pass
        assert KEY.encode() in server.requests[0]
        said = everything_said(events.outcome)
        said += repr(events) + repr(events.value) + repr(events.statistics())
    logged = [record.getMessage() for record in caplog.records if "untorn" in record.name]
    assert KEY not in said + "".join(logged)


async def test_key_with_a_line_end_is_not_quoted(library: ModuleType) -> None:
    """Clients quote the header that they refuse to send; that of a key read from a file."""
    async with served(Peer.close) as server, client_of(library) as client:
        for more in ({"Authorization": f"Bearer {KEY}\n"}, {"X-Other": f"{KEY}\n"}):
            request = secret(library, server.url, **more) | {"url": server.url}
            _, outcome = await read(stream(client, **request, dialect=DIALECT))
            assert isinstance(outcome.error, library.LocalProtocolError)
            said = everything_said(outcome)
            assert KEY not in said
            assert "Illegal header value [hidden]" in said


async def test_source_shows_no_more_than_the_host(library: ModuleType) -> None:
    async with served(refuse) as server, client_of(library) as client:
        source = RequestSource(
            client, **secret(library, f"{server.url}hook/{KEY}"), media_types=["*/*"]
        )
        assert repr(source) == "<RequestSource POST http://127.0.0.1>"
        async with stream(client, **secret(library, server.url), dialect=DIALECT) as events:
            async for _ in events.events():
                pass
            response = events.extra(HttpAttribute.response)
        opened = open_response(response, DIALECT)
        assert KEY not in repr(opened) + repr(opened._source.original)
        assert repr(opened._source.original) == "<ResponseSource: 403>"


async def test_what_is_no_secret_stays(library: ModuleType) -> None:
    """Short words and plain parameters are part of the sentence."""

    async def answer(peer: Peer) -> None:
        await peer.head("404 Not Found", type="text/plain")
        await peer.chunks(b"No model gpt-large-1 for key none")
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        url = f"{server.url}?model=gpt-large-1&key=none"
        _, outcome = await read(stream(client, "GET", url, dialect=DIALECT))
    assert unexpected(outcome).message == "No model gpt-large-1 for key none"


async def test_password_is_hidden_in_each_of_its_forms(library: ModuleType) -> None:
    """As it is, as the URL has it, and as the header that comes of it."""
    client = library.AsyncClient()
    request = client.build_request("GET", "http://user:hunter%2B2%2F%25@test/")
    for form in (PASSWORD, "hunter%2B2%2F%25", "dXNlcjpodW50ZXIrMi8l"):
        assert Hiding(request).text(f"It is {form}.") == "It is [hidden]."
    await client.aclose()


def test_request_of_aiohttp_is_understood() -> None:
    """Its URL has a mapping for a query."""
    url = SimpleNamespace(query={"token": KEY}, query_string=f"token={KEY}")
    request = SimpleNamespace(headers={"Cookie": f"a=b; session={KEY}"}, url=url)
    assert Hiding(request).text(f"{KEY} and a=b") == "[hidden] and a=b"
    assert Hiding(None).text(KEY) == KEY


def test_errors_behind_an_error_are_cleaned() -> None:
    """Causes, contexts, the members of groups, and errors that go round in a circle."""
    request = SimpleNamespace(headers={"authorization": f"Bearer {KEY}"}, url=None)
    first, second, third = (ValueError(f"{kind} {KEY}", 1) for kind in "abc")
    first.__cause__, second.__context__ = second, first
    group = ExceptionGroup("several", [first, third])
    forget_secrets(group, request)
    for error in (first, second, third):
        assert KEY not in repr(error)
        assert error.args[1] == 1


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("application/json", '{"error": "Wrong: sk-Ab\\/3dEf\\u0036h"}'),
        ("text/html", "<title>Wrong: sk-Ab&#47;3dEf6h</title>"),
    ],
)
async def test_key_that_is_escaped_in_the_body_is_not_in_the_message(
    library: ModuleType, kind: str, said: str
) -> None:
    key = "sk-Ab/3dEf6h"

    async def answer(peer: Peer) -> None:
        await peer.head("403 Forbidden", type=kind)
        await peer.chunks(said.encode())
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        headers = {"Authorization": f"Bearer {key}"}
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT, headers=headers))
    assert "Wrong: [hidden]" in (unexpected(outcome).message or "")
    assert key not in everything_said(outcome)


async def test_key_where_the_body_is_capped_is_hidden(library: ModuleType) -> None:
    """Most of a key is as good as all of it."""

    async def answer(peer: Peer) -> None:
        await peer.head("403 Forbidden", type="text/plain")
        await peer.chunks(b"x" * (4096 - len(KEY) + 1) + KEY.encode())
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        headers = {"X-Api-Key": KEY}
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT, headers=headers))
    assert unexpected(outcome).body.endswith(b"x[hidden]")


async def test_key_of_the_query_is_hidden_in_each_of_its_forms(library: ModuleType) -> None:
    """As it is, as the URL has it, and as others write it in a URL."""
    client = library.AsyncClient()
    request = client.build_request("GET", "http://test/?n=1&api_key=Ab/3%2Bd+f%26h")
    for form in ("Ab/3+d f&h", "Ab/3%2Bd+f%26h", "Ab%2F3%2Bd%20f%26h"):
        assert Hiding(request).text(f"It is {form}.") == "It is [hidden]."
    await client.aclose()


def test_password_is_hidden_where_the_header_has_it() -> None:
    """Also if the client was given it as `auth`."""
    headers = {"authorization": "Basic dXNlcjpodW50ZXIrMi8l"}
    request = SimpleNamespace(headers=headers, url=None)
    assert Hiding(request).text(f"Wrong password {PASSWORD}") == "Wrong password [hidden]"


def test_names_of_schemes_and_cookies_are_no_secrets() -> None:
    headers = {"Authorization": f"Bearer {KEY}", "Cookie": f"session={KEY}=1; theme=default"}
    request = SimpleNamespace(headers=headers, url=None)
    said = Hiding(request).text(f"Your session is over; a Bearer is {KEY}, not {KEY}=1")
    assert said == "Your session is over; a Bearer is [hidden], not [hidden]"


@pytest.mark.parametrize("name", ["X-Api", "Openai-Organization", "X-Anything"])
async def test_value_of_any_header_is_hidden(library: ModuleType, name: str) -> None:
    """Whatever its name is; but not those that say what is asked for."""
    client = library.AsyncClient()
    headers = {name: KEY, "Accept": "text/event-stream", "User-Agent": "my-program"}
    request = client.build_request("GET", "http://test/", headers=headers)
    said = f"{KEY}: my-program of test wants text/event-stream"
    assert Hiding(request).text(said) == said.replace(KEY, "[hidden]")
    await client.aclose()


async def test_what_the_request_names_is_hidden(library: ModuleType) -> None:
    """In a body or a path, in each of its forms."""
    client = library.AsyncClient()
    secret = 'Ab/3 "+é'
    request = client.build_request("GET", "http://test/", extensions={SECRETS: [secret, "short"]})
    for form in (secret, "Ab%2F3%20%22%2B%C3%A9", 'Ab/3 \\"+é', 'Ab/3 \\"+\\u00e9'):
        assert Hiding(request).text(f"It is {form}, short.") == "It is [hidden], short."
    await client.aclose()


async def test_key_in_place_of_a_type_is_hidden(library: ModuleType) -> None:
    async def answer(peer: Peer) -> None:
        await peer.head(type=f"text/{KEY.lower()}")
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        headers = {"X-Api": KEY.lower()}
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT, headers=headers))
    assert unexpected(outcome).media_type == "text/[hidden]"
