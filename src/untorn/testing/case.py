"""Cases: one way to serve a wire to a parser, and all the ways worth trying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from .answer import End
from .checks import check_whole
from .cuts import Cutting, boundaries, cuts_at, seeded

__all__ = ["Case", "Effort", "cut_cases", "empty_chunk_cases", "prefix_cases", "silent_cases"]


@dataclass(frozen=True, slots=True)
class Case:
    """One way to serve a wire."""

    wire: bytes
    """The bytes that arrive."""
    rest: bytes = b""
    """The bytes that would have followed, had the transport not ended before them."""
    boundaries: tuple[int, ...] = ()
    """The offsets at which `wire` is cut. One that stands twice makes an empty chunk."""
    end: End = "eof"
    """How the transport ends."""

    @property
    def chunks(self) -> Cutting:
        """The chunks that arrive."""
        return cuts_at(self.wire, self.boundaries, empty=bool(self.boundaries))

    @property
    def capture(self) -> bytes:
        """The whole wire: what arrives and what would have followed."""
        return self.wire + self.rest

    @property
    def has_empty_chunks(self) -> bool:
        """Whether a chunk is empty."""
        return not all(self.chunks)

    def without(self, start: int, stop: int) -> Case:
        """Return the case with the bytes from `start` to `stop` of the capture left out.

        The boundaries keep their places between the bytes that stay. One that would make an
        empty chunk is dropped, unless the case has empty chunks already.
        """

        def moved(offset: int) -> int:
            return offset - max(0, min(offset, stop) - start)

        capture = self.capture[:start] + self.capture[stop:]
        size = moved(len(self.wire))
        kept = [moved(offset) for offset in self.boundaries]
        if not self.has_empty_chunks:
            kept = sorted({offset for offset in kept if 0 < offset < size})
        return replace(self, wire=capture[:size], rest=capture[size:], boundaries=tuple(kept))


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried."""

    exhaustive: int
    """Up to this many bytes, every cut and every prefix is tried; beyond, samples."""
    samples: int
    """How many cuttings are drawn of each kind that is sampled."""
    seed: int
    """What they are drawn from."""

    def __post_init__(self) -> None:
        check_whole("exhaustive", self.exhaustive)
        check_whole("samples", self.samples)

    def every_or_some(self, wire: bytes, first: int) -> Sequence[int]:
        """Return the offsets from `first` to before the end: all, or a sample in order."""
        every = range(first, len(wire))
        if len(wire) <= self.exhaustive:
            return every
        return sorted(Random(self.seed).sample(every, min(self.samples, len(every))))


def cut_cases(wire: bytes, end: End, effort: Effort) -> Iterator[Case]:
    """Yield the case of the whole wire in one chunk, then one for each cutting to try.

    Those with few cuts come first, so that the first failure found is a simple one.
    """
    yield Case(wire, end=end)
    for offset in effort.every_or_some(wire, 1):
        yield Case(wire, boundaries=(offset,), end=end)
    for seed in range(effort.seed, effort.seed + effort.samples):
        chunks = seeded(wire, 3 + seed % 10, seed)
        yield Case(wire, boundaries=boundaries(chunks), end=end)
    yield Case(wire, boundaries=tuple(range(1, len(wire))), end=end)


def empty_chunk_cases(wire: bytes, end: End, effort: Effort) -> Iterator[Case]:
    """Yield cases with an empty chunk: at each place alone, then everywhere at once."""
    for offset in [*effort.every_or_some(wire, 0), len(wire)]:
        yield Case(wire, boundaries=(offset, offset), end=end)
    everywhere = sorted([*range(len(wire) + 1), *range(len(wire) + 1)])
    yield Case(wire, boundaries=tuple(everywhere), end=end)


def prefix_cases(wire: bytes, end: End, effort: Effort) -> Iterator[Case]:
    """Yield cases in which the transport ends early: after each prefix, however it was cut.

    Each prefix comes whole, with its last byte alone, in three chunks, and bytewise (the last
    only if the wire is within the exhaustive size: it costs the square of it).
    """
    for size in effort.every_or_some(wire, 0):
        prefix = wire[:size]
        cuttings = {(), (size - 1,)[: size > 1], boundaries(seeded(prefix, 3, effort.seed + size))}
        if len(wire) <= effort.exhaustive:
            cuttings.add(tuple(range(1, size)))
        for cuts in sorted(cuttings, key=len):
            yield Case(prefix, wire[size:], cuts, end)


def silent_cases(wire: bytes, effort: Effort) -> Iterator[Case]:
    """Yield cases in which the transport falls silent after each prefix, and after the whole."""
    for size in [*effort.every_or_some(wire, 0), len(wire)]:
        yield Case(wire[:size], wire[size:], end="silence")
