"""Which request a feed makes next, so that nothing is lost and nothing is asked for twice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..faults import UnexpectedResponse
from ..outcome import Failed, Interrupted

__all__ = ["Asking", "NotResumable", "Resumption", "is_sendable"]

# RFC 9110, 9.2.2: a client may repeat these by itself, and should not repeat any other.
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"})
# RFC 9110, 5.5; and no bytes stand for half of a surrogate pair.
_IN_NO_FIELD: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# Statuses with which a service says that it has not acted on the request.
_NOT_ACTED_ON: Final = frozenset({408, 425, 429, 503})


class NotResumable(Exception):
    """A feed was cut, and goes on neither behind an event nor from its beginning.

    It is the `error` of an `Interrupted` outcome. Its `__cause__` is what the
    transport raised, if anything.
    """


@dataclass(frozen=True, slots=True)
class Asking:
    """A request: its method, and what else the client takes (which may be secret)."""

    method: str
    options: Mapping[str, Any] = field(repr=False)

    def __post_init__(self) -> None:
        for name, value in self.options.items():
            if hasattr(value, "__next__") or hasattr(value, "__anext__"):
                raise TypeError(
                    f"{name} can be read only once, and a feed may send its request again; "
                    "give what can be read again: bytes, a list"
                )

    def behind(self, last_event_id: str) -> Asking:
        """Return the request for what follows an event; HTML Standard, 9.2.4."""
        given = self.options.get("headers") or {}
        pairs = given.items() if hasattr(given, "items") else given
        others = [(name, value) for name, value in pairs if not _is_last_event_id(name)]
        value = _field_value(last_event_id)
        headers = [*others, ("Last-Event-ID", value)] if value else others
        return Asking(self.method, {**self.options, "headers": headers})


def is_sendable(last_event_id: str) -> bool:
    """Say whether a header can carry this id."""
    return _IN_NO_FIELD.search(last_event_id) is None


def _field_value(last_event_id: str) -> bytes:
    """Return what is sent for an id; nothing for one that no header can carry.

    No field value begins or ends with a blank (RFC 9110, 5.5).
    """
    if not is_sendable(last_event_id):
        return b""
    return last_event_id.strip(" \t").encode()


def _is_last_event_id(name: str | bytes) -> bool:
    return (name if isinstance(name, bytes) else name.encode()).lower() == b"last-event-id"


class Resumption:
    """How far a feed has come, and what to ask for next.

    `first` is the request that opens the feed, where that is another than the one
    which resumes it; it is made once.
    """

    def __init__(
        self, again: Asking, first: Asking | None, last_event_id: str, accept_gaps: bool
    ) -> None:
        self._again = again
        self._first = None if last_event_id else first
        self._accept_gaps = accept_gaps
        self.last_event_id = last_event_id
        """What the next connection goes on behind."""
        self.handed_out = False
        """Whether any event was."""

    @property
    def next(self) -> Asking:
        """The request to make now."""
        return self._first or self._again.behind(self.last_event_id)

    @property
    def resumed_from(self) -> str | None:
        """The id that the request names, if it names one."""
        named = self._first is None and _field_value(self.last_event_id)
        return self.last_event_id if named else None

    def refuse(self, ended: Failed[Any] | Interrupted[Any]) -> str | None:
        """Return why there is no request to make behind a connection; `None` if there is one."""
        acted_on = not _is_not_acted_on(ended)
        if _field_value(self.last_event_id) or (self._accept_gaps and acted_on):
            self._first = None
        elif self.handed_out and not self._accept_gaps:
            return self._why_not_behind()
        elif acted_on and self.next.method not in _IDEMPOTENT and not self._accept_gaps:
            return (
                f"The feed was cut before its first id, and a {self.next.method} must not be "
                "sent twice; find out what became of the first before you send it again"
            )
        return None

    def _why_not_behind(self) -> str:
        if is_sendable(self.last_event_id):
            why, wish = "its events have no ids to go on behind", "ids"
        else:
            [strange, *_] = _IN_NO_FIELD.findall(self.last_event_id)
            why = f"no header can carry its last id, which has {strange!r} in it"
            wish = "ids without control characters"
        return (
            f"The feed was cut and cannot be resumed, for {why}; ask the service for {wish}, "
            "or say accept_gaps=True if what was missed does not matter"
        )


def _is_not_acted_on(ended: Failed[Any] | Interrupted[Any]) -> bool:
    """Say whether the service has certainly done nothing, so that any request may be repeated."""
    error = ended.error
    if isinstance(error, UnexpectedResponse):
        return error.status in _NOT_ACTED_ON
    # By name, for no client is imported: no connection, so nothing was sent on it.
    return type(error).__name__ in ("ConnectError", "ConnectTimeout", "PoolTimeout")
