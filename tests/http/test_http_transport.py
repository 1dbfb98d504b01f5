"""What goes wrong below the response, and what happens to the connection, over real sockets."""

from __future__ import annotations

import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import closing
from types import ModuleType
from typing import Any

import anyio
import pytest
from flow.backends import living
from served import DIALECT, Peer, chunk, read, served, sse, unexpected

from untorn import (
    Boundary,
    Cause,
    Clocks,
    Completed,
    Failed,
    Interrupted,
    Limits,
    StreamInterrupted,
)
from untorn.http import stream
from untorn.testing import Ending, chaos_server

pytestmark = pytest.mark.anyio

WHOLE = ["a", "END"]


async def answer_whole(peer: Peer) -> None:
    """Answer with a complete stream."""
    await peer.head()
    await peer.chunks(sse(*WHOLE))
    await peer.last()


async def answer_endless(peer: Peer) -> None:
    """Answer with one event, and then nothing."""
    await peer.head()
    await peer.chunks(sse("a"))
    await peer.left()


def free_port() -> int:
    """Return a port on which nobody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port: int = listener.getsockname()[1]
        return port


def interrupted(outcome: Any, cause: Cause) -> Interrupted[Any]:
    """Return the outcome of a stream that was interrupted for this cause."""
    assert isinstance(outcome, Interrupted), outcome
    assert outcome.cause is cause
    return outcome


# --- no response


async def test_refused_connection_is_interrupted(library: ModuleType) -> None:
    """Nothing came, so it may be retried."""
    async with library.AsyncClient() as client:
        url = f"http://127.0.0.1:{free_port()}/"
        data, outcome = await read(stream(client, "GET", url, dialect=DIALECT))
        with pytest.raises(StreamInterrupted, match="The transport broke"):
            async with stream(client, "GET", url, dialect=DIALECT) as events:
                await events.receive()
    assert data == []
    assert isinstance(interrupted(outcome, Cause.TRANSPORT).error, library.ConnectError)
    assert outcome.retry_safe


async def test_failing_handshake_is_interrupted(library: ModuleType) -> None:
    """A server that speaks no TLS."""

    async def answer(connected: anyio.abc.SocketStream) -> None:
        async with connected:
            await connected.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await connected.receive()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group, library.AsyncClient() as client:
        group.start_soon(listener.serve, answer)
        opened = stream(client, "GET", f"https://127.0.0.1:{port}/", dialect=DIALECT)
        _, outcome = await read(opened)
        group.cancel_scope.cancel()
    assert isinstance(interrupted(outcome, Cause.TRANSPORT).error, library.ConnectError)
    assert outcome.retry_safe


async def test_close_in_place_of_a_head_is_interrupted(library: ModuleType) -> None:
    async with served(Peer.close) as server, library.AsyncClient() as client:
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
    assert isinstance(interrupted(outcome, Cause.TRANSPORT).error, library.RemoteProtocolError)
    assert outcome.retry_safe


async def test_endless_redirects_are_interrupted(library: ModuleType) -> None:
    async def answer(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n")

    async with served(answer) as server, library.AsyncClient(max_redirects=3) as client:
        opened = stream(client, "GET", server.url, dialect=DIALECT, follow_redirects=True)
        _, outcome = await read(opened)
    assert isinstance(interrupted(outcome, Cause.TRANSPORT).error, library.TooManyRedirects)
    assert outcome.retry_safe


async def test_head_that_never_comes_is_for_the_clocks(library: ModuleType) -> None:
    """The client's own read timeout does not count: a model may think for longer."""
    timeout, clocks = library.Timeout(5.0, read=0.01), Clocks(first_byte=0.5)
    async with served(Peer.left) as server, library.AsyncClient(timeout=timeout) as client:
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT, clocks=clocks))
        interrupted(outcome, Cause.FIRST_BYTE_TIMEOUT)
        assert outcome.retry_safe
        await server.all_closed()


async def test_timeout_of_the_caller_counts(library: ModuleType) -> None:
    async with served(Peer.left) as server, library.AsyncClient() as client:
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT, timeout=0.05))
    assert isinstance(interrupted(outcome, Cause.TRANSPORT).error, library.ReadTimeout)


