"""Keys lie in requests; they show up in nothing that untorn says, keeps or hands on."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from types import ModuleType, SimpleNamespace
from typing import Any

import aiohttp
import httpx2
import pytest
from served import DIALECT, Peer, everything_said, read, served, sse, unexpected

from untorn import Interrupted, UnexpectedResponse
from untorn.dialects import Sse
from untorn.discreet import forget_secrets
from untorn.hidden import Hiding
from untorn.http import HttpAttribute, RequestSource, connect, open_response, stream
from untorn.secrets import SECRETS, keys_of

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

    async def add(request: Any) -> None:
        request.headers["X-Other"] = f"{KEY}\n"

    async with (
        served(Peer.close) as server,
        library.AsyncClient(event_hooks={"request": [add]}) as client,
    ):
        request = secret(library, server.url) | {"url": server.url}
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


# --- which are keys


def request_with(url: str = "http://test/", **fields: str | bytes) -> Any:
    return httpx2.Request("GET", url, headers=[*fields.items()])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("authorization", f'Token token="{KEY}"'),
        ("authorization", f"Token token={KEY}, other=1"),
        ("authorization", f'Digest username="u", response="{KEY}"'),
        ("authorization", "Basic " + b64encode(f"us\xe9r:{KEY}\xe9".encode("latin-1")).decode()),
        ("authorization", f"{KEY}=="),
        ("x-auth", f"Bearer {KEY}"),
        ("cookie", f'a=b; session="{KEY}"'),
        ("cookie", f'session="{KEY[:5]}\\054{KEY[5:]}"'),
        ("x-goog-api-key", KEY),
        ("xApiKey", KEY),
        ("X-AccessToken", KEY),
    ],
)
def test_what_is_secret_of_a_field(name: str, value: str) -> None:
    """What is between the quotes, and behind the scheme."""
    key = f"{KEY[:5]},{KEY[5:]}" if "054" in value else KEY + "\xe9" * ("Basic" in value)
    assert key in keys_of(SimpleNamespace(headers={name: value}))


def test_each_value_of_a_field_that_was_sent_twice_is_secret() -> None:
    """Whatever the encoding of the one beside it is."""
    headers = httpx2.Headers([("x-key", KEY), ("x-key", "schl\xfcssel".encode()), ("x-b", b"\xff")])
    assert {KEY, "schl\xfcssel"} <= keys_of(SimpleNamespace(headers=headers))


@pytest.mark.parametrize(
    "name", ["max_tokens", "design", "compass", "author", "monkey", "maxTokens", "assign-to"]
)
def test_a_part_of_a_word_tells_nothing(name: str) -> None:
    request = request_with(f"http://test/?{name}=1000000", **{name: "something-else"})
    assert keys_of(request) == set()


def test_names_of_parameters_and_schemes_are_no_secrets() -> None:
    """Nor what is the same for everybody."""
    digest = 'Digest username="u", realm="streams", algorithm="SHA-256", response="6629fae4"'
    hiding = Hiding(request_with(authorization=digest), request_with(x_auth=f"Bearer {KEY}"))
    said = "The response of the algorithm SHA-256 in streams is no Bearer token, username: "
    assert hiding.text(f"{said}6629fae4") == f"{said}[hidden]"


# --- where they show


@pytest.mark.parametrize("key", [f"Bearer {KEY}\u2026", f"{KEY}\u200b"])
async def test_a_header_that_cannot_be_encoded_is_named_and_not_shown(
    library: ModuleType, key: str
) -> None:
    """A key that was copied with more than the key."""
    async with library.AsyncClient() as client:
        more = {"dialect": DIALECT, "headers": {"X-Api": "a", "X-Key": key}}
        for call in (
            lambda: stream(client, "GET", "http://test", **more),
            lambda: connect(client, "http://test", **more),
            lambda: RequestSource(
                client, "GET", "http://test", media_types=["*/*"], headers=[("X-Key", key)]
            ),
        ):
            with pytest.raises(ValueError, match=r"header 'X-Key' is not ASCII; look") as raised:
                call()
            assert not isinstance(raised.value, UnicodeError)
            assert raised.value.__context__ is raised.value.__cause__ is None
        with pytest.raises(ValueError, match="names of its headers") as raised:
            stream(client, "GET", "http://test", dialect=DIALECT, headers={KEY + "\xe9": "a"})
        assert KEY not in str(raised.value)


async def test_a_flow_of_authentication_shows_no_key(library: ModuleType) -> None:
    """Neither that of a request which it makes itself, nor one that cannot be encoded."""

    class Other(library.Auth):  # type: ignore[name-defined,misc]
        def auth_flow(self, request: Any) -> Any:
            yield library.Request("GET", request.url, headers={"Authorization": f"Bearer {KEY}\n"})

    class Odd(library.Auth):  # type: ignore[name-defined,misc]
        def auth_flow(self, request: Any) -> Any:
            request.headers["Authorization"] = f"Bearer {KEY}\u2026"
            yield request

    async with served(Peer.close) as server, library.AsyncClient() as client:
        for auth in (Other(), Odd()):
            opened = stream(client, "GET", server.url, dialect=DIALECT, auth=auth)
            _, outcome = await read(opened)
            assert KEY not in everything_said(outcome) + repr(vars(outcome.error))
            assert KEY not in str(getattr(outcome.error, "object", ""))


async def redirected(peer: Peer) -> None:
    if b"GET /?" in peer.request:
        await peer.head("302 Found", "location: /there")
    else:
        await peer.head("401 No", type="text/plain")
        await peer.chunks(f"The token {KEY} has expired".encode())
    await peer.last()


async def test_a_response_knows_what_was_sent_before_a_redirect(library: ModuleType) -> None:
    async with (
        served(redirected) as server,
        library.AsyncClient(follow_redirects=True) as client,
        client.stream("GET", f"{server.url}?token={KEY}") as response,
    ):
        _, outcome = await read(open_response(response, DIALECT))
    assert unexpected(outcome).message == "The token [hidden] has expired"
    assert KEY not in everything_said(outcome)


@pytest.mark.parametrize("anyio_backend", ["asyncio-real"], indirect=True)
async def test_a_response_of_aiohttp_does_so_too() -> None:
    async with (
        served(redirected) as server,
        aiohttp.ClientSession() as session,
        session.get(f"{server.url}?token={KEY}") as response,
    ):
        _, outcome = await read(open_response(response, DIALECT))
    assert unexpected(outcome).message == "The token [hidden] has expired"


@pytest.mark.parametrize("anyio_backend", ["asyncio-real"], indirect=True)
@pytest.mark.parametrize("size", [*range(50, 82), *range(165, 202), *range(280, 302)])
async def test_what_a_sentence_leaves_out_is_hidden_before(library: ModuleType, size: int) -> None:
    """A reason, a path, a message and a name of the request are cut where they are long."""
    long = "x" * size + KEY

    async def answer(peer: Peer) -> None:
        fields = (f"location: http://test/{long}", f"x-request-id: {long}")
        await peer.head(f"307 {long}", *fields, type="application/json")
        await peer.chunks(json.dumps({"error": long}).replace("Ab", "\\u0041b").encode())
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        source = RequestSource(
            client, "GET", server.url, media_types=["*/*"], headers={"X-Api-Key": KEY}
        )
        with pytest.raises(UnexpectedResponse) as raised:
            await anext(source)
        await source.aclose()
    assert KEY[:6] not in f"{raised.value} {raised.value.message} {raised.value.request_id}"


async def test_a_type_in_lower_case_is_no_key(library: ModuleType) -> None:
    async def answer(peer: Peer) -> None:
        await peer.head(type=f"text/{KEY}; charset=utf-8")
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        opened = stream(client, "GET", server.url, dialect=DIALECT, headers={"X-Api": KEY})
        _, outcome = await read(opened)
    assert unexpected(outcome).media_type == "text/[hidden]"
    assert KEY.lower() not in everything_said(outcome)


@pytest.mark.parametrize("anyio_backend", ["asyncio-real"], indirect=True)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("size", range(7, 14))
async def test_a_body_that_is_capped_inside_a_character(
    library: ModuleType, size: int, encoding: str
) -> None:
    """Of a key, and in either encoding."""
    key = "schl\xfcss\xe9l"

    async def answer(peer: Peer) -> None:
        await peer.head("403 Forbidden", type="text/plain")
        await peer.chunks((b"x" * 4096)[size:] + (key + "yyyyyyy").encode(encoding))
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        headers = {"X-Api-Key": key.encode()}
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT, headers=headers))
    assert unexpected(outcome).body.rstrip(b"y").endswith(b"x[hidden]")


async def test_an_id_that_cannot_be_resumed_from_is_not_quoted(library: ModuleType) -> None:
    async def answer(peer: Peer) -> None:
        await peer.head()
        await peer.chunks(f"id: \x01{KEY}\ndata: a\n\n".encode())
        await peer.close()

    async with (
        served(answer) as server,
        library.AsyncClient() as client,
        connect(client, server.url, dialect=Sse(), headers={"X-Api-Key": KEY}) as feed,
    ):
        async for _ in feed.events():
            pass
    assert isinstance(feed.outcome, Interrupted)
    assert "no header can carry its last id, which has '\\x01' in it" in str(feed.outcome.error)
    assert KEY not in repr(feed.outcome.error)
