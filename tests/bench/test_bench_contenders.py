"""The benchmark compares equal work: all contenders make the same events of the same bytes."""

from __future__ import annotations

import pytest

pytest.importorskip("httpx_sse")

from bench import http, node, pipelines
from bench.framers import Framer, framers
from bench.loops import BACKENDS, run
from bench.peers import NODE_PEER, importable, left_out
from bench.readers import readers
from bench.wires import EVENTS, READS, Wire

# Reading and parsing, by name; of those that are installed.
CONTENDERS = {
    f"{each.name}-{what}": each
    for what, found in (("framer", framers()), ("reader", readers()))
    for each in found
}

wires = pytest.mark.parametrize("name", EVENTS)
reads = pytest.mark.parametrize("read", READS)


def events_of(wire: Wire) -> list[tuple[str, str]]:
    """Return the type and the data of each event, found line by line."""
    fields: dict[str, list[str]] = {"event": ["message"], "data": []}
    for line in EVENTS[wire.name].decode().splitlines():
        name, _, value = line.partition(": ")
        fields[name] = [*fields["data"], value] if name == "data" else [value]
    return [(fields["event"][0], "\n".join(fields["data"]))] * wire.count


@wires
@reads
@pytest.mark.parametrize("contender", CONTENDERS.values(), ids=CONTENDERS)
def test_every_contender_makes_the_same_events(contender: Framer, name: str, read: int) -> None:
    """Type and data of each event are those of the wire, however it is read."""
    if not contender.reads(name):
        pytest.skip("It reads no lines but data")
    wire = Wire(name, read, 3 if read != 1 or len(EVENTS[name]) < 1000 else 1)
    found = [event for batch in contender.read(wire.chunks()) for event in batch]
    assert [contender.pair(event) for event in found] == events_of(wire)
    assert [contender.data(event) for event in found] == [data for _, data in events_of(wire)]


@wires
@pytest.mark.skipif(NODE_PEER in left_out(), reason="there is no eventsource-parser")
def test_the_contender_in_node_makes_the_same_events(name: str) -> None:
    """The peer in another language reads what the others read."""
    wire = Wire(name, 1460, 3)
    assert node.events(wire) == events_of(wire)
    assert node.seconds(wire) > 0


@reads
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["FRAMES", "JSON"])
def test_every_pipeline_reads_all_events(kind: str, backend: str, read: int) -> None:
    """Each async reader hands out every event of the wire, and no more."""
    chunks = Wire("chat", read, 5).chunks()
    found = {name: reader for name, reader in getattr(pipelines, kind).items() if runs(name)}
    assert {name: run(backend, reader, chunks) for name, reader in found.items()} == dict.fromkeys(
        found, 5
    )


def runs(name: str) -> bool:
    return pipelines._runs(name)


@pytest.mark.parametrize("client", http.CLIENTS)
def test_every_client_reads_a_whole_response(client: str) -> None:
    """Each asserts that all events came; the server sends what the path asks for."""
    module, read = http.CLIENTS[client]
    if not importable(module):
        pytest.skip(f"{module} is not installed")
    url = f"http://127.0.0.1:{http._port()}/10/5/0"
    assert run("asyncio", read, url, 10) > 0
    with pytest.raises(AssertionError):
        run("asyncio", read, url, 11)


def test_untorn_comes_first() -> None:
    """The others are compared with the first, and it is ours."""
    assert {framers()[0].name, readers()[0].name, next(iter(pipelines.JSON))} == {"untorn"}
    assert len(framers()) > 1
