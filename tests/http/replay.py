"""A feed that is kept by its service, who replays it from any event on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from untorn import parse
from untorn.dialects import Sse

__all__ = ["FEED", "Entry", "Replay", "entry"]

Entry: TypeAlias = tuple[str | None, bytes]
"""The id of an event, if it has one of its own, and the bytes of it and of what stands before."""


def entry(id: str | None, *data: str, before: str = "", eol: str = "\n", **fields: str) -> Entry:
    """Return an event of these lines of data; `before` stands before it as it is."""
    lines = [f"{name}: {value}" for name, value in fields.items()]
    lines += [] if id is None else [f"id: {id}"]
    lines += [f"data: {line}" for line in data]
    return id, (before + eol.join([*lines, "", ""])).encode()


FEED = [
    entry("1", "one"),
    entry("zwei-é", "two", "and a half", eol="\r\n"),
    entry(None, "two, again"),
    entry(None, "two, again"),
    entry("🦊 3", "three 从前", before=": keepalive\n\n", event="fox"),
    entry("4", "", eol="\r", retry="0"),
    entry("5", "five", before="retry: 0\n\n: one\n: two\n"),
    entry("6", "END", eol="\r\n"),
]
"""One of everything; the last event completes it."""


@dataclass
class Replay:
    """Serves a feed from an event on: behind it, or with it (`inclusive`)."""

    feed: Sequence[Entry]
    inclusive: bool

    def wire(self, last_event_id: str | None) -> bytes:
        """Return what follows an id; all of it where there is none."""
        start = 0
        if last_event_id is not None:
            ids = [id for id, _ in self.feed]
            start = ids.index(last_event_id) + (not self.inclusive)
        return b"".join(block for _, block in self.feed[start:])

    @property
    def events(self) -> list[tuple[str, str, str]]:
        """The events of the feed, read in one go."""
        stream = parse([self.wire(None)], Sse())
        return [words(event) for event in stream.events()]


def words(event: Any) -> tuple[str, str, str]:
    """Return what an event says."""
    return event.event, event.data, event.id
