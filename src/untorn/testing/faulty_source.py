"""A byte stream that does what a script says, and remembers what was done to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream

from .cuts import Cuts
from .faults import Eof, Fault, Hang, Raise, Reset, Send, Stall, Step, script

__all__ = ["Closing", "FaultySource", "Read"]


@dataclass(frozen=True, slots=True)
class Read:
    """Some bytes that the reader was given."""

    time: float
    """Seconds since the first call of the source."""
    offset: int
    """How many bytes the reader had been given before."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Closing:
    """One call of `aclose`."""

    time: float
    """Seconds since the first call of the source."""
    offset: int
    """How many bytes the reader had been given."""
    reading: bool
    """Whether a read was waiting; it then raises `ClosedResourceError`."""
    ended: bool
    """Whether the reader had seen the stream's end, be it EOF or an exception."""


class FaultySource(ByteReceiveStream):
    """A `ByteReceiveStream` over `wire`, cut at `cuts`, with `faults` in it.

    It waits with anyio, hence on asyncio and trio, and in virtual time where the loop's clock is
    virtual. It can be read with `receive()` or `async for`, by one task at a time. A read
    that is cancelled loses nothing: the next one waits for the rest of the same stall. An
    ending is sticky: reading again ends the same way.

    wire
        The bytes to send.
    cuts
        Offsets or chunks; `None` sends each stretch between two faults whole.
    faults
        What happens on the way, and where.
    on_close
        What the first `aclose()` does before it returns.
    """

    def __init__(
        self,
        wire: bytes,
        cuts: Cuts | None = None,
        faults: Sequence[Fault] = (),
        *,
        on_close: Stall | Hang | Raise | None = None,
    ) -> None:
        if on_close is not None and not isinstance(on_close, Stall | Hang | Raise):
            raise TypeError(f"on_close={on_close!r}: give a Stall, a Hang or a Raise")
        self._script: deque[Step] = deque(script(wire, cuts, faults))
        self._on_close = on_close
        self._started: float | None = None
        self._stalled_until: float | None = None
        self._reading = anyio.ResourceGuard("reading from")
        self._is_reading = False
        self._closed = anyio.Event()
        self.reads: list[Read] = []
        """What the reader was given, and when."""
        self.closings: list[Closing] = []
        """The calls of `aclose`."""
        self.offset = 0
        """How many bytes the reader has been given."""
        self.ended = False
        """Whether the reader has seen the stream's end."""

    @property
    def closed(self) -> bool:
        """Whether it was closed at least once."""
        return bool(self.closings)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Return the next chunk, or its first `max_bytes` bytes, once the script allows it.

        Raises what the script says; `EndOfStream` at the end; `ClosedResourceError` once
        closed; `BusyResourceError` while another task reads.
        """
        with self._reading:
            self._is_reading = True
            try:
                self._now()
                await anyio.lowlevel.checkpoint()
                return await self._next(max_bytes)
            finally:
                self._is_reading = False

    async def aclose(self) -> None:
        """Close, and note it; the first call does what `on_close` says."""
        first = not self.closings
        self.closings.append(Closing(self._now(), self.offset, self._is_reading, self.ended))
        self._closed.set()
        if first:
            await self._close_slowly()

    async def _next(self, max_bytes: int) -> bytes:
        while not self._closed.is_set():
            match self._script[0]:
                case Send(data):
                    return self._take(data, max_bytes)
                case Stall(seconds):
                    await self._stall(seconds)
                case Hang():
                    await self._closed.wait()
                case Eof() | Reset() | Raise() as ending:
                    self.ended = True
                    raise _error(ending)
                case unknown:
                    assert_never(unknown)
        raise anyio.ClosedResourceError

    def _take(self, data: bytes, max_bytes: int) -> bytes:
        taken, left = data[:max_bytes], data[max_bytes:]
        self._script.popleft()
        if left:
            self._script.appendleft(Send(left))
        self.reads.append(Read(self._now(), self.offset, taken))
        self.offset += len(taken)
        return taken

    async def _stall(self, seconds: float) -> None:
        if self._stalled_until is None:
            self._stalled_until = anyio.current_time() + seconds
        with anyio.move_on_after(self._stalled_until - anyio.current_time()):
            await self._closed.wait()
        if not self._closed.is_set():
            self._script.popleft()
            self._stalled_until = None

    async def _close_slowly(self) -> None:
        match self._on_close:
            case None:
                await anyio.lowlevel.checkpoint()
            case Stall(seconds):
                await anyio.sleep(seconds)
            case Hang():
                await anyio.sleep_forever()
            case Raise(error):
                raise error
            case unknown:
                assert_never(unknown)

    def _now(self) -> float:
        now = anyio.current_time()
        if self._started is None:
            self._started = now
        return now - self._started


def _error(ending: Eof | Reset | Raise) -> BaseException:
    match ending:
        case Eof():
            return anyio.EndOfStream()
        case Reset():
            return ConnectionResetError("The peer reset the connection")
        case Raise(error):
            return error
        case unknown:
            assert_never(unknown)
