"""The events of chat dialects, and the message they fold into.

Every event is of one of four kinds: a delta (`TextDelta`, `ReasoningDelta`,
`RefusalDelta`, `ToolCallDelta`, `ToolCallDone`, `UsageUpdate`), a `Snapshot`, an
error (which is no event but the outcome `Failed`), or the completion (`Finish`).
What a dialect does not know it passes through as `Other`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, dataclass_transform

__all__ = [
    "ChatEvent",
    "Choice",
    "Disposition",
    "Finish",
    "JsonEvent",
    "Message",
    "Other",
    "ReasoningDelta",
    "RefusalDelta",
    "ServerSentEvent",
    "Snapshot",
    "TextDelta",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallDone",
    "UsageUpdate",
]

T = TypeVar("T")

if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True)
    def event(cls: type[T]) -> type[T]: ...

else:
    # Frozen for the type checker only: at run time a frozen dataclass costs three
    # times a plain one, and one is made per event.
    event = dataclass(slots=True, unsafe_hash=True)


@event
class ServerSentEvent:
    """An event of the HTML Standard.

    `event` is its type (`"message"` where none was given), `id` the last event
    ID in force, `retry` the reconnection time in ms if its block set one.
    """

    event: str
    data: str
    id: str
    retry: int | None = None


@event
class JsonEvent:
    """A JSON value.

    `id` is the last event id in force (`""` before the first); `None` on wires whose
    frames have no ids, such as lines.
    """

    id: str | None
    data: Any


@event
class TextDelta:
    """A piece of the answer's text, never trimmed."""

    text: str
    choice: int = 0


@event
class ReasoningDelta:
    """A piece of the reasoning, as far as the service shows it."""

    text: str
    choice: int = 0


@event
class RefusalDelta:
    """A piece of a refusal, where the service keeps it apart from the answer."""

    text: str
    choice: int = 0


@event
class ToolCallDelta:
    """A piece of a tool call: `arguments` is a fragment, not JSON.

    `index` counts the calls of a choice from 0; `id` and `name` are those known
    by now.
    """

    index: int
    id: str | None
    name: str | None
    arguments: str
    choice: int = 0


@event
class ToolCallDone:
    """A tool call is finished: its end was seen.

    Look at `call.valid` before you run it: models also finish calls with arguments that
    are no JSON. Some services (Anthropic) also report the calls of tools that they run themselves.
    """

    index: int
    call: ToolCall
    choice: int = 0


@event
class UsageUpdate:
    """Token counts so far, in the service's own words; the last one stands."""

    usage: Any


@event
class Snapshot:
    """A whole value that replaces what was folded before."""

    value: Any


@event
class Other:
    """Something this dialect passes through: an event or a field without a name of ours."""

    name: str
    data: Any


Disposition: TypeAlias = Literal["complete", "tool", "truncated", "filtered", "paused", "unknown"]
"""What an ended answer is good for; `Completed` alone says nothing about content.

`complete`
    The model has said all it wanted to say.
`tool`
    It waits for the results of its tool calls.
`truncated`
    A bound on its length cut it off.
`filtered`
    It refused, or a filter of the service stepped in.
`paused`
    The service wants to be asked again, to go on.
`unknown`
    The service gave no reason, or one that has no name here.
"""


@event
class Finish:
    """The model has stopped.

    `reason` is the service's word for why, if it gave one; `disposition` says what the
    answer is good for.
    """

    reason: str | None
    disposition: Disposition


ChatEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | RefusalDelta
    | ToolCallDelta
    | ToolCallDone
    | UsageUpdate
    | Snapshot
    | Finish
    | Other
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as folded.

    `arguments` is the exact concatenation of its fragments. `finished`: its end was seen.
    `valid`: it is finished, and the arguments are JSON (none at all mean `{}`): so it may
    be run, if it is yours to run.
    """

    id: str | None
    name: str | None
    arguments: str
    valid: bool
    finished: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers to one request; `extra` as in `Message`."""

    index: int = 0
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    disposition: Disposition = "unknown"
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """An answer as folded so far.

    `text` and the rest are choice 0's; `choices` has all of them, by index.
    `extra` holds what a dialect keeps beyond the shared vocabulary (citations,
    log probabilities, signatures, ...), in the service's own words: what belongs
    to the whole answer, and what belongs to choice 0.
    """

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    disposition: Disposition = "unknown"
    usage: Any = None
    choices: tuple[Choice, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
