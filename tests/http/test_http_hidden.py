"""A key that a service repeats inside a stream is in no outcome, in none of its forms."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Awaitable, Callable, Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import aiohttp
import anyio
import httpx
import httpx2
import pytest
from served import Answer, Peer, everything_said, served

from untorn import (
    Failed,
    Interrupted,
    InvalidJson,
    Limits,
    ServiceError,
    StageError,
    StreamFault,
    open_stream,
)
from untorn.cli.dialects import DIALECTS
from untorn.dialects import JsonSse, Sse, StrictSse
from untorn.discreet import StandIn, forget_secrets
from untorn.frame import SseFrame
from untorn.hidden import Hiding
from untorn.http import RequestSource, connect, open_response, stream
from untorn.http.media_types import media_types_of
from untorn.reduce import Dialect, Reducer
from untorn.secrets import keys_of, secrets_of

pytestmark = pytest.mark.anyio

KEY = "sk-Ab/3+d'Ef<6h"
SAID = f"Wrong key {KEY}"
HEADERS = {"Authorization": f"Bearer {KEY}"}
FORMS = {
    KEY,
    json.dumps(KEY)[1:-1].replace("/", "\\/"),
    KEY.replace("+", "\\u002B").replace("'", "\\u0027").replace("<", "\\u003C"),
    KEY.replace("+", "\\u002b").replace("'", "\\u0027").replace("<", "\\u003c"),
    "sk-Ab%2F3%2Bd%27Ef%3C6h",
    repr(KEY + '"')[1:-2],
}
"""The key as services, their writers of JSON, URLs and Python spell it."""


def event(payload: Any, type: str = "") -> bytes:
    """Return an event with this payload."""
    data = payload if isinstance(payload, str) else json.dumps(payload)
    return (f"event: {type}\n" * bool(type) + f"data: {data}\n\n").encode()


def line(payload: Any) -> bytes:
    return json.dumps(payload).encode() + b"\n"


def message(payload: bytes, **headers: str) -> bytes:
    """Return a message of an AWS event stream."""
    head = b""
    for key, said in headers.items():
        name = b":" + key.replace("_", "-").encode()
        head += bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(said)) + said.encode()
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


IN_ERROR = {"error": {"code": "401", "message": SAID}}
RPC = {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": SAID, "data": [SAID, {KEY: 1}]}}
FAILED = {"state": "TASK_STATE_FAILED", "message": {"parts": [{"text": SAID}]}}
RESPONSE = {"id": "r", "status": "failed", "output": [], **IN_ERROR}
THROWN = message(
    json.dumps({"message": SAID}).encode(), message_type="exception", exception_type="denied"
)
STATUS = {"kind": "Status", "code": 403, "message": SAID}
ERRORS: dict[str, list[bytes]] = {
    "a2a": [
        event(RPC),
        event(SAID, "error"),
        event({"result": {"statusUpdate": {"taskId": "t", "status": FAILED}}}),
        event({"result": {"task": {"id": "t", "status": FAILED}}}),
    ],
    "ai-sdk-ui": [event({"type": "error", "errorText": SAID})],
    "anthropic": [event({"type": "error", **IN_ERROR}, "error"), event(SAID, "error")],
    "bedrock": [THROWN, message(b"", message_type="error", error_code="c", error_message=SAID)],
    "bedrock-anthropic": [THROWN],
    "bedrock-titan": [THROWN],
    "cohere": [
        event({"type": "error", "message": SAID}),
        event({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": SAID}}),
    ],
    "gemini": [
        event(IN_ERROR),
        json.dumps(IN_ERROR, indent=1).encode() + b"\n\n",
        event({"candidates": [{"finishReason": "MALFORMED_RESPONSE", "finishMessage": SAID}]}),
    ],
    "kubernetes": [line({"type": "ERROR", "object": STATUS}), line(STATUS)],
    "langgraph": [event({"error": "E", "message": SAID}, "error"), event(SAID, "error")],
    "mcp": [event(RPC)],
    "mistral": [event(IN_ERROR)],
    "ollama": [line({"error": SAID})],
    "openai-assistants": [
        event({"last_error": {"code": "c", "message": SAID}}, "thread.run.failed"),
        event({"incomplete_details": {"reason": SAID}}, "thread.run.incomplete"),
        event(SAID, "error"),
    ],
    "openai-chat": [
        event(IN_ERROR),
        event(SAID, "error"),
        event({"choices": [{"index": 0, "delta": {"content": "a"}}], **IN_ERROR}),
        event({"choices": None, "error_type": "t", "error_message": SAID}),
    ],
    "openai-responses": [
        event({"type": "error", **IN_ERROR}),
        event({"type": "response.failed", "response": RESPONSE}),
        event({"type": "response.completed", "response": RESPONSE}),
    ],
    "strict-sse": [b"id: 1\n" + event({"type": "error", "message": SAID})],
}
"""Streams in which the service says that something failed, in each way it has."""
SAY_NONE = {"json-lines", "json-sse", "sse", "text-sse"}
"""Dialects to which an error of the service is an event like any other."""


def served_as(dialect: Dialect[Any, Any], *parts: bytes) -> Answer:
    """Return an answer that is a stream of this dialect, of these chunks."""
    kind = min(media_types_of(dialect))

    async def answer(peer: Peer) -> None:
        await peer.head(type=kind)
        await peer.chunks(*parts)
        await peer.last()

    return answer


Read = tuple[list[Any], Any]
"""Events, and the outcome behind them."""
Reads = Callable[[str, Dialect[Any, Any], ModuleType], Awaitable[Read]]


async def by_stream(url: str, dialect: Dialect[Any, Any], library: ModuleType) -> Read:
    async with (
        library.AsyncClient() as client,
        stream(client, "GET", url, dialect=dialect, headers=HEADERS) as events,
    ):
        seen = [event async for event in events.events()]
    return seen, events.outcome


async def by_connect(url: str, dialect: Dialect[Any, Any], library: ModuleType) -> Read:
    async with (
        library.AsyncClient() as client,
        connect(client, url, dialect=dialect, headers=HEADERS) as feed,
    ):
        seen = [event async for event in feed.events()]
    return seen, feed.outcome


async def by_response(url: str, dialect: Dialect[Any, Any], library: ModuleType) -> Read:
    async with (
        library.AsyncClient(headers=HEADERS) as client,
        client.stream("GET", url) as response,
        open_response(response, dialect) as events,
    ):
        seen = [event async for event in events.events()]
    return seen, events.outcome


async def by_source(url: str, dialect: Dialect[Any, Any], library: ModuleType) -> Read:
    async with library.AsyncClient() as client:
        source = RequestSource(client, "GET", url, media_types=["*/*"], headers=HEADERS)
        async with open_stream(source, dialect) as events:
            seen = [event async for event in events.events()]
    return seen, events.outcome


on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio-real"], indirect=True)


async def by_response_as_it_is(url: str, dialect: Dialect[Any, Any], library: ModuleType) -> Read:
    async with (
        library.AsyncClient(headers=HEADERS) as client,
        client.stream("GET", url) as response,
        open_stream(response, dialect) as events,
    ):
        seen = [event async for event in events.events()]
    return seen, events.outcome


every_way = pytest.mark.parametrize(
    "way", [by_stream, by_response, by_response_as_it_is, by_source, by_connect]
)


async def outcome_of(
    way: Reads,
    library: ModuleType,
    dialect: Dialect[Any, Any],
    wire: bytes,
    events: list[Any] | None = None,
) -> Failed[Any]:
    """Read a stream that fails; its events go into the list."""
    async with served(served_as(dialect, wire)) as server:
        seen, outcome = await way(server.url, dialect, library)
        assert KEY.encode() in server.requests[0]
    assert isinstance(outcome, Failed), outcome
    if events is not None:
        events += seen
    return outcome


def assert_hidden(outcome: Failed[Any], *more: str) -> None:
    """Nothing that an outcome can come to has the key, in whatever form."""
    said = everything_said(outcome)
    assert not [form for form in {*FORMS, *more} if form in said]
    assert "[hidden]" in said


def test_every_dialect_is_tried() -> None:
    assert {*ERRORS, *SAY_NONE} == {*DIALECTS}


@every_way
async def test_it_is_hidden_on_every_way(way: Reads, library: ModuleType) -> None:
    """With either client, on every backend."""
    [wire, *_] = ERRORS["anthropic"]
    outcome = await outcome_of(way, library, DIALECTS["anthropic"].dialect(), wire)
    assert str(outcome.error) == (
        "The service reported an error: Wrong key [hidden] [service-error, byte 0]"
    )
    assert_hidden(outcome)


@on_asyncio
@every_way
@pytest.mark.parametrize(
    ("name", "wire"),
    [
        pytest.param(name, wire, id=f"{name}-{number}")
        for name, wires in ERRORS.items()
        for number, wire in enumerate(wires)
    ],
)
async def test_error_of_the_service(way: Reads, name: str, wire: bytes) -> None:
    """It is in the fault alone, in no event and no value, and without the key."""
    events: list[Any] = []
    dialect = DIALECTS[name].dialect()
    outcome = await outcome_of(way, httpx2, dialect, wire, events=events)
    fault = outcome.error
    assert isinstance(fault, ServiceError)
    assert (fault.code, fault.offset) == ("service-error", 0)
    assert "Wrong key [hidden]" in str(fault)
    assert_hidden(outcome)
    assert KEY not in repr(events)


# --- faults of other kinds


class Own(StreamFault):
    """A fault as somebody's dialect may have it."""

    code = "own"
    __slots__ = ("slot",)

    def __init__(self, said: str) -> None:
        super().__init__(f"{said[:10]}...")
        self.slot = said
        self.parts = {"deep": [said, (said,), said.encode(), 1, None]}
        self.like = SimpleNamespace(said=said)
        self.add_note(said)


