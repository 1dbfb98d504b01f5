"""Content codings are taken off as they arrive, and a body torn inside of one is torn."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import anyio
import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st
from served import DIALECT, Peer, read, served, sse

from untorn import Boundary, Cause, Completed, Interrupted
from untorn.dialects import JsonLines
from untorn.http import stream
from untorn.http.content_coding import Decoded, coding_for, codings

zstd: Any = pytest.importorskip("backports.zstd")

PARTS = [sse("a"), sse("你好 🦊"), sse("c", "d"), sse("END")]


class Identity:
    """The encoder of no coding."""

    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self, mode: object = None) -> bytes:
        return b""


def flushed(coding: str) -> tuple[Callable[[bytes], bytes], Callable[[], bytes]]:
    """Return what encodes a part so that it can be decoded at once, and what ends the body."""
    match coding:
        case "identity":
            encoder: Any = Identity()
            return encoder.compress, encoder.flush
        case "br":
            encoder = brotli.Compressor()
            return lambda data: encoder.process(data) + encoder.flush(), encoder.finish
        case "zstd":
            encoder = zstd.ZstdCompressor()
            return lambda data: encoder.compress(data, encoder.FLUSH_BLOCK), encoder.flush
    wbits = {"gzip": 31, "x-gzip": 31, "deflate": 15, "bare": -15}[coding]
    encoder = zlib.compressobj(wbits=wbits)
    return lambda data: encoder.compress(data) + encoder.flush(zlib.Z_SYNC_FLUSH), encoder.flush


def encoded(coding: str, parts: Iterable[bytes] = PARTS) -> list[bytes]:
    """Return the parts of a body, each flushed, and its end."""
    encode, finish = flushed(coding)
    return [*map(encode, parts), finish()]


def named(coding: str) -> str:
    """Return the name under which a coding is sent."""
    return "deflate" if coding == "bare" else coding


CODINGS = ["gzip", "x-gzip", "deflate", "bare", "br", "zstd"]
each_coding = pytest.mark.parametrize("coding", CODINGS)


# --- without a network


async def _iterate(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for part in chunks:
        yield part


def now(waits: Coroutine[Any, Any, bytes]) -> bytes:
    """Return the result of a coroutine that never has to wait."""
    try:
        waits.send(None)
    except StopIteration as done:
        result: bytes = done.value
        return result
    raise AssertionError("It waits")


def decode(names: str, chunks: Iterable[bytes]) -> list[bytes]:
    """Return the pieces that a body comes to."""
    applied = [coding for name in codings(names) if (coding := coding_for(name))]
    assert len(applied) == len(codings(names))
    decoded, pieces = Decoded(_iterate(chunks), applied), []
    while True:
        try:
            pieces.append(now(decoded.__anext__()))
        except StopAsyncIteration:
            return pieces


@each_coding
def test_every_cut_is_decoded_to_the_same(coding: str) -> None:
    """The law, for the bytes."""
    body, plain = b"".join(encoded(coding)), b"".join(PARTS)
    for cut in range(len(body) + 1):
        assert b"".join(decode(named(coding), [body[:cut], body[cut:]])) == plain
    bytewise = [body[at : at + 1] for at in range(len(body))]
    assert b"".join(decode(named(coding), bytewise)) == plain


@each_coding
def test_every_true_beginning_is_torn(coding: str) -> None:
    """But for the empty one: a body of nothing is whole."""
    body, plain = b"".join(encoded(coding)), b"".join(PARTS)
    assert decode(named(coding), []) == decode(named(coding), [b""]) == []
    for cut in range(1, len(body)):
        seen: list[bytes] = []
        decoded = Decoded(_iterate([body[:cut]]), [coding_for(named(coding)) or pytest.fail()])
        with pytest.raises(EOFError, match="inside its content coding"):
            while True:
                seen.append(now(decoded.__anext__()))
        assert plain.startswith(b"".join(seen))


@each_coding
def test_what_is_flushed_is_decoded_at_once(coding: str) -> None:
    applied = coding_for(named(coding))
    assert applied is not None
    encode, _ = flushed(coding)
    for part in PARTS:
        assert b"".join(applied.decode(encode(part))) == part


@each_coding
def test_much_from_little_comes_in_pieces(coding: str) -> None:
    """A few bytes do not become megabytes at once."""
    [body] = [b"".join(encoded(coding, [bytes(10_000_000)]))]
    assert len(body) < 20_000
    pieces = decode(named(coding), [body])
    assert sum(map(len, pieces)) == 10_000_000
    assert max(map(len, pieces)) <= 2 * 64 * 1024


@each_coding
def test_damage_is_an_error(coding: str) -> None:
    noise = random.Random(7).randbytes(300)
    with pytest.raises(OSError, match="content coding of the body is damaged"):
        decode(named(coding), [b"\x1f\x8b\xff" + noise])


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@given(st.lists(st.binary(), max_size=4), st.integers(1, 50))
def test_bodies_of_several_members_are_read_whole(
    coding: str, parts: list[bytes], size: int
) -> None:
    """RFC 1952, section 2.2; RFC 8878, section 3."""
    compress = gzip.compress if coding == "gzip" else zstd.compress
    body = b"".join(map(compress, parts))
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    assert b"".join(decode(coding, chunks)) == b"".join(parts)


def test_padding_between_members_is_skipped() -> None:
    body = gzip.compress(b"a") + bytes(9) + gzip.compress(b"b") + bytes(3)
    assert b"".join(decode("gzip", [body[:25], body[25:]])) == b"ab"


@given(st.binary(), st.integers(1, 20))
def test_several_codings_are_taken_off_in_reverse(data: bytes, size: int) -> None:
    body = zstd.compress(brotli.compress(gzip.compress(data)))
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    assert b"".join(decode("gzip, BR,, identity , zstd", chunks)) == data


@pytest.mark.parametrize(
    ("missing", "there"),
    [(["brotli"], "brotlicffi"), (["compression.zstd", "backports.zstd"], "zstandard")],
)
def test_other_packages_do_as_well(
    missing: list[str], there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`brotlicffi`, and `zstandard`, which hands out all at once."""

    class Whole:
        def __init__(self) -> None:
            self._frame = zstd.ZstdDecompressor()
            self.eof = False
            self.unused_data = b""

        def decompress(self, data: bytes) -> bytes:
            piece: bytes = self._frame.decompress(data)
            self.eof, self.unused_data = self._frame.eof, self._frame.unused_data
            return piece

    zstandard = SimpleNamespace(ZstdDecompressor=lambda: SimpleNamespace(decompressobj=Whole))
    found = {"brotlicffi": brotli, "zstandard": zstandard}[there]

    def import_module(name: str) -> object:
        if name in missing or name != there:
            raise ImportError(name)
        return found

    monkeypatch.setattr("untorn.http.content_coding.import_module", import_module)
    coding = {"brotlicffi": "br", "zstandard": "zstd"}[there]
    parts = encoded(coding)
    assert decode(coding, parts) == [part for part in PARTS if part]
    twice = b"".join(parts) * (1 if coding == "br" else 2)
    assert b"".join(decode(coding, [twice[:5], twice[5:]])) == b"".join(PARTS) * (
        1 if coding == "br" else 2
    )


