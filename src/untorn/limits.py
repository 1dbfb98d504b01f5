"""How much a stream may hold, and how long it may wait."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, fields
from typing import Final

__all__ = ["Clocks", "Limits"]

KIB: Final = 1024
MIB: Final = 1024 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on memory, all in bytes; `None` means no bound where it is allowed.

    frame_bytes
        One unfinished frame: every byte of it that is kept, line endings
        included. A comment is dropped as it arrives and costs nothing.
    total_bytes
        The whole stream, as raw bytes. `None`: no bound.
    value_bytes
        The text, the tool arguments and the fields of `extra` that a reducer folds into
        one value.
    read_bytes
        One read of the source, and the window of bytes that may be in flight
        between the source and a stalled consumer.
    drain_bytes
        What is read and thrown away behind the completion marker, so that a
        kept-alive connection can be used again. 0: close at once.
    """

    # httpx2 and websockets stop at 1 MiB and gRPC at 4 MiB, each of which a
    # base64 image in one event passes; MongoDB's largest document is 16 MiB.
    frame_bytes: int = 16 * MIB
    # A watch or a feed has no natural length.
    total_bytes: int | None = None
    # The longest answers models give are a few MiB; generated audio in base64
    # reaches tens.
    value_bytes: int = 64 * MIB
    # The size asyncio's StreamReader, anyio and aiohttp read at.
    read_bytes: int = 64 * KIB
    # As h11's and nginx's lingering close: enough for any trailer, not for a
    # second answer.
    drain_bytes: int = 64 * KIB

    def __post_init__(self) -> None:
        for name, least in (("frame_bytes", 1), ("value_bytes", 1), ("read_bytes", 1)):
            _check_count(name, getattr(self, name), least)
        _check_count("drain_bytes", self.drain_bytes, 0)
        if self.total_bytes is not None:
            _check_count("total_bytes", self.total_bytes, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Bounds on waiting, in seconds; `None` (the default) means for ever.

    Only waiting for the source counts. While a busy consumer keeps untorn from reading
    on, no clock runs; while untorn reads ahead of it they do. Time in which the program
    blocks the event loop is left out as far as it is seen: what is longer than a tenth of
    the shortest clock, or than two seconds.

    first_byte
        Until the first byte of the body. Where it is `None`, `idle` counts.
    idle
        Between bytes; any byte re-arms it.
    progress
        Between events; comments and keepalive events do not re-arm it, for
        they prove the transport and not the answer.
    total
        All waiting for the source together.
    """

    first_byte: float | None = None
    idle: float | None = None
    progress: float | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            seconds = getattr(self, field.name)
            if seconds is not None and not _is_positive(seconds):
                raise ValueError(
                    f"Clocks({field.name}={seconds!r}): give a positive number of seconds, "
                    "or None to wait for ever"
                )


def _is_positive(seconds: object) -> bool:
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        return False
    return 0 < seconds <= sys.float_info.max or seconds == math.inf


def _check_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"Limits({name}={value!r}): give a whole number of bytes, {least} or more")
