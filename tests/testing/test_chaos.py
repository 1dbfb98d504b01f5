import socket
import zlib
from contextlib import suppress
from typing import Any

import anyio
import httpx
import pytest

from untorn.testing import Ending, Response, chaos, chaos_server

pytestmark = pytest.mark.anyio

WIRE = "data: é\n\ndata: two\n\n".encode()
GET = b"GET /a?b HTTP/1.1\r\nHost: x\r\nX-Y:  z \r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.fixture(params=[("asyncio", {}), ("asyncio", {"use_uvloop": True}), ("trio", {})])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    """Sockets work in real time."""
    return request.param


async def connect(server: Any) -> anyio.abc.SocketStream:
    return await anyio.connect_tcp("127.0.0.1", server.port)


async def read_to_the_end(stream: anyio.abc.SocketStream) -> bytes:
    return b"".join([chunk async for chunk in stream])


async def read_until(stream: anyio.abc.SocketStream, end: bytes) -> bytes:
    received = b""
    while not received.endswith(end):
        received += await stream.receive()
    return received


class TestResponse:
    def test_each_piece_is_one_http_chunk(self) -> None:
        response = Response([b"a", b"bc"])
        assert list(response.body()) == [b"1\r\na\r\n", b"2\r\nbc\r\n", b"0\r\n\r\n"]
        assert response.head() == HEAD

    @pytest.mark.parametrize(
        "ending", [each for each in Ending if each not in (Ending.LAST_CHUNK, Ending.COMMENTS)]
    )
    def test_other_endings_have_no_last_chunk(self, ending: Ending) -> None:
        assert len(list(Response([b"a", b"bc"], ending=ending).body())) == 2

    def test_body_that_ends_with_the_connection_has_no_chunks(self) -> None:
        response = Response([b"a", b"bc"], ending=Ending.CLOSE)
        assert list(response.body()) == [b"a", b"bc"]
        assert b"connection: close\r\n" in response.head()

    def test_comments_come_for_ever(self) -> None:
        body = Response([b"a"], ending=Ending.COMMENTS).body()
        assert [next(body) for _ in range(3)][1:] == [b"8\r\n: ping\n\n\r\n"] * 2

    def test_head_has_status_and_headers(self) -> None:
        head = Response([], 503, {"content-type": "a/b", "retry-after": "1"}).head()
        assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: a/b\r\n")
        assert b"\r\nretry-after: 1\r\n" in head
        assert Response([], 599).head().startswith(b"HTTP/1.1 599\r\n")

    @pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("deflate", 15)])
    @pytest.mark.parametrize("ending", [Ending.CLOSE, Ending.SILENCE, Ending.RESET])
    def test_encoded_pieces_can_be_decoded_at_once(
        self, encoding: Any, wbits: int, ending: Ending
    ) -> None:
        response = Response([b"a", b"bc"], content_encoding=encoding, ending=ending)
        first, second, *end = response.body()
        decoder = zlib.decompressobj(wbits)
        if ending is not Ending.CLOSE:
            first, second = (piece.split(b"\r\n", 1)[1][:-2] for piece in (first, second))
        assert [decoder.decompress(first), decoder.decompress(second)] == [b"a", b"bc"]
        decoder.decompress(b"".join(end))
        assert decoder.eof is (ending is Ending.CLOSE)


class TestEndings:
    async def test_last_chunk_keeps_the_connection_for_the_next_request(self) -> None:
        async with chaos_server(WIRE, cuts=[7]) as server, await connect(server) as stream:
            for _ in range(2):
                await stream.send(GET)
                received = await read_until(stream, b"0\r\n\r\n")
                assert (
                    received == HEAD + b"7\r\ndata: \xc3\r\ne\r\n\xa9\n\ndata: two\n\n\r\n0\r\n\r\n"
                )
        assert [request.connection for request in server.requests] == [0, 0]

    @pytest.mark.parametrize("ending", [Ending.MISSING_LAST_CHUNK, Ending.CLOSE])
    async def test_closed_connection_is_a_proper_end_of_the_socket(self, ending: Ending) -> None:
        async with chaos_server(WIRE, ending=ending) as server, await connect(server) as stream:
            await stream.send(GET)
            received = await read_to_the_end(stream)
            assert received.endswith(b"two\n\n\r\n" if ending.value.startswith("m") else b"two\n\n")

    async def test_reset_is_an_error_at_the_socket(self) -> None:
        reset = chaos_server(WIRE, ending=Ending.RESET)
        async with reset as server, await connect(server) as stream:
            await stream.send(GET)
            with pytest.raises(anyio.BrokenResourceError):
                await read_to_the_end(stream)

    async def test_silence_lasts_until_the_client_leaves(self) -> None:
        silent = chaos_server(WIRE, ending=Ending.SILENCE)
        async with silent as server, await connect(server) as stream:
            await stream.send(GET)
            await read_until(stream, b"two\n\n\r\n")
            await stream.send(b"are you there?")
            await stream.aclose()
            async with await connect(server) as other:
                await other.send(GET)
                await read_until(other, b"two\n\n\r\n")

    async def test_comments_keep_coming(self) -> None:
        pinging = chaos_server(WIRE, ending=Ending.COMMENTS, ping_seconds=0)
        async with pinging as server, await connect(server) as stream:
            await stream.send(GET)
            received = b""
            while received.count(b": ping") < 5:
                received += await stream.receive()

    @pytest.mark.parametrize("ending", [Ending.SILENCE, Ending.COMMENTS, Ending.LAST_CHUNK])
    async def test_leaving_the_block_ends_every_connection(self, ending: Ending) -> None:
        async with chaos_server(WIRE, ending=ending, ping_seconds=0) as server:
            stream = await connect(server)
            await stream.send(GET)
            await read_until(stream, b"\n")
        async with stream:
            # Broken, if something was on its way when the server left.
            with suppress(anyio.BrokenResourceError):
                await read_to_the_end(stream)


@pytest.mark.parametrize("encoding", [None, "gzip", "deflate"])
async def test_http_client_reads_the_wire(encoding: Any) -> None:
    async with (
        chaos_server(WIRE, cuts=range(len(WIRE)), content_encoding=encoding) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        response = await client.post(server.url, content=b"ask" * 1000)
        assert response.content == WIRE
    (request,) = server.requests
    assert (request.method, request.target, request.body) == ("POST", "/", b"ask" * 1000)


async def test_requests_are_recorded() -> None:
    async with chaos_server(b"") as server, await connect(server) as stream:
        for byte in GET:
            await stream.send(bytes([byte]))
        await read_until(stream, b"0\r\n\r\n")
    (request,) = server.requests
    assert (request.method, request.target, request.body) == ("GET", "/a?b", b"")
    assert request.headers == {"host": "x", "x-y": "z"}


@pytest.mark.parametrize(
    "nonsense", [b"hello\r\n\r\n", b"x" * (chaos.HEAD_BYTES + 1), b""], ids=["word", "long", "none"]
)
async def test_what_is_no_request_is_not_answered(nonsense: bytes) -> None:
    async with chaos_server(WIRE) as server, await connect(server) as stream:
        await stream.send(nonsense)
        await stream.send_eof()
        assert await read_to_the_end(stream) == b""
    assert server.requests == []


async def test_client_that_sends_half_a_body_is_answered_all_the_same() -> None:
    async with chaos_server(b"") as server, await connect(server) as stream:
        await stream.send(b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nhalf")
        await stream.send_eof()
        await read_to_the_end(stream)
    assert server.requests[0].body == b"half"


async def test_wire_larger_than_the_sockets_buffers_waits_for_the_reader() -> None:
    wire = b"x" * 8_000_000
    closing = chaos_server(wire, ending=Ending.CLOSE)
    async with closing as server, await connect(server) as stream:
        await stream.send(GET)
        assert (await read_to_the_end(stream)).endswith(wire)


@pytest.mark.parametrize(
    ("delays", "slept"), [(2.5, [2.5, 2.5, 0]), ([1], [1, 0, 0]), ([1, 2, 3], [1, 2, 0])]
)
async def test_pieces_wait_for_their_delays(
    delays: Any, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(chaos, "sleep", sleep)
    delayed = chaos_server(b"ab", cuts=[1], delays=delays)
    async with delayed as server, await connect(server) as stream:
        await stream.send(GET)
        await read_until(stream, b"0\r\n\r\n")
    assert waited == slept


async def test_exception_of_the_block_comes_out_bare() -> None:
    error = KeyError("k")
    with pytest.raises(KeyError) as caught:
        async with chaos_server(WIRE):
            raise error
    assert caught.value is error


async def test_port_can_be_chosen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with chaos_server(WIRE, port=port) as server:
        assert server.url == f"http://127.0.0.1:{port}/"


async def test_server_left_at_once_leaves_no_socket_open() -> None:
    async with chaos_server(WIRE) as server:
        pass
    with pytest.raises(OSError):
        await connect(server)