def test_brotli_without_a_bound_does_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 1.2 its decompressor knew none."""

    class Old:
        def __init__(self) -> None:
            self._new = brotli.Decompressor()

        def process(self, data: bytes) -> bytes:
            return self._new.process(data)

        def is_finished(self) -> bool:
            return self._new.is_finished()

    old = SimpleNamespace(Decompressor=Old)
    monkeypatch.setattr("untorn.http.content_coding.import_module", lambda name: old)
    assert decode("br", encoded("br")) == PARTS


# --- over sockets


@pytest.mark.anyio
@pytest.mark.parametrize("coding", [*CODINGS, "identity"])
async def test_each_event_comes_out_as_soon_as_it_is_sent(library: ModuleType, coding: str) -> None:
    """The next is not sent before this one was received."""
    confirmed = [anyio.Event() for _ in PARTS]
    encode, finish = flushed(coding)

    async def answer(peer: Peer) -> None:
        await peer.head("200 OK", f"content-encoding: {named(coding)}")
        for part, event in zip(PARTS, confirmed, strict=True):
            await peer.chunks(encode(part))
            await event.wait()
        end = finish()
        await peer.chunks(*([end] if end else []))
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        with anyio.fail_after(20):
            async with stream(client, "GET", server.url, dialect=DIALECT) as events:
                for part, event in zip(PARTS, confirmed, strict=True):
                    for _ in range(part.count(b"data:")):
                        assert f"data: {(await events.receive()).data}\n".encode() in part
                    event.set()
    assert isinstance(events.outcome, Completed)


@pytest.mark.anyio
@each_coding
@pytest.mark.parametrize("how", ["close", "last-chunk"])
async def test_torn_coding_is_interrupted(library: ModuleType, coding: str, how: str) -> None:
    """Also where the transport says that all is well, and the end of it would complete."""
    lines = [b'{"a": 1}\n', b'{"b": 2}\n']
    *parts, end = encoded(coding, lines)

    async def answer(peer: Peer) -> None:
        kind = "application/x-ndjson"
        await peer.head("200 OK", f"content-encoding: {named(coding)}", type=kind)
        await peer.chunks(*parts, *([end[:-1]] if end[:-1] else []))
        await (peer.last() if how == "last-chunk" else peer.close())

    async with served(answer) as server, library.AsyncClient() as client:
        dialect = JsonLines(eof="completes")
        data, outcome = await read(stream(client, "GET", server.url, dialect=dialect))
    assert data == [{"a": 1}, {"b": 2}]
    assert isinstance(outcome, Interrupted)
    assert (outcome.cause, outcome.torn) == (Cause.TRANSPORT, Boundary.MESSAGE)
    assert not outcome.retry_safe
    expected = EOFError if how == "last-chunk" else library.RemoteProtocolError
    assert isinstance(outcome.error, expected)


@pytest.mark.anyio
@pytest.mark.parametrize("coding", ["bare", "gzip", "br", "zstd"])
async def test_every_cut_by_the_server_is_the_same_stream(library: ModuleType, coding: str) -> None:
    """The law, over sockets; a bare deflate cut behind its first byte, too."""
    body = b"".join(encoded(coding))
    cuts = iter([*range(1, 8), len(body) // 2, len(body) - 1])

    async def answer(peer: Peer) -> None:
        cut = next(cuts)
        await peer.head("200 OK", f"content-encoding: {named(coding)}")
        await peer.chunks(body[:cut])
        await anyio.sleep(0.002)  # so that the client reads it by itself
        await peer.chunks(body[cut:])
        await peer.last()

    outcomes = set()
    async with served(answer) as server, library.AsyncClient() as client:
        for _ in range(9):
            data, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
            outcomes.add((*data, outcome))
        assert server.connections == 1
    assert [data for *data, _ in outcomes] == [["a", "你好 🦊", "c", "d", "END"]]


# --- damage


def up_to_damage(coding: str, chunks: Iterable[bytes]) -> tuple[bytes, str]:
    """Return what comes out of a body, and what is raised behind it."""
    applied = coding_for(coding)
    assert applied is not None
    decoded, seen = Decoded(_iterate(chunks), [applied]), b""
    try:
        while True:
            seen += now(decoded.__anext__())
    except StopAsyncIteration:
        return seen, ""
    except Exception as error:
        return seen, repr(error)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "bare"])
def test_every_damage_of_one_bit_is_found_at_the_same_place(coding: str) -> None:
    """The law, for damaged bodies: what came before the damage comes out, however it was cut."""
    body = b"".join(encoded(coding, [sse("a", "你好", "END")]))
    for bit in range(len(body) * 8):
        damaged = bytearray(body)
        damaged[bit // 8] ^= 1 << bit % 8
        whole = up_to_damage(named(coding), [bytes(damaged)])
        assert whole == up_to_damage(named(coding), (bytes([byte]) for byte in damaged)), bit


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_no_more_than_a_slice_is_lost_before_a_damage(coding: str) -> None:
    """Their decoders cannot be copied: sixteen bytes at most are decoded for nothing."""
    *parts, _ = encoded(coding, [random.Random(1).randbytes(200), sse("a")])
    plain, noise = random.Random(1).randbytes(200) + sse("a"), b"\xff" * 40
    seen, error = up_to_damage(coding, [b"".join(parts) + noise])
    assert "damaged" in error
    assert plain.startswith(seen) and len(seen) > 0
    assert len(plain) - len(seen) <= 200 if coding == "zstd" else len(plain) - len(seen) <= 32


@pytest.mark.anyio
@pytest.mark.parametrize("size", [1, 10_000])
async def test_marker_before_a_damage_completes(library: ModuleType, size: int) -> None:
    """The check behind the last event is wrong: in one read as in many."""
    body = gzip.compress(sse("a", "END"))
    body = body[:-8] + bytes(4) + body[-4:]

    async def answer(peer: Peer) -> None:
        await peer.head("200 OK", "content-encoding: gzip")
        await peer.chunks(*(body[at : at + size] for at in range(0, len(body), size)))
        await peer.last()

    async with served(answer) as server, library.AsyncClient() as client:
        data, outcome = await read(stream(client, "GET", server.url, dialect=DIALECT))
    assert (data, type(outcome)) == (["a", "END"], Completed)
