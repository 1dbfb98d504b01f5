"""Functions that are named on the command line as `module:function`."""

import time
import urllib.request
from collections.abc import Iterable, Iterator

import anyio

# A proxy that the environment names has no business on the loopback address.
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def whole_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """A correct parser: the lines that are whole."""
    *lines, _ = b"".join(chunks).split(b"\n")
    for line in lines:
        yield line.decode()


def torn_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """A torn parser: each read is decoded by itself."""
    *lines, _ = "".join(chunk.decode("utf-8", "replace") for chunk in chunks).split("\n")
    yield from lines


def blind(chunks: Iterable[bytes]) -> Iterator[str]:
    """A parser that reads nothing of anything."""
    return iter(())


def swallows(url: str) -> None:
    """A client that takes whatever comes for a success."""
    try:
        with HTTP.open(url, timeout=0.5) as response:
            response.read()
    except Exception:
        pass


async def waits(url: str) -> None:
    """A client that waits for ever."""
    await anyio.sleep_forever()


async def waits_and_swallows(url: str) -> None:
    """The same, and it makes a success of being cancelled."""
    try:
        await anyio.sleep_forever()
    except BaseException:
        return


def waits_in_its_thread(url: str) -> None:
    """The same without async: longer than any test looks at it."""
    time.sleep(5)


async def refuses(url: str) -> None:
    """A client that takes nothing for a success."""
    raise ValueError("No.\nNever.")


def refuses_in_its_thread(url: str) -> None:
    """The same without async."""
    raise ValueError("No.\nNever.")