async def test_timeout_in_the_extensions_counts(library: ModuleType) -> None:
    async with served(Peer.left) as server, library.AsyncClient() as client:
        options = {"extensions": {"timeout": {"read": 0.05}}}
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT, **options))
    assert isinstance(interrupted(outcome, Cause.TRANSPORT).error, library.ReadTimeout)


async def test_client_that_was_closed_is_interrupted(library: ModuleType) -> None:
    async with library.AsyncClient() as client:
        pass
    _, outcome = await read(stream(client, "GET", "http://127.0.0.1/", dialect=DIALECT))
    assert isinstance(interrupted(outcome, Cause.TRANSPORT).error, RuntimeError)


# --- a response that is cut


@pytest.mark.parametrize("ending", list(Ending))
@pytest.mark.parametrize("cut", [0, 2, len(sse("a"))])
async def test_cut_body_is_interrupted(library: ModuleType, ending: Ending, cut: int) -> None:
    """However the server ends it; and it may be retried only if no event was handed out."""
    wire, clocks = sse("a")[:cut], Clocks(idle=0.2, progress=0.3)
    # After a RST the client may not even see the head.
    options = {"ending": ending, "ping_seconds": 0.02}
    async with chaos_server(wire, **options) as server, library.AsyncClient() as client:
        opened = stream(client, "GET", server.url, dialect=DIALECT, clocks=clocks)
        data, outcome = await read(opened)
    assert isinstance(outcome, Interrupted)
    assert data in ([["a"], []] if ending is Ending.RESET else [["a"] if cut > 2 else []])
    assert outcome.retry_safe is (data == [])
    if cut == 2 and ending in (Ending.LAST_CHUNK, Ending.CLOSE):
        assert (outcome.cause, outcome.torn) == (Cause.EOF, Boundary.FRAME)


# --- the connection


async def test_connection_is_used_again(library: ModuleType) -> None:
    """Behind the marker the rest is drained; a small error is read whole, too."""

    async def answer(peer: Peer) -> None:
        if b"/error" in peer.request:
            await peer.head("429 Too Many Requests", type="text/plain")
            await peer.chunks(b"slow down")
            await peer.last()
        else:
            await answer_whole(peer)

    async with served(answer) as server, library.AsyncClient() as client:
        for path in ("", "error", "", "error"):
            opened = stream(client, "GET", server.url + path, dialect=DIALECT)
            _, outcome = await read(opened)
            assert isinstance(outcome, Failed if path else Completed)
        assert (len(server.requests), server.connections) == (4, 1)


@pytest.mark.parametrize("limits", [None, Limits(drain_bytes=0)])
async def test_leaving_closes_the_connection(library: ModuleType, limits: Limits | None) -> None:
    """The server sees it at once; the client stays open."""
    async with served(answer_endless) as server, library.AsyncClient() as client:
        for _ in range(2):
            opened = stream(client, "GET", server.url, dialect=DIALECT, limits=limits)
            async with opened as events:
                await events.receive()
            assert events.close_error is None
            await server.all_closed()
            interrupted(events.outcome, Cause.ABANDONED)
        assert not client.is_closed


async def test_leaving_between_two_reads_closes_the_connection(library: ModuleType) -> None:
    """The reader waits for its consumer, and not for the server."""

    async def answer(peer: Peer) -> None:
        await peer.head()
        while True:
            await peer.chunks(sse("a" * 1000))

    async with served(answer) as server, library.AsyncClient() as client:
        limits = Limits(read_bytes=2000)
        async with stream(client, "GET", server.url, dialect=DIALECT, limits=limits) as events:
            await events.receive()
            with anyio.fail_after(5):
                while events.statistics().bytes < 2000:  # noqa: ASYNC110 - no event for it
                    await anyio.sleep(0.001)
        assert events.close_error is None
        await server.all_closed()


