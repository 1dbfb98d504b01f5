"""What a stream looks like: to people as text and notes, to programs as lines of JSON."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, assert_never

from ..event import (
    JsonEvent,
    Message,
    ReasoningDelta,
    RefusalDelta,
    ServerSentEvent,
    TextDelta,
    ToolCall,
    ToolCallDone,
)
from ..faults import UnexpectedResponse
from ..json_text import event_name, fields_of, json_text
from ..outcome import Completed, Failed, Interrupted, Outcome, StreamInterrupted
from .output import Notes, Output
from .redaction import Redaction

__all__ = [
    "JsonShow",
    "Show",
    "TextShow",
    "conclusion",
    "event_object",
    "kept",
    "outcome_object",
    "sentence",
]


class Show(ABC):
    """Shows the events of one stream, then its outcome."""

    @abstractmethod
    async def event(self, event: Any) -> None:
        """Show an event."""

    @abstractmethod
    async def outcome(self, outcome: Outcome[Any]) -> None:
        """Show how the stream ended."""


class JsonShow(Show):
    """One object per line: `kind` says what it is, the last one is the `outcome`."""

    def __init__(self, out: Output, redaction: Redaction | None = None) -> None:
        self._out = out
        self._redaction = redaction or Redaction()

    async def event(self, event: Any) -> None:
        """Write an event: its fields, under the names they have in Python."""
        await self._write(event_object(event))

    async def outcome(self, outcome: Outcome[Any]) -> None:
        """Write the outcome, with the folded value."""
        await self._write({"kind": "outcome", **outcome_object(outcome)})

    async def _write(self, value: dict[str, Any]) -> None:
        self._out.write(self._redaction.json(json_text(value)) + "\n")
        await self._out.flush()


_NOTED = (ReasoningDelta, RefusalDelta, ToolCallDone)


class TextShow(Show):
    """The text on standard output, exactly; all else on standard error.

    Of several choices, 0 is written as it comes and the others at the end. Events
    that are no part of an answer are the output themselves, one line each, where
    the dialect has no answer (`is_chat` is false).
    """

    def __init__(self, out: Output, notes: Notes, *, is_chat: bool) -> None:
        self._out = out
        self._notes = notes
        self._is_chat = is_chat
        self._shares = out.shares(sys.stderr)
        self._text: list[str] = []
        self._aside: type | None = None  # what is being written as a note

    async def event(self, event: Any) -> None:
        """Write what a reader of the answer wants to see."""
        if getattr(event, "choice", 0) != 0:
            return
        if self._shares and isinstance(event, _NOTED):
            self._out.release()
            await self._out.flush()
        match event:
            case TextDelta(text):
                self._write(text)
            case ReasoningDelta(text):
                self._note(ReasoningDelta, "reasoning: ", text, "dim")
            case RefusalDelta(text):
                self._note(RefusalDelta, "refusal: ", text, "yellow")
            case ToolCallDone(_, call):
                self._line(f"tool call: {_call(call)}", "cyan")
            case _ if not self._is_chat:
                self._out.write(_plain(event) + "\n")
        await self._out.flush()

    async def outcome(self, outcome: Outcome[Any]) -> None:
        """Say how the stream ended, and what there is of the answer."""
        value = outcome.value if isinstance(outcome, Completed) else outcome.partial
        if isinstance(value, Message):
            self._complement(value)
        self._out.release()
        await self._out.flush()
        if isinstance(value, Message):
            self._details(value)
        for line, style in conclusion(outcome):
            self._line(line, style)
        if self._out.is_terminal and not self._out.at_line_start and not self._shares:
            self._out.write("\n")
        await self._out.flush()

    def _write(self, text: str) -> None:
        self._notes.release()
        if not self._notes.at_line_start:
            self._notes.piece("\n")
        self._aside = None
        self._text.append(text)
        self._out.write(text)

    def _complement(self, value: Message) -> None:
        """Write the text that came in no delta, and say so if some was taken back."""
        written = "".join(self._text)
        if value.text.startswith(written):
            if value.text != written:
                self._write(value.text[len(written) :])
        else:
            self._line("The service replaced text it had sent; --json shows the last.", "yellow")

    def _details(self, value: Message) -> None:
        for choice in value.choices:
            if choice.index != 0:
                self._line(f"choice {choice.index}: {choice.text}")
        for call in value.tool_calls:
            if not call.finished:
                self._line(f"unfinished tool call, not to be run: {_call(call)}", "yellow")
        if value.usage is not None:
            self._line(f"usage: {json_text(value.usage)}", "dim")

    def _note(self, kind: type, label: str, text: str, style: str) -> None:
        """Write a piece of a note, behind its label where it begins."""
        if self._aside is not kind:
            self._end_line()
            self._notes.piece(label, style)
            self._aside = kind
        self._notes.piece(text, style)

    def _line(self, text: str, style: str = "") -> None:
        self._end_line()
        self._aside = None
        self._notes.piece(text + "\n", style)
        self._notes.release()

    def _end_line(self) -> None:
        """End the line that something else has begun, without a byte more in the output."""
        self._notes.release()
        hangs = self._shares and not self._out.at_line_start
        if hangs or not self._notes.at_line_start:
            self._notes.piece("\n")
            self._out.at_line_start = True


_STYLES = {Completed: "bold green", Interrupted: "bold yellow", Failed: "bold red"}


# --- in words -----------------------------------------------------------------------


def conclusion(outcome: Outcome[Any]) -> Iterator[tuple[str, str]]:
    """Yield the lines that say how a stream ended and what there is of it, with their styles."""
    yield sentence(outcome), _STYLES[type(outcome)]
    if isinstance(outcome, Failed) and isinstance(outcome.error, UnexpectedResponse):
        if outcome.error.code == "content-type":
            yield "To read it all the same, pipe the body into `untorn read -`.", ""
    elif not isinstance(outcome, Completed):
        yield f"Kept: {kept(outcome)}.", ""


def sentence(outcome: Outcome[Any]) -> str:
    """Return how a stream ended, as a plain sentence."""
    match outcome:
        case Completed(value, marker, position):
            reason = ""
            if isinstance(value, Message):
                reason = f", finish reason {value.finish_reason or 'not given'}"
            where = f"at byte {position.bytes}, after {_count(position.events, 'event')}"
            return f"Completed: {marker} came {where}{reason}."
        case Interrupted():
            return f"Interrupted: {StreamInterrupted(outcome)}."
        case Failed(error):
            return f"Failed: {error}."
        case _:
            assert_never(outcome)


def kept(outcome: Interrupted[Any] | Failed[Any]) -> str:
    """Return what arrived whole, in words."""
    if outcome.retry_safe:
        return "nothing, so nothing is repeated by asking again"
    parts = [_count(outcome.position.events, "event")]
    value = outcome.partial
    if isinstance(value, Message):
        parts.append(f"{_count(len(value.text), 'character')} of text")
        finished = sum(call.finished for call in value.tool_calls)
        if finished:
            parts.append(_count(finished, "finished tool call"))
        if unfinished := len(value.tool_calls) - finished:
            parts.append(_count(unfinished, "unfinished tool call"))
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _call(call: ToolCall) -> str:
    return f"{call.name or 'without a name'}({call.arguments})"


def _plain(event: Any) -> str:
    """Return an event as one line."""
    match event:
        case ServerSentEvent(type, data, id):
            name = f"{type} [{id}]" if id else type
            return f"{name}: {data}".replace("\n", "\\n")
        case JsonEvent(_, value):
            return json_text(value)
        case _:
            return json_text(event_object(event))


# --- as JSON ------------------------------------------------------------------------


def event_object(event: Any) -> dict[str, Any]:
    """Return an event as an object: its kind, and its fields by their names in Python."""
    rest = fields_of(event) if is_dataclass(event) else {"data": event}
    return {"kind": event_name(event), **rest}


def outcome_object(outcome: Outcome[Any]) -> dict[str, Any]:
    """Return an outcome as an object, with the folded value."""
    head = {"outcome": type(outcome).__name__.lower(), "sentence": sentence(outcome)}
    rest = fields_of(outcome) | {"retry_safe": outcome.retry_safe}
    match outcome:
        case Completed():
            return head | rest
        case Interrupted(cause, torn, error):
            said = None if error is None else repr(error)
            return head | rest | {"cause": cause.value, "torn": torn.value, "error": said}
        case Failed(error):
            return head | rest | {"error": {"code": error.code, **vars(error)}}
        case _:
            assert_never(outcome)
