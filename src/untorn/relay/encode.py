"""Events to bytes: the inverse of the framer.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import re
from typing import Final

from ..event import ServerSentEvent

__all__ = ["SseEncoder"]

# The three line ends of the standard, and no other: U+2028 and its like are text.
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_BREAKS: Final = re.compile(r"[\r\n]")
# What the framer makes of any longer time; a reader of 32 bits gives up long before.
_LONGEST_RETRY: Final = 10**18


class SseEncoder:
    """Writes the events of one stream, in order.

    It remembers the last event ID, which stays in force until another is written:
    so it writes an `id` only where that changes, back to `""` too. `last_event_id`
    is what the reader has already: what it sent as `Last-Event-ID`.

    The data comes back as it was, but for its line ends: the standard has no way to
    say which of LF, CRLF and CR a line ended with, and they all come back as LF.
    """

    def __init__(self, last_event_id: str = "") -> None:
        self.last_event_id = last_event_id
        """The ID in force behind what was written so far."""

    def encode(self, event: ServerSentEvent) -> bytes:
        """Return the bytes of an event, blank line included.

        Raises `ValueError`, and has written nothing, for what the format cannot say:
        a line end in `event` or `id`, which would begin a field of its own; NUL in
        `id`; half a surrogate pair anywhere; a `retry` that is no count of ms, or one
        of over 10**18, which untorn reads as that.
        """
        lines = []
        if event.event not in ("", "message"):
            lines.append(f"event: {_one_line('event', event.event)}\n")
        if event.id != self.last_event_id:
            lines.append(f"id: {_id(event.id)}\n" if event.id else "id\n")
        if event.retry is not None:
            lines.append(f"retry: {_milliseconds(event.retry)}\n")
        lines.append(f"data: {_data(event.data)}\n\n")
        written = _utf8("".join(lines))
        self.last_event_id = event.id
        return written


def _data(text: str) -> str:
    if "\r" in text:
        return _LINE_END.sub("\ndata: ", text)
    return text.replace("\n", "\ndata: ")


def _id(text: str) -> str:
    if "\0" in text:
        raise ValueError(
            f"The id {text!r} holds a NUL, and a reader would ignore it; choose ids without"
        )
    return _one_line("id", text)


def _one_line(field: str, text: str) -> str:
    if _BREAKS.search(text):
        raise ValueError(
            f"The {field} {text!r} holds a line end, and what follows it would be read as "
            f"a field of its own; put such text into data"
        )
    return text


def _milliseconds(retry: object) -> int:
    if isinstance(retry, int) and abs(retry) > _LONGEST_RETRY:  # its digits may be too many to show
        raise ValueError("retry has over 18 digits: give milliseconds from 0 to 10**18")
    if isinstance(retry, bool) or not isinstance(retry, int) or retry < 0:
        raise ValueError(f"retry={retry!r}: give a whole number of milliseconds, 0 or more")
    return int(retry)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise ValueError(
            f"The event holds {half!r}, half a surrogate pair, which UTF-8 cannot say; "
            "join the halves, or write U+FFFD in its place"
        ) from None
