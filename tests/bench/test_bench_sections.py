"""The measures that count bytes, delays and events, each on something tiny."""

from __future__ import annotations

import pytest

pytest.importorskip("httpx_sse")

from bench import fairness, growing, many, memory, startup
from bench.framers import Framer, framers
from bench.loops import BACKENDS, in_child, run
from bench.readers import readers
from bench.wires import EVENTS, Wire

backends = pytest.mark.parametrize("backend", BACKENDS)


@pytest.mark.parametrize("contender", framers(), ids=lambda framer: framer.name)
def test_feeding_hands_over_the_data_of_each_event(contender: Framer) -> None:
    """What is parsed as JSON is all that was on the wire."""
    taken: list[str] = []
    contender.feed(Wire("chat", 100, 3).chunks(), taken.append)
    assert taken == [EVENTS["chat"].decode()[6:-2]] * 3


@backends
@pytest.mark.parametrize("reader", memory.READERS)
def test_idle_streams_hold_something(backend: str, reader: str) -> None:
    """Each stream is in a task of its own, which it takes at least."""
    assert 500 < memory.idle(backend, reader, 20, "traced") < 200_000


def test_a_child_measures_what_its_parent_would() -> None:
    """What is asked of a process of its own is what the function says."""
    assert in_child("memory.long_line", 65536, 1024)[1] == 65536


@pytest.mark.parametrize("read", [1024, 65536])
def test_the_peak_of_a_line_is_more_than_the_line(read: int) -> None:
    """The line is held, for it is handed out; a hostile one is held up to its limit."""
    for measure in (memory.long_line, memory.hostile):
        peak, size = measure(1 << 20, read)
        assert 1 <= peak / size < 10
    peak, size = memory.long_stream(4 << 20, read)
    assert 0 < peak < size == 4 << 20


@backends
def test_what_is_read_ahead_is_within_the_bound(backend: str) -> None:
    """The consumer stalls, and so does the reading."""
    for name, read in (("tiny", 1460), ("chat", 65536), ("100 KiB", 1000)):
        held = run(backend, fairness._held, name, read, 2)
        assert 0 < held <= fairness._WINDOW + read + len(EVENTS[name])


@backends
def test_a_rival_and_a_cancellation_are_seen(backend: str) -> None:
    """httpx-sse, which has no checkpoint in a batch, shows what is looked for."""
    untorn, peer = fairness._CONSUMERS.values()
    assert run(backend, fairness._longest_wait, untorn) > 0
    assert run(backend, fairness._longest_wait, peer) > 3000 * fairness._WORK
    assert run(backend, fairness._events_after, untorn) <= 64
    assert run(backend, fairness._events_after, peer) > 3000


@pytest.mark.parametrize("reader", many.READERS)
def test_many_streams_are_all_served(reader: str) -> None:
    """Nobody is starved, and each number is of something that happened."""
    found = many.measured("asyncio", reader, 5, 1)
    assert found.keys() == many._UNITS.keys()
    assert found["fewest events of a stream"] >= 1
    assert 0 <= found["delay, median"] <= found["delay, p99"] <= found["delay, longest"]
    assert found["CPU"] > 0 and found["cancel all"] > 0


@pytest.mark.parametrize("reader", memory.READERS)
def test_opening_ends_by_itself(reader: str) -> None:
    """Each reader leaves after one event, though its source stays open."""
    run("asyncio", startup._open_and_close, memory.READERS[reader], 3)


@pytest.mark.parametrize("contender", framers()[:2], ids=lambda framer: framer.name)
def test_what_grows_is_as_long_as_it_is_said(contender: Framer) -> None:
    """A line of so many bytes, an event of so many lines, a stream of so many events."""
    seen: list[str] = []
    kept = _keeping(contender, seen)
    growing._line(1024, kept, 4096)
    growing._data_lines(kept, 5000)
    assert [len(data) for data in seen] == [4096, 5000 * 10 - 1]
    seen.clear()
    growing._events(_keeping(readers()[0], seen), 4000)
    assert seen == ['{"t":"a"}'] * 4000


def _keeping(contender: Framer, seen: list[str]) -> Framer:
    """Return the contender with a `drain` that keeps the data of each event."""

    class Keeping(Framer):
        def drain(self, chunks: object) -> None:
            self.feed(chunks, seen.append)  # type: ignore[arg-type]

    return Keeping(*(getattr(contender, name) for name in ("name", "read", "pair", "data")))
