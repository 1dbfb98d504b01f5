"""Faults: what can happen to a stream, and the script that a wire and its faults make.

`at` is the offset in the wire, in bytes, before which a fault happens; `None` is after its
last byte. Faults at the same offset happen in the order in which they are given. So a list of
faults over an empty wire is a script: `[Send(b"a"), Stall(3), Send(b"b"), Reset()]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, cast

from .checks import check_bytes, is_seconds
from .cuts import Cuts, as_cutting, boundaries

__all__ = [
    "Corrupt",
    "Drip",
    "Eof",
    "Fault",
    "Hang",
    "Raise",
    "Reset",
    "Send",
    "Stall",
    "Step",
    "script",
]


class Fault:
    """Anything of this module that can happen to a stream; not to be subclassed elsewhere."""

    # A base class, and not a union: to mypy, a list of several kinds is then a list of faults.
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Send(Fault):
    """Bytes that are not in the wire arrive, as a chunk of their own (which may be empty)."""

    data: bytes
    at: int | None = None

    def __post_init__(self) -> None:
        check_bytes(self.data)


@dataclass(frozen=True, slots=True)
class Stall(Fault):
    """Nothing arrives for some seconds."""

    seconds: float
    at: int | None = None

    def __post_init__(self) -> None:
        _check_seconds(self)


@dataclass(frozen=True, slots=True)
class Drip(Fault):
    """From `at` to `until` (the end of the wire unless given) the bytes come in drops.

    Before each drop of `size` bytes, `seconds` pass.
    """

    seconds: float
    at: int = 0
    until: int | None = None
    size: int = 1

    def __post_init__(self) -> None:
        _check_seconds(self)
        if self.size < 1:
            raise ValueError(f"{self}: a drop has at least one byte")
        if self.until is not None and self.until < self.at:
            raise ValueError(f"{self}: it ends before it begins")


@dataclass(frozen=True, slots=True)
class Corrupt(Fault):
    """The wire's bytes from `at` on are overwritten with `data`; its length stays."""

    data: bytes
    at: int

    def __post_init__(self) -> None:
        check_bytes(self.data)


@dataclass(frozen=True, slots=True)
class Eof(Fault):
    """The stream ends, as if that were all."""

    at: int | None = None


@dataclass(frozen=True, slots=True)
class Reset(Fault):
    """The peer resets the connection: reading raises `ConnectionResetError`."""

    at: int | None = None


@dataclass(frozen=True, slots=True)
class Raise(Fault):
    """Reading raises `error`."""

    error: BaseException
    at: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.error, BaseException):
            raise TypeError(f"{self}: give an exception")


@dataclass(frozen=True, slots=True)
class Hang(Fault):
    """Nothing arrives any more, and the stream stays open."""

    at: int | None = None


Ending: TypeAlias = Eof | Reset | Raise | Hang
Step: TypeAlias = Send | Stall | Ending
AnyFault: TypeAlias = Step | Drip | Corrupt


def _check_seconds(fault: Stall | Drip) -> None:
    if not is_seconds(fault.seconds):
        raise ValueError(f"{fault}: give a number of seconds, 0 or more")


def script(wire: bytes, cuts: Cuts | None, faults: Sequence[Fault]) -> Iterator[Step]:
    """Yield what happens, step by step, up to and with the first ending; `Eof` if none is given.

    A chunk is cut where a fault lies within it. A fault that does not lie within the wire from
    its beginning to its end is a `ValueError`.
    """
    every = cast("Sequence[AnyFault]", faults)
    for step in _steps(wire, boundaries(as_cutting(wire, cuts)), every):
        yield step
        if isinstance(step, Ending):
            return


def _steps(wire: bytes, cuts: Iterable[int], faults: Sequence[AnyFault]) -> Iterator[Step]:
    size = len(wire)
    placed = [(_place(fault, size), fault) for fault in faults]
    drips = [fault for fault in faults if isinstance(fault, Drip)]
    drops = {at for drip in drips for at in (*_drops(drip, size), _stop(drip, size))}
    sent = _corrupted(wire, faults)
    edges = sorted({0, size, *cuts, *drops, *(at for at, _ in placed)})
    for start, stop in pairwise([*edges, size]):
        for at, fault in placed:
            if at == start and isinstance(fault, Step):
                yield fault
        if start < stop:
            yield from (Stall(drip.seconds) for drip in drips if start in _drops(drip, size))
            yield Send(sent[start:stop])
    yield Eof()


def _place(fault: AnyFault, size: int) -> int:
    if not isinstance(fault, AnyFault):
        raise TypeError(f"Not a fault: {fault!r}; give a Send, a Stall, a Reset or the like")
    at = size if fault.at is None else fault.at
    if not 0 <= at <= _end(fault, at) <= size:
        raise ValueError(f"{fault} lies outside the wire, which has {size} bytes")
    return at


def _end(fault: AnyFault, at: int) -> int:
    match fault:
        case Corrupt(data):
            return at + len(data)
        case Drip(until=int(until)):
            return until
        case _:
            return at


def _drops(drip: Drip, size: int) -> range:
    return range(drip.at, _stop(drip, size), drip.size)


def _stop(drip: Drip, size: int) -> int:
    return size if drip.until is None else drip.until


def _corrupted(wire: bytes, faults: Iterable[AnyFault]) -> bytes:
    sent = bytearray(wire)
    for fault in faults:
        if isinstance(fault, Corrupt):
            sent[fault.at : fault.at + len(fault.data)] = fault.data
    return bytes(sent)
