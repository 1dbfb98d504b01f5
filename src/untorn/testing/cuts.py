"""Cuttings: the ways in which a network may hand over the same bytes.

A *cutting* is a list of chunks that joins back to the wire. A *boundary* is the offset, in
bytes, at which one chunk ends and the next begins; `cuts_at` and `boundaries` turn the one
into the other. No chunk is empty unless `empty=True` asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from random import Random
from typing import TypeAlias, cast

from .checks import check_bytes

__all__ = [
    "Cuts",
    "Cutting",
    "as_cutting",
    "boundaries",
    "bytewise",
    "cuts_at",
    "every_cut",
    "seeded",
]

Cutting: TypeAlias = list[bytes]
"""The chunks of one wire, in order."""

Cuts: TypeAlias = Iterable[int] | Iterable[bytes]
"""Where a wire is cut: offsets in bytes, or the chunks themselves."""


def cuts_at(wire: bytes, offsets: Iterable[int], *, empty: bool = False) -> Cutting:
    """Cut `wire` at `offsets`, given in any order.

    With `empty=True` an offset given twice, or one at either end, makes an empty chunk;
    otherwise it makes none. An offset outside the wire is a `ValueError`.
    """
    check_bytes(wire)
    inner = sorted(offsets)
    if inner and not 0 <= inner[0] <= inner[-1] <= len(wire):
        raise ValueError(f"The offsets {inner} do not all lie within the {len(wire)} bytes")
    chunks = [wire[start:stop] for start, stop in pairwise([0, *inner, len(wire)])]
    return chunks if empty else [chunk for chunk in chunks if chunk]


def boundaries(chunks: Iterable[bytes]) -> tuple[int, ...]:
    """Return the offsets at which `chunks` were cut; `cuts_at` of them gives the chunks."""
    return tuple(accumulate(len(chunk) for chunk in chunks))[:-1]


def as_cutting(wire: bytes, cuts: Cuts | None) -> Cutting:
    """Return the chunks of `wire`, however its cuts were given; `None` leaves it whole.

    Chunks that do not join back to the wire are a `ValueError`.
    """
    given = list(cuts or ())
    if not given or isinstance(given[0], int):
        return cuts_at(wire, cast("list[int]", given))
    chunks = cast("list[bytes]", given)
    for each in (wire, *chunks):
        check_bytes(each)
    if b"".join(chunks) != wire:
        raise ValueError("The chunks do not join back to the wire")
    return chunks


def every_cut(wire: bytes, *, empty: bool = False) -> Iterator[Cutting]:
    """Yield every cutting into two chunks, from left to right.

    There are `len(wire) - 1` of them; `empty=True` adds the two with an empty first or last
    chunk.
    """
    offsets = range(len(wire) + 1) if empty else range(1, len(wire))
    return (cuts_at(wire, [offset], empty=empty) for offset in offsets)


def bytewise(wire: bytes) -> Cutting:
    """Cut between all bytes."""
    return cuts_at(wire, range(1, len(wire)))


def seeded(wire: bytes, k: int, seed: int, *, empty: bool = False) -> Cutting:
    """Cut into `k` chunks at places drawn from `seed`; the same seed gives the same chunks.

    A wire shorter than `k` bytes is cut between all of them, unless `empty=True` lets
    places be drawn twice. `k` below one is a `ValueError`.
    """
    if k < 1:
        raise ValueError(f"A wire is cut into at least one chunk, so k cannot be {k}")
    random = Random(seed)
    if empty:
        return cuts_at(wire, random.choices(range(len(wire) + 1), k=k - 1), empty=True)
    places = range(1, len(wire))
    return cuts_at(wire, random.sample(places, min(k - 1, len(places))))
