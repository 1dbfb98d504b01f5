"""Kubernetes watch.

https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes:
one `{"type", "object"}` per line. A watch has no success: the server ends it
after some time, and the client goes on from the last resource version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from ..event import event
from ..faults import ProtocolViolation, ServiceError
from ..limits import Limits
from ..ndjson import LineFramer
from ..payload import parse_json
from ..reduce import Dialect, Framer, Reducer
from .typed import Payload, code_of, mapping, string

__all__ = ["KubernetesWatch", "WatchEvent", "WatchState"]


@event
class WatchEvent:
    """A change: `type` is `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or one to come.

    `object` is whole: as it is now, as it was before it was deleted, or for a
    bookmark nothing but its `metadata.resourceVersion`.
    """

    type: str
    object: dict[str, Any]


@final
@dataclass(frozen=True, slots=True)
class WatchState:
    """Where to go on.

    `resource_version` is that of the last event, `None` before the first. If
    `expired`, the server has forgotten it (410 Gone): list again, and watch from
    the version of that list.
    """

    resource_version: str | None = None
    expired: bool = False


@final
@dataclass(frozen=True, slots=True)
class KubernetesWatch(Dialect[WatchEvent, WatchState]):
    """A Kubernetes watch, `application/json` with one event per line.

    It never completes: the end of the transport is an interruption, an ordinary
    one. `ERROR` fails it with the words of its `Status`; see `WatchState.expired`.
    """

    media_types = frozenset({"application/json"})  # in lines, to whoever asked for a watch

    def framer(self, limits: Limits) -> Framer:
        """Return the second stage of one stream."""
        return LineFramer(limits.frame_bytes)

    def reducer(self, limits: Limits) -> Reducer[WatchEvent, WatchState]:
        """Return the state for one stream."""
        return _WatchReducer()


class _WatchReducer(Reducer[WatchEvent, WatchState]):
    def __init__(self) -> None:
        self._resource_version: str | None = None
        self._expired = False

    @property
    def value(self) -> WatchState:
        return WatchState(self._resource_version, self._expired)

    def feed(self, frame: str) -> Iterator[WatchEvent]:
        change = parse_json(frame)
        if isinstance(change, dict) and change.get("kind") == "Status":
            raise self._error(change)  # the answer to a request that was refused
        if not isinstance(change, dict) or not string(change, "type"):
            raise ProtocolViolation(
                "The line is JSON, but not a watch event; check that the request has watch=1"
            )
        object = mapping(change, "object")
        if change["type"] == "ERROR":
            raise self._error(object)
        version = string(mapping(object, "metadata"), "resourceVersion")
        self._resource_version = version or self._resource_version
        yield WatchEvent(change["type"], object)

    def _error(self, status: Payload) -> ServiceError:
        """Return a `Status` as a fault, and note whether the version has expired."""
        code, reason = code_of(status), string(status, "reason")
        self._expired = code == 410 or reason in ("Expired", "Gone")
        return ServiceError(
            string(status, "message") or None,
            type=reason or None,
            service_code=code,
            raw=status,
        )
