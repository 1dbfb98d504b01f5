"""The feeds that a browser and `connect` read: their events, and how each connection ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from untorn.event import ServerSentEvent

__all__ = ["FEEDS", "READ", "REFUSALS", "TYPES", "Feed", "Tear"]


@dataclass(frozen=True, slots=True)
class Tear:
    """The response ends within the first of these bytes that it sends.

    "end": with a last chunk, as behind a proxy that knows no better; "break": without one.
    """

    within: bytes
    how: Literal["end", "break"]


@dataclass(frozen=True, slots=True)
class Feed:
    """Events, and how the connections end, one after the other.

    `int`: properly, behind so many events; then a 204 if all were sent.
    """

    events: list[ServerSentEvent]
    ends: tuple[int | Tear, ...] = ()
    pause: float = 0.0
    """The seconds before each event."""
    wire: bytes = b""
    """What to send instead, as it is and not through a relay; then a 204."""

    def behind(self, last_event_id: str) -> list[ServerSentEvent]:
        """Return the events that a reader has not got."""
        ids = [event.id for event in self.events]
        return self.events[ids.index(last_event_id) + 1 :] if last_event_id else self.events


def _all_sorts() -> list[ServerSentEvent]:
    """Return an event of each sort that somebody might get wrong."""
    texts = {
        "cjk": "東京は夜の七時",
        "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 \U0001f980",
        "lines": "one\n\n  two\n",
        "only a line end": "\n",
        "blanks": "  two before, one behind ",
        "a tab": "\tx\t",
        "separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
        "colons": ": no comment: at all",
        "fields": "data: x\nid: 9\nevent: y",
        "nothing": "",
        "a mark": "\ufeffx",
        "nul": "a\0b",
        "combining": "e\u0301 ≠ é",
        "long": "長い" * 20_000,
    }
    plain = [ServerSentEvent("message", text, "") for text in texts.values()]
    return [
        *plain,
        ServerSentEvent("update", "named", ""),
        ServerSentEvent("météo 天気", "named beyond ASCII", ""),
        ServerSentEvent("update", "with an id", "first"),
        ServerSentEvent("message", "the id stays in force", "first"),
        ServerSentEvent("message", "another", "事-2 ✓"),
        ServerSentEvent("message", "and none again", ""),
        ServerSentEvent("done", "", "last"),
    ]


_NUMBERED = [
    ServerSentEvent("message", "一", "1", retry=100),
    ServerSentEvent("message", "two", "2"),
    ServerSentEvent("update", "three\n3", "3"),
    ServerSentEvent("message", "four", "事-4", retry=300),
    ServerSentEvent("message", "before 漢 behind", "5"),
    ServerSentEvent("message", "six", "6"),
    ServerSentEvent("message", "seven, and torn", "7"),
    ServerSentEvent("message", "", "8"),
    ServerSentEvent("message", "nine", "9"),
]

# What no relay of ours would write, and a reader has to understand as the standard says.
_WIRE = b"".join(
    [
        b"\xef\xbb\xbf: a comment\r\ndata: behind a mark\r\n\r\n",
        b"data:no blank\rdata:  two\r\r",
        b"data\n\n",
        b"data\ndata\n\n",
        b"event: lost\n\ndata: of no type\n\n",
        b"event: update\nevent:\ndata: of no type either\n\n",
        b"event:update\ndata: named\n\n",
        b"id: a\0b\ndata: an id with NUL\n\n",
        b"id: 1\nnobody: knows\n: a comment\nretry: 1x\nretry: 50\ndata: fields\n\n",
        b" data: another field\n\n",
        b"data: \xff, \xe6\xbc and \xc0\xaf\n\n",
        b"id\ndata: no id any more\n\n",
        b"id:  two blanks\ndata: an id\n\n",
        b"id: moved\n\n",
        b"id: torn\ndata: torn\n",
    ]
)
_READ_FROM_WIRE = [
    ServerSentEvent("message", "behind a mark", ""),
    ServerSentEvent("message", "no blank\n two", ""),
    ServerSentEvent("message", "", ""),
    ServerSentEvent("message", "\n", ""),
    ServerSentEvent("message", "of no type", ""),
    ServerSentEvent("message", "of no type either", ""),
    ServerSentEvent("update", "named", ""),
    ServerSentEvent("message", "an id with NUL", ""),
    ServerSentEvent("message", "fields", "1", retry=50),
    ServerSentEvent("message", "\ufffd, \ufffd and \ufffd\ufffd", "1"),
    ServerSentEvent("message", "no id any more", ""),
    ServerSentEvent("message", "an id", " two blanks"),
]

READ = {
    "sorts": Feed(_all_sorts()),
    "quiet": Feed(
        [
            ServerSentEvent("message", "a", "1"),
            ServerSentEvent("message", "b", "2"),
            ServerSentEvent("done", "c", "3"),
        ],
        pause=0.25,
    ),
    "resumed": Feed(_NUMBERED, (3, Tear("漢".encode(), "end"), Tear(b"torn", "break"), 9)),
    "as written": Feed(_READ_FROM_WIRE, wire=_WIRE),
}
"""The feeds that both read to their ends: the event `done`, or a 204 behind the last event."""

REFUSALS = ("no content", "another type", "a bad gateway")
"""What both take for the end at once."""

FEEDS = (*READ, *REFUSALS)
TYPES = sorted({event.event for feed in READ.values() for event in feed.events} | {"end", "lost"})