class Telling(Dialect[Any, None]):
    """A dialect the reducer of which does with a frame what it is told."""

    def __init__(self, tell: Callable[[str], object], *, late: bool = False) -> None:
        self.tell = tell
        self.late = late

    def reducer(self, limits: Limits) -> Reducer[Any, None]:
        return TellingReducer(self)


class TellingReducer(Reducer[Any, None]):
    value = None

    def __init__(self, dialect: Telling) -> None:
        self._dialect = dialect
        self._said = ""

    def feed(self, frame: SseFrame) -> Iterable[Any]:
        self._said = frame[1]
        if not self._dialect.late:
            self._dialect.tell(self._said)
        return ()

    def end(self, ending: Any) -> Iterable[Any]:
        if self._dialect.late:
            self._dialect.tell(self._said)
        return ()


def own(said: str) -> None:
    raise Own(said)


def own_for_a_reason(said: str) -> None:
    try:
        json.loads(said)
    except ValueError as error:
        raise Own("") from error


def bug(said: str) -> None:
    raise OSError(5, f"cannot do {said}", said)


def group(said: str) -> None:
    raise ExceptionGroup(said, [OSError(said)])


class Sealed(Exception):
    """One that says what it was made of, wherever it keeps that."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self._say = lambda: said

    def __str__(self) -> str:
        return self._say()


def sealed(said: str) -> None:
    raise Sealed(said)


def other_bug(said: str) -> None:
    said.encode().decode("ascii" if "\xe9" in said else "utf-16")


@on_asyncio
@every_way
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("tell", [own, own_for_a_reason, bug, other_bug, group, sealed])
async def test_fault_or_bug_of_any_dialect(
    way: Reads, tell: Callable[[str], object], late: bool
) -> None:
    """Whatever it holds, and wherever: in attributes, slots, notes, and the errors behind it."""
    dialect = Telling(tell, late=late)
    fault = (await outcome_of(way, httpx2, dialect, event(f"{SAID} \xe9"))).error
    assert isinstance(fault, Own if tell in (own, own_for_a_reason) else StageError)
    errors: list[BaseException] = [fault]
    errors += [cause for cause in (fault.__cause__, fault.__context__) if cause is not None]
    said = "".join(map(everything_held, errors))
    assert not [form for form in FORMS if form in said]
    if isinstance(fault, Own) and tell is own:
        hidden = "Wrong key [hidden] \xe9"
        assert (fault.slot, fault.__notes__) == (hidden, [hidden])
        assert fault.parts == {"deep": [hidden, f'("{hidden}",)', hidden.encode(), 1, None]}


def everything_held(error: BaseException) -> str:
    """Return all that can be had of an error."""
    names = ("slot", "strerror", "filename", "object", "doc", "msg")
    held = [getattr(error, name, None) for name in names]
    return f"{error} {error!r} {error.args} {vars(error)} {held}"


@on_asyncio
@pytest.mark.parametrize("size", range(40, 90))
async def test_payload_that_is_no_json_and_was_cut(size: int) -> None:
    """A sentence shows its first 77 characters: the key may be cut there."""
    wire = event("x" * size + SAID + "y" * 20)
    outcome = await outcome_of(by_stream, httpx2, JsonSse(), wire)
    fault = outcome.error
    assert isinstance(fault, InvalidJson)
    assert fault.payload == "x" * size + "Wrong key [hidden]" + "y" * 20
    assert_hidden(outcome, KEY[:6])


@on_asyncio
async def test_fault_of_a_framer() -> None:
    """The framer quotes the line, and no reducer has seen it."""
    outcome = await outcome_of(by_stream, httpx2, StrictSse(), f"{SAID}\n".encode())
    assert outcome.error.code == "unsupported-field"
    assert_hidden(outcome)


async def test_events_are_as_the_service_said_them(library: ModuleType) -> None:
    """They are what was asked for, and nothing in them is changed."""
    async with (
        served(served_as(Sse(), event(SAID))) as server,
        library.AsyncClient() as client,
        stream(client, "GET", server.url, dialect=Sse(eof="completes"), headers=HEADERS) as events,
    ):
        assert [each.data async for each in events] == [SAID]


@on_asyncio
async def test_response_of_aiohttp() -> None:
    dialect = DIALECTS["anthropic"].dialect()
    async with (
        served(served_as(dialect, ERRORS["anthropic"][0])) as server,
        aiohttp.ClientSession(headers=HEADERS) as session,
        session.get(server.url) as response,
        open_response(response, dialect) as events,
    ):
        async for _ in events.events():
            pass
    assert isinstance(events.outcome, Failed)
    assert_hidden(events.outcome)


async def test_it_is_hidden_behind_a_redirect(library: ModuleType) -> None:
    """To another host the client does not send the key along, and yet it was sent."""

    async def redirect(peer: Peer) -> None:
        await peer.send(
            f"HTTP/1.1 302 Found\r\nlocation: {there.url}\r\ncontent-length: 0\r\n\r\n".encode()
        )

    dialect = DIALECTS["openai-chat"].dialect()
    async with (
        served(served_as(dialect, *ERRORS["openai-chat"][:1])) as there,
        served(redirect) as server,
        library.AsyncClient(follow_redirects=True) as client,
        stream(client, "GET", server.url, dialect=dialect, headers=HEADERS) as events,
    ):
        async for _ in events.events():
            pass
        assert b"authorization" not in there.requests[0].lower()
    assert isinstance(events.outcome, Failed)
    assert_hidden(events.outcome)


async def test_error_of_a_hook_forgets_the_request(library: ModuleType) -> None:
    """A hook raises for a status: its error has the response, and that the request."""

    async def refuse(peer: Peer) -> None:
        await peer.head("401 No")
        await peer.last()

    async def hook(response: Any) -> None:
        response.raise_for_status()

    async with (
        served(refuse) as server,
        library.AsyncClient(event_hooks={"response": [hook]}) as client,
        stream(client, "GET", server.url, dialect=Sse(), headers=HEADERS) as events,
    ):
        async for _ in events.events():
            pass
    outcome = events.outcome
    assert isinstance(outcome, Interrupted)
    assert isinstance(outcome.error, library.HTTPStatusError)
    assert outcome.error.response.status_code == 401
    assert KEY not in everything_said(outcome)


async def test_broken_transport_of_a_response_as_it_is(library: ModuleType) -> None:
    """The client's error carries the request along, which would be pickled with it."""

    async def break_off(peer: Peer) -> None:
        await peer.head()
        await peer.chunks(event("a"))
        await peer.close()

    async with served(break_off) as server:
        seen, outcome = await by_response_as_it_is(server.url, Sse(), library)
    assert len(seen) == 1
    assert isinstance(outcome, Interrupted)
    assert isinstance(outcome.error, library.RemoteProtocolError)
    assert KEY not in everything_said(outcome)