# Of such a body httpx leaves the innermost generator to the collector, of which trio warns.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_body_that_never_waits_is_left(library: ModuleType, coding: str) -> None:
    """A transport of somebody's own that has always more; half of a bomb, too."""
    head, more = {"content-type": "text/event-stream"}, sse("a")
    if coding == "gzip":
        head, more = {**head, "content-encoding": coding}, gzip.compress(bytes(1_000_000))

    class Endless(library.AsyncByteStream):  # type: ignore[name-defined, misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield more

    def handle(request: Any) -> Any:
        return library.Response(200, headers=head, stream=Endless())

    async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
        with anyio.fail_after(10):
            async with stream(client, "GET", "http://test/", dialect=DIALECT) as events:
                await anyio.wait_all_tasks_blocked()
    assert events.close_error is None
    interrupted(events.outcome, Cause.ABANDONED)


async def test_refused_response_is_closed(library: ModuleType) -> None:
    """One whose body nobody reads, too."""

    async def answer(peer: Peer) -> None:
        await peer.head("200 OK", "content-encoding: unknown")
        await peer.left()

    async with served(answer) as server, library.AsyncClient() as client:
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
        assert unexpected(outcome).code == "content-encoding"
        await server.all_closed()


async def test_cancellation_while_connecting_leaves_nothing(library: ModuleType) -> None:
    """No task, and no open connection: the server accepts, and never answers."""
    alive = living()
    async with library.AsyncClient() as client:
        asked = anyio.Event()

        async def answer(peer: Peer) -> None:
            asked.set()
            await peer.left()

        async with served(answer) as server:
            await anyio.wait_all_tasks_blocked()
            before = living()
            with anyio.CancelScope() as scope:
                async with stream(client, "GET", server.url, dialect=DIALECT) as events:
                    await asked.wait()
                    scope.cancel()
                    await events.receive()
            assert scope.cancelled_caught
            interrupted(events.outcome, Cause.CANCELLED)
            await server.all_closed()
            await anyio.wait_all_tasks_blocked()  # the server's task ends as well
            assert living() == before
    assert living() == alive


async def test_cancellation_before_the_connection_leaves_nothing(library: ModuleType) -> None:
    """The backlog of the listener is full, so that even connecting takes for ever."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port, waiting = listener.getsockname()[1], []
        for _ in range(8):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(("127.0.0.1", port))
        alive = living()
        async with library.AsyncClient() as client:
            with anyio.move_on_after(0.1) as scope:
                url = f"http://127.0.0.1:{port}/"
                async with stream(client, "GET", url, dialect=DIALECT) as events:
                    await events.receive()
            assert scope.cancelled_caught
            interrupted(events.outcome, Cause.CANCELLED)
            assert living() == alive
        for each in waiting:
            each.close()


async def test_leaving_before_the_head_closes_the_connection(library: ModuleType) -> None:
    async with served(Peer.left) as server, library.AsyncClient() as client:
        async with stream(client, "GET", server.url, dialect=DIALECT) as events:
            while not server.requests:  # noqa: ASYNC110 - a list has no event to wait for
                await anyio.sleep(0.001)
        await server.all_closed()
    interrupted(events.outcome, Cause.ABANDONED)
    assert events.outcome is not None and events.outcome.retry_safe


async def test_task_group_of_the_caller_has_the_tasks(library: ModuleType) -> None:
    async with (
        served(answer_whole) as server,
        library.AsyncClient() as client,
        anyio.create_task_group() as group,
    ):
        opened = stream(client, "GET", server.url, dialect=DIALECT, task_group=group)
        data, outcome = await read(opened)
    assert data == WHOLE
    assert isinstance(outcome, Completed)


async def test_failed_status_may_be_retried_and_a_fault_behind_events_not(
    library: ModuleType,
) -> None:
    async def answer(peer: Peer) -> None:
        if b"/late" in peer.request:
            await peer.head()
            await peer.send(chunk(sse("a")) + chunk(b"data: " + bytes(100)))
            await peer.left()
        else:
            await peer.head("500 Internal Server Error")
            await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        _, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
        assert unexpected(outcome).body == b""
        assert outcome.retry_safe
        limits = Limits(frame_bytes=50)
        opened = stream(client, "GET", f"{server.url}late", dialect=DIALECT, limits=limits)
        _, outcome = await read(opened)
        assert isinstance(outcome, Failed)
        assert not outcome.retry_safe
