"""Everything that is a source of bytes is one for the type checkers, too."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import anyio.abc
import httpx
import httpx2
import trio

from untorn import collect, open_stream
from untorn.dialects import TextSse
from untorn.http import RequestSource
from untorn.testing import FaultySource

DIALECT = TextSse()


class OnlyReceivesSome:
    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        return b""


def opened(
    generator: AsyncIterator[bytes],
    views: AsyncIterator[memoryview],
    byte_stream: anyio.abc.ByteReceiveStream,
    object_stream: anyio.abc.ObjectReceiveStream[bytes],
    trio_stream: trio.abc.ReceiveStream,
    socket_stream: trio.SocketStream,
    reader: asyncio.StreamReader,
    old_response: httpx.Response,
    response: httpx2.Response,
    of_aiohttp: aiohttp.ClientResponse,
    faulty: FaultySource,
    request: RequestSource,
) -> None:
    open_stream(generator, DIALECT)
    open_stream(views, DIALECT)
    open_stream(byte_stream, DIALECT)
    open_stream(object_stream, DIALECT)
    open_stream(trio_stream, DIALECT)
    open_stream(socket_stream, DIALECT)
    open_stream(OnlyReceivesSome(), DIALECT)
    open_stream(reader, DIALECT)
    open_stream(old_response, DIALECT)
    open_stream(response, DIALECT)
    open_stream(of_aiohttp.content, DIALECT)
    open_stream(faulty, DIALECT)
    open_stream(request, DIALECT)


async def collected(response: httpx2.Response) -> str:
    return (await collect(response, DIALECT)).unwrap()