async def test_response_that_knows_no_request(library: ModuleType) -> None:
    """It was made and not received: nothing is secret of it."""
    response = library.Response(200, content=ERRORS["openai-chat"][0])
    async with open_stream(response, DIALECTS["openai-chat"].dialect()) as events:
        async for _ in events.events():
            pass
    assert isinstance(events.outcome, Failed)
    assert SAID in str(events.outcome.error)


async def test_what_cannot_be_changed_is_not_handed_on(library: ModuleType) -> None:
    """Not by a stream, and not by a source that is read as it is."""
    client = library.AsyncClient(transport=library.MockTransport(lambda request: sealed(SAID)))
    async with stream(client, "GET", "http://test", dialect=Sse(), headers=HEADERS) as events:
        async for _ in events.events():
            pass
    assert isinstance(events.outcome, Interrupted)
    assert repr(events.outcome.error) == "StandIn('Sealed: Wrong key [hidden]')"
    source = RequestSource(client, "GET", "http://test", media_types=["*/*"], headers=HEADERS)
    with pytest.raises(StandIn, match="Sealed: Wrong key") as raised:
        await anext(source)
    assert raised.value.__context__ is None
    await source.aclose()
    await client.aclose()


async def test_what_a_response_raises_when_it_is_closed_has_no_key() -> None:
    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield event("a")
            await anyio.sleep_forever()

        async def aclose(self) -> None:
            raise Sealed(SAID)

    def answer(request: Any) -> Any:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client,
        stream(client, "GET", "http://test", dialect=Sse(), headers=HEADERS) as events,
    ):
        async for _ in events.events():
            break
    assert isinstance(events.close_error, StandIn)
    assert KEY not in repr(events.close_error)


