"""Agent2Agent (A2A) `SendStreamingMessage` and `SubscribeToTask`.

https://a2a-protocol.org/latest/specification/#streaming-operations: Server-Sent
Events, each a `StreamResponse` with one of `task`, `message`, `statusUpdate`,
`artifactUpdate`; in the JSON-RPC binding the `result` of a response, in the
HTTP+JSON binding by itself. The names of 0.3 (`kind`, `input-required`) are read
too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from ..event import ChatEvent, Disposition, Message, Other, Snapshot, TextDelta
from ..faults import ServiceError
from ..frame import SseFrame
from ..limits import Limits
from ..outcome import Cause
from ..reduce import Dialect, Reducer
from ..stage import Ending
from .kept import Kept, to_json
from .message import MessageFold
from .typed import Payload, code_of, items, mapping, object_of, string

__all__ = ["A2A"]

_PREFIX: Final = "TASK_STATE_"
_COMPLETES: Final[dict[str, Disposition]] = {
    "COMPLETED": "complete",
    "INPUT_REQUIRED": "paused",
    "AUTH_REQUIRED": "paused",
}
_FAILS: Final = frozenset({"FAILED", "REJECTED"})
_CANCELED: Final = "CANCELED"
_KINDS_OF_0_3: Final = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}


@final
@dataclass(frozen=True, slots=True)
class A2A(Dialect[ChatEvent, Message]):
    """A task of another agent, or its one message.

    Completes at a state that ends the stream, which is the marker and the finish
    reason: `TASK_STATE_COMPLETED`, or `..._INPUT_REQUIRED` and
    `..._AUTH_REQUIRED` (disposition `paused`); and at a `message` (marker
    `"message"`). Fails at `..._FAILED`, `..._REJECTED` and an `error`. At
    `..._CANCELED` it is interrupted, `CANCELLED`.

    `text` is that of all artifacts. A `task`, and an artifact that takes the place
    of another, are handed out as `Snapshot`; a new artifact and what is appended
    to one as `TextDelta`. Updates are handed out whole too, as `Other`. `extra`
    has `task`, `status`, `artifacts` (by id) and `message`.
    """

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _A2AReducer(limits.value_bytes)


class _Artifact:
    """An artifact: its latest fields, and all its parts."""

    __slots__ = ("fields", "parts")

    def __init__(self) -> None:
        self.fields: Payload = {}
        self.parts: list[Any] = []

    def whole(self) -> Payload:
        return {**self.fields, "parts": list(self.parts)}


class _A2AReducer(Reducer[ChatEvent, Message]):
    def __init__(self, value_bytes: int) -> None:
        self._fold = MessageFold(value_bytes)
        self._choice = self._fold.choice()
        self._extra: dict[str, Any] = {}
        self._kept = Kept(self._extra, self._fold.budget)
        self._artifacts: dict[str, _Artifact] = {}
        self._handlers: dict[str, Callable[[Payload], Iterator[ChatEvent]]] = {
            "task": self._on_task,
            "message": self._on_message,
            "statusUpdate": self._on_status_update,
            "artifactUpdate": self._on_artifact_update,
        }

    @property
    def value(self) -> Message:
        artifacts = {id: artifact.whole() for id, artifact in self._artifacts.items()}
        self._fold.extra = {**self._extra, "artifacts": artifacts}
        return self._fold.message()

    def feed(self, frame: SseFrame) -> Iterator[ChatEvent]:
        event, data, _, _ = frame
        response = object_of(event, data)
        if event == "error" or response.get("error") is not None:
            raise _error(response)
        for name, value in _found(response).items():
            if name in self._handlers and isinstance(value, dict):
                yield from self._handlers[name](value)
            elif name not in ("jsonrpc", "id"):
                yield Other(name, value)
            if self.ended is not None:
                return

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        return self._fold.flush()

    def _on_task(self, task: Payload) -> Iterator[ChatEvent]:
        """Put a snapshot in the place of the task."""
        status = mapping(task, "status")
        if _fails(status):
            task = {**task, "status": {"state": status["state"]}}
        self._kept.put("task", task)
        for id in self._artifacts:
            self._choice.drop(TextDelta, id)
        self._artifacts.clear()
        for artifact in items(task, "artifacts"):
            id = string(artifact, "artifactId")
            self._grow(id, artifact)
            self._choice.part(TextDelta, id).add(_text(artifact))
        yield Snapshot(task)
        yield from self._on_status(status)

    def _on_message(self, message: Payload) -> Iterator[ChatEvent]:
        self._kept.put("message", message)
        yield from self._choice.add(TextDelta, _text(message), "message")
        yield from self._finish(None, "message", "complete")

    def _on_status_update(self, update: Payload) -> Iterator[ChatEvent]:
        status = mapping(update, "status")
        if not _fails(status):
            yield Other("statusUpdate", update)
        yield from self._on_status(status)

    def _on_artifact_update(self, update: Payload) -> Iterator[ChatEvent]:
        yield Other("artifactUpdate", update)
        artifact = mapping(update, "artifact")
        id = string(artifact, "artifactId")
        replaces = id in self._artifacts and update.get("append") is not True
        if replaces:
            del self._artifacts[id]
        self._fold.budget.spend(to_json(artifact))
        self._grow(id, artifact)
        if replaces:
            self._choice.part(TextDelta, id).replace(_text(artifact))
            yield Snapshot(artifact)
        else:
            yield from self._choice.add(TextDelta, _text(artifact), id)

    def _grow(self, id: str, artifact: Payload) -> None:
        kept = self._artifacts.setdefault(id, _Artifact())
        kept.fields |= artifact
        parts = artifact.get("parts")
        kept.parts += parts if isinstance(parts, list) else []

    def _on_status(self, status: Payload) -> Iterator[ChatEvent]:
        """Decide by the state of the task."""
        state = string(status, "state")
        if not state:
            return
        if _fails(status):
            message = _text(mapping(status, "message"))
            raise ServiceError(message or None, type=state, raw=status)
        self._kept.put("status", status)
        bare = _bare(state)
        if bare in _COMPLETES:
            yield from self._finish(state, state, _COMPLETES[bare])
        elif bare == _CANCELED:
            self._choice.finish_reason = state
            yield from self._fold.flush()
            self.interrupt(Cause.CANCELLED)

    def _finish(
        self, reason: str | None, marker: str, disposition: Disposition
    ) -> Iterator[ChatEvent]:
        yield from self._fold.flush()
        self._choice.finish_reason, self._choice.disposition = reason, disposition
        self.complete(marker)
        yield self._fold.finish()


def _found(response: Payload) -> Payload:
    """Return what a response has found, under the names that it has since version 1."""
    result = response.get("result")
    found = result if isinstance(result, dict) else response
    kind = _KINDS_OF_0_3.get(string(found, "kind"))
    return found if kind is None else {kind: found}


def _bare(state: str) -> str:
    """Return the name of a state without what the versions of the protocol write around it."""
    return state.upper().replace("-", "_").removeprefix(_PREFIX)


def _fails(status: Payload) -> bool:
    """Say whether a status is a failure: what it says is in the fault, and in no event."""
    return _bare(string(status, "state")) in _FAILS


def _text(of: Payload) -> str:
    """Return the text of the parts of a message or an artifact."""
    return "".join(string(part, "text") for part in items(of, "parts"))


def _error(response: Payload) -> ServiceError:
    """Return the error of JSON-RPC `{code, message}` or of HTTP+JSON `{code, status, message}`."""
    error = response.get("error", response)
    said = error if isinstance(error, dict) else {"message": error}
    return ServiceError(
        string(said, "message") or None,
        type=string(said, "status") or None,
        service_code=code_of(said),
        raw=response,
    )
