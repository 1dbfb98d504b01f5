"""The recorded streams, and what an independent reader says they hold.

    @pytest.mark.parametrize("capture", captures("anthropic-messages"))
    def test_it_reads_as_recorded(capture: Capture) -> None:
        outcome = outcome_of([capture.wire], AnthropicMessages())
        assert_as_recorded(outcome, capture)

They live in `shared/captures` beside the checkout; without it the tests are skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from wires import reader

from untorn import Completed, Failed, Interrupted, StreamFailed, StreamInterrupted, parse
from untorn.event import Message
from untorn.limits import Limits
from untorn.outcome import Outcome
from untorn.reduce import Dialect
from untorn.testing import answer_of, assert_untorn, cuts_at

SHARED = Path(__file__).resolve().parents[3] / "shared"
FOLDER = SHARED / "captures"
SMALL = int(os.environ.get("UNTORN_EVERY_CUT", "1300"))
"""Bytes up to which every cutting in two and every prefix is tried (a minute of tests at 8192)."""

TINY = 60
"""Bytes up to which every prefix is also cut in every way that the kit knows."""

SAMPLES = 4
"""Cuttings, and prefixes, of larger ones."""

TEETH = 32
"""Bytes between the cuts of a comb; as many combs cut everywhere."""


@dataclass(frozen=True)
class Capture:
    """One recorded stream; `expected` is the index's entry of that name."""

    file: str
    dialect: str
    wire: bytes
    content_type: str
    expected: dict[str, Any]

    @property
    def marker(self) -> str | None:
        """The marker without the index's remarks: `finish_reason (no [DONE])`."""
        marker = self.expected["terminal_marker"]
        return marker.split(" (")[0] if isinstance(marker, str) else marker

    @property
    def failed(self) -> bool:
        return bool(self.expected["outcome"] == "failed")


@cache
def _index() -> tuple[Capture, ...]:
    entries = json.loads((FOLDER / "index.json").read_text("utf-8"))["captures"]
    return tuple(
        Capture(
            entry["file"],
            entry["dialect"],
            (FOLDER / entry["file"]).read_bytes(),
            entry["content_type"] or "",
            entry["expected"],
        )
        for entry in entries
    )


def captures(*dialects: str, most: int | None = None) -> list[Any]:
    """Return a pytest parameter for each capture of these dialects, by their first words.

    `"openai-chat"` takes `"openai-chat (Azure)"` too, but not `"openai-chatter"`. `most` leaves
    out those of more bytes.
    """
    if not FOLDER.is_dir():
        absent = pytest.mark.skip(reason="there is no shared/captures beside the checkout")
        return [pytest.param(None, id="absent", marks=absent)]
    return [
        pytest.param(capture, id=capture.file.split(".")[0])
        for capture in _index()
        if capture.dialect.split(" (")[0] in dialects
        and (most is None or len(capture.wire) <= most)
    ]


def read(
    chunks: Iterable[bytes], dialect: Dialect[Any, Any], limits: Limits | None = None
) -> tuple[list[Any], Outcome[Any]]:
    """Return all events and the outcome; an exception that is not ours comes through."""
    stream = parse(chunks, dialect, limits=limits)
    events = []
    try:
        for event in stream:
            events.append(event)  # noqa: PERF402 - those before the raise are kept
    except (StreamFailed, StreamInterrupted) as error:
        assert error.outcome is stream.outcome
    assert stream.outcome is not None
    return events, stream.outcome


def assert_cuts_do_not_matter(wire: bytes, dialect: Dialect[Any, Any]) -> None:
    """Check that events and outcome are those of the wire in one piece, however it is cut.

    And that its events begin those of the whole where it ends early, and come as they arrive.
    """
    read_all = reader(dialect)
    assert_untorn(read_all, wire, exhaustive=TINY, samples=SAMPLES, prompt=True)
    if TINY < len(wire) <= SMALL:
        assert_untorn(read_all, wire, exhaustive=SMALL, samples=0, prefixes=False)
    if SMALL < len(wire) <= 8 * 1024:
        whole = answer_of(read_all, [wire])
        for first in range(1, TEETH + 1):
            comb = cuts_at(wire, range(first, len(wire), TEETH))
            assert answer_of(read_all, comb) == whole, first


def prefixes(wire: bytes) -> list[int]:
    """Return the lengths at which a wire is ended early: all, or those around its line ends."""
    if len(wire) <= SMALL:
        return list(range(len(wire)))
    ends = [at for at in range(len(wire)) if wire[at] in b"\r\n"]
    if len(wire) > SMALL * 6:
        ends = Random(len(wire)).sample(ends, 40)
    near = {at + shift for at in ends for shift in (-1, 0, 1, 2)}
    return sorted(length for length in near if 0 <= length < len(wire))


def read_early(
    wire: bytes, length: int, dialect: Dialect[Any, Any]
) -> tuple[list[Any], list[Any], Outcome[Any]]:
    """End a wire after `length` bytes; return the events before the end, those at it, and how."""
    events: list[Any] = []
    before: list[int] = []

    def chunks() -> Iterator[bytes]:
        yield wire[:length]
        before.append(len(events))

    stream = parse(chunks(), dialect)
    for event in stream.events():
        events.append(event)  # noqa: PERF402 - `chunks` looks at them in between
    assert stream.outcome is not None
    at = before[0] if before else len(events)
    return events[:at], events[at:], stream.outcome


def text_digest(text: str) -> str:
    """Return the hash the index gives for a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def message_of(outcome: Outcome[Any]) -> Message:
    """Return the message that was folded, whole or not."""
    value = outcome.value if isinstance(outcome, Completed) else outcome.partial
    assert isinstance(value, Message)
    return value


_OUTCOMES = {"completed": Completed, "failed": Failed, "interrupted": Interrupted}


def assert_as_recorded(outcome: Outcome[Any], capture: Capture) -> None:
    """Compare outcome, marker, texts, calls, usage and finish reason with the index."""
    expected = capture.expected
    assert isinstance(outcome, _OUTCOMES[expected["outcome"]]), outcome
    if isinstance(outcome, Completed):
        assert outcome.marker == capture.marker
    assert_folded(message_of(outcome), expected)


def assert_folded(message: Message, expected: dict[str, Any]) -> None:
    """Compare a folded message with an entry of the index."""
    assert message.text[:80] == expected.get("text_head", message.text[:80])
    assert text_digest(message.text) == expected["text_sha256"]
    for name in ("reasoning", "refusal"):
        said = getattr(message, name)
        assert text_digest(said) == expected.get(f"{name}_sha256", text_digest("")), name
    assert message.finish_reason == expected["finish_reason"]
    assert message.usage == expected.get("usage")
    assert len(message.tool_calls) == len(expected["tool_calls"])
    for call, wanted in zip(message.tool_calls, expected["tool_calls"], strict=True):
        assert (call.id, call.name) == (wanted["id"], wanted["name"])
        assert text_digest(call.arguments) == wanted["arguments_sha256"]
        if call.finished and call.arguments:
            assert call.valid is wanted["arguments_json_valid"]