# --- alone


def request_with(**headers: str) -> Any:
    return httpx2.Request("GET", "http://test/", headers=headers)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_each_form_is_hidden(form: str) -> None:
    request = request_with(authorization=f"Bearer {KEY}")
    assert Hiding(request).text(f"It is {form}.") == "It is [hidden]."


def test_what_nests_deeper_than_python_recurses() -> None:
    """How deep a payload nests is for the service to say."""
    raw: Any = KEY
    for _ in range(100_000):
        raw = [raw]
    fault = ServiceError(None, raw=raw)
    forget_secrets(fault, request_with(authorization=KEY))
    found = fault.raw
    while isinstance(found, list):
        [found] = found
    assert found == "[hidden]"


def test_what_programs_go_by_stays() -> None:
    """A code is ours, not the service's, and so is the kind of a value."""
    fault = StreamFault("no")
    fault.code = "invalid-json"
    fault.number, fault.truth, fault.nothing = 123456, True, None  # type: ignore[attr-defined]
    before = dict(vars(fault))
    forget_secrets(fault, request_with(a="invalid-json", b="123456"))
    assert vars(fault) == before


def test_the_payload_of_an_event_is_not_changed_with_the_fault() -> None:
    """It may be part of what was handed out before."""
    payload = {"message": KEY}
    fault = ServiceError(KEY, raw=payload)
    forget_secrets(fault, request_with(authorization=KEY))
    assert (fault.raw, payload) == ({"message": "[hidden]"}, {"message": KEY})


def test_keys_are_fewer_than_what_may_be_secret() -> None:
    request = request_with(authorization=f"Bearer {KEY}", model="gpt-large-1")
    assert KEY in keys_of(request)
    assert "gpt-large-1" not in keys_of(request)
    assert {KEY, "gpt-large-1"} <= {*secrets_of(request)}
