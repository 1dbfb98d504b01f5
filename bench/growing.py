"""Cost against length: points, and the exponent of the curve through them (1: linear)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from .framers import Framer, framers
from .measure import OURS, Case, Effort, Row, exponent, growth
from .readers import readers
from .wires import TINY, Wire

KIB, MIB = 1024, 1 << 20

# The seconds that one run of untorn, and of a peer, may take at the largest size.
_OURS, _PEERS = 20.0, 3.0
_QUICK = 0.1

Work = Callable[[Framer, int], None]


def cases(effort: Effort) -> Iterator[Case]:
    for subject, (contenders, work, sizes) in _curves(effort).items():
        rows = partial(_rows, subject, contenders, work, sizes, effort)
        yield Case("cost against length", subject, rows)


def _curves(effort: Effort) -> dict[str, tuple[list[Framer], Work, Sequence[int]]]:
    events = [1000, 10_000, 100_000, 1_000_000]
    lines = [size * KIB for size in (16, 64, 256, 1024, 4096, 16384)]
    long_lines = [*lines[2:], 64 * MIB]
    reads = [1, 16, 256, 4 * KIB, 64 * KIB, MIB]
    curves: dict[str, tuple[list[Framer], Work, Sequence[int]]] = {
        "a read, by its size": (framers(), _read, reads),
        "a stream, by its events": (readers(), _events, events),
        "a line @ 64 KiB": (framers(), partial(_line, 64 * KIB), lines),
        "a line of up to 64 MiB @ 64 KiB": (framers(), partial(_line, 64 * KIB), long_lines),
        "a line @ 1 KiB": (framers(), partial(_line, KIB), lines),
        "a line @ 1 byte": (framers(), partial(_line, 1), lines),
        "lines of one event @ 64 KiB": (framers(), _data_lines, [100, 1000, 10_000, 100_000]),
    }
    return curves


def _rows(
    subject: str, contenders: list[Framer], work: Work, sizes: Sequence[int], effort: Effort
) -> Iterator[Row]:
    points = {}
    for each in contenders[: effort.pick(len(contenders), 2)]:
        patience = _QUICK if effort.quick else _OURS if each.name == OURS else _PEERS
        found = growth(partial(work, each), sizes, effort.pick(3, 1), patience)
        points[each.name] = found
    # A short list is one of a contender that outgrew the patience.
    values = {name: [exponent(found)] for name, found in points.items() if len(found) > 1}
    yield Row("cost against length", subject, "exponent", values, _note(points[OURS]), points)


def _note(points: Iterable[tuple[int, float]]) -> str:
    return "untorn: " + ", ".join(f"{size:,}: {took * 1e3:.3g} ms" for size, took in points)


def _read(framer: Framer, size: int) -> None:
    """So many reads of one size that they can be timed: what grows is the size of each."""
    wire = Wire("chat", size, 1)
    body = wire.event * (2 * size // len(wire.event) + 1)
    framer.drain([body[:size]] * 32)


def _events(reader: Framer, count: int) -> None:
    block = TINY * 3855
    whole, rest = divmod(count, 3855)

    def chunks() -> Iterator[bytes]:
        for _ in range(whole):
            yield block
        yield TINY * rest

    reader.drain(chunks())


def _line(read: int, framer: Framer, size: int) -> None:
    block = b"x" * read

    def chunks() -> Iterator[bytes]:
        yield b"data: "
        for _ in range(size // read):
            yield block
        yield b"\n\n"

    framer.drain(chunks())


def _data_lines(framer: Framer, count: int) -> None:
    """One event of many data lines."""
    per_read = 64 * KIB // 16
    block = b"data: 123456789\n" * per_read

    def chunks() -> Iterator[bytes]:
        for _ in range(count // per_read):
            yield block
        yield b"data: 123456789\n" * (count % per_read)
        yield b"\n"

    framer.drain(chunks())
