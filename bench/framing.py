"""Rows without I/O: framing alone, framing and JSON, and whole synchronous readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from untorn.payload import parse_json

from . import node, readers
from .framers import Framer, bytes_split, framers, utf8_decode
from .measure import OURS, Case, Effort, Row, Run, grown, interleaved
from .peers import NODE_PEER, importable, left_out
from .wires import EVENTS, READS, Wire, label, least


def cases(effort: Effort) -> Iterator[Case]:
    names = ("chat", "pair", "mixed") if effort.quick else tuple(EVENTS)
    for name in names:
        for read in READS[:-1] if effort.quick and name != "chat" else READS:
            yield Case("framing", label(name, read), partial(_framing, name, read, effort))
    for name in ("chat",) if effort.quick else ("chat", "pair", "CJK"):
        for read in READS:
            yield Case("framing + JSON", label(name, read), partial(_json, name, read, effort))
    for name in ("chat",) if effort.quick else ("chat", "pair", "tiny"):
        for read in READS:
            yield Case("parse()", label(name, read), partial(_parse, name, read, effort))


def _framing(name: str, read: int, effort: Effort) -> Iterator[Row]:
    wire = _sized(name, read, framers()[0].drain, effort)
    chunks = wire.chunks()
    runs: dict[str, Run] = {
        framer.name: partial(framer.drain, chunks) for framer in _checked(framers(), wire)
    }
    _add_node(runs, wire)
    if len(wire.event) < 4096:  # each read splits the rest again: no floor for long lines
        blank_line = b"\r\n\r\n" if name == "CRLF" else b"\n\n"
        runs["floor: bytes.split"] = partial(bytes_split, chunks, blank_line)
    runs["floor: utf_8_decode"] = partial(utf8_decode, chunks)
    yield interleaved("framing", wire.label, runs, effort.rounds, wire.count)


def _json(name: str, read: int, effort: Effort) -> Iterator[Row]:
    """Untorn parses with jiter where it is installed; so here is a peer that does, too."""
    found = {framer.name: framer for framer in framers() if framer.reads(name)}
    ours = found[OURS]
    wire = _sized(name, read, lambda chunks: ours.feed(chunks, parse_json), effort)
    chunks = wire.chunks()
    runs: dict[str, Run] = {OURS: partial(ours.feed, chunks, parse_json)}
    runs["untorn, json.loads"] = partial(ours.feed, chunks, json.loads)
    for framer in list(found.values())[1:]:
        runs[framer.name] = partial(framer.feed, chunks, json.loads)
    if importable("jiter") and "httpx-sse" in found:
        runs["httpx-sse, jiter"] = partial(found["httpx-sse"].feed, chunks, _jiter())
    _add_node(runs, wire, parse=True)
    texts = [ours.data(event) for batch in ours.read(chunks) for event in batch]
    runs["floor: json.loads"] = partial(_each, json.loads, texts)
    yield interleaved("framing + JSON", wire.label, runs, effort.rounds, wire.count)


def _parse(name: str, read: int, effort: Effort) -> Iterator[Row]:
    wire = _sized(name, read, readers.readers()[0].drain, effort)
    chunks = wire.chunks()
    runs: dict[str, Run] = {
        reader.name: partial(reader.drain, chunks) for reader in _checked(readers.readers(), wire)
    }
    _add_node(runs, wire)
    yield interleaved("parse()", wire.label, runs, effort.rounds, wire.count)


def _sized(name: str, read: int, run: Callable[[list[bytes]], object], effort: Effort) -> Wire:
    def once(count: int) -> object:
        return run(Wire(name, read, count).chunks())

    return Wire(name, read, grown(once, effort.seconds, least(name, read)))


def _checked(found: Iterable[Framer], wire: Wire) -> Iterator[Framer]:
    """Yield those that can read the wire, and read the events that are on it."""
    few = Wire(wire.name, wire.read, 3)
    for framer in found:
        if framer.reads(wire.name):
            count = sum(len(list(batch)) for batch in framer.read(few.chunks()))
            assert count == few.count, f"{framer.name} makes {count} events of {few}"
            yield framer


def _add_node(runs: dict[str, Run], wire: Wire, *, parse: bool = False) -> None:
    if NODE_PEER not in left_out():
        runs[NODE_PEER] = partial(node.seconds, wire, parse=parse)


def _each(function: Callable[[str], object], texts: list[str]) -> None:
    for text in texts:
        function(text)


def _jiter() -> Callable[[str], object]:
    from jiter import from_json

    return lambda text: from_json(text.encode())
