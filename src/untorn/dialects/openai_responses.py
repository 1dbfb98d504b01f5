"""OpenAI Responses, and the services that copy it.

https://platform.openai.com/docs/api-reference/responses-streaming

Pieces are put together by position (`output_index` and the index within the
item), never by id: some gateways give a new id to every event. A call that the
service runs itself (web search, code, MCP) is no tool call of ours: its events
pass through, and its item is kept in `extra["output"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, final

from ..event import (
    ChatEvent,
    Disposition,
    Finish,
    Message,
    Other,
    ReasoningDelta,
    RefusalDelta,
    Snapshot,
    TextDelta,
    UsageUpdate,
)
from ..faults import shortened
from ..limits import Limits
from ..outcome import Cause
from ..reduce import Dialect, Reducer
from ..stage import Ending
from .kept import Kept
from .message import CallFold, TextFold
from .typed import Payload, TypedReducer, gap, items, mapping, position, service_error, string

__all__ = ["OpenAIResponses"]

Kind: TypeAlias = type[TextDelta | ReasoningDelta | RefusalDelta]


class _Part(NamedTuple):
    """A text that grows inside an item: what it is, and where it stands."""

    kind: Kind
    item: str
    list: str
    position: str
    field: str


_PARTS: Final = {
    "output_text": _Part(TextDelta, "message", "content", "content_index", "text"),
    "refusal": _Part(RefusalDelta, "message", "content", "content_index", "refusal"),
    "reasoning_text": _Part(ReasoningDelta, "reasoning", "content", "content_index", "text"),
    "reasoning_summary_text": _Part(
        ReasoningDelta, "reasoning", "summary", "summary_index", "text"
    ),
}
# In a snapshot the same part has the type "summary_text".
_PART_TYPES: Final = {**_PARTS, "summary_text": _PARTS["reasoning_summary_text"]}
# Calls that the client answers: what their growing argument is called, in events and in items.
_CALLS: Final = {
    "function_call_arguments": ("function_call", "arguments"),
    "custom_tool_call_input": ("custom_tool_call", "input"),
}
_CALL_FIELDS: Final = dict(_CALLS.values())
# Items that wait for the client without being calls with arguments.
_ACTIONS: Final = frozenset({"apply_patch_call", "computer_call", "local_shell_call"})
# What is folded of such an item, or of a message, and so counted already.
_FOLDED: Final = frozenset({"content", "summary", "arguments", "input"})
_INCOMPLETE: Final[dict[str, Disposition]] = {
    "max_output_tokens": "truncated",
    "content_filter": "filtered",
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIResponses(Dialect[ChatEvent, Message]):
    """OpenAI `/v1/responses`, also of Azure, Bedrock, DeepSeek and OpenRouter.

    Completes at `response.completed` or `response.incomplete` (the marker); the
    disposition says which, `finish_reason` is the status or the reason why it is
    incomplete. Fails at `error`, `response.failed`, and a response that ends with
    the status `failed` or with an `error`, whatever its event says, and at
    `response.completed` if the item of a call never came: its id and name are lost.
    A response that was cancelled is `Interrupted(CANCELLED)`. The end of the
    transport, and a `[DONE]`, before the marker are interruptions.

    Snapshots (`*.done` and the response at the end) make no event where they
    agree with the deltas. One that comes alone is handed out as deltas. One that
    disagrees replaces what was folded, and `Snapshot` holds the whole message; so
    it does where items did not come in their order.

    Summaries of reasoning are paragraphs: a blank line is put between two.

    `ToolCallDone` comes at the end of a call's arguments, or with its item where the
    arguments come first, as in a stream that is resumed. In an incomplete response
    a call that did not end before is finished only if the status of its item is
    `completed`. The input of a custom tool is free text; look at `finished`, not at
    `valid`.

    `extra`: `response` (the latest, without `output`), `output` (the items, with
    encrypted reasoning and the tools the service ran), `annotations`,
    `logprobs`, `sequence_number` (the last, for `starting_after`), `deltas`
    (texts of other kinds, such as an audio transcript, by name and `output_index`).
    """

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _ResponsesReducer(limits.value_bytes)


class _ResponsesReducer(TypedReducer):
    def __init__(self, value_bytes: int) -> None:
        super().__init__(value_bytes)
        self._response: Payload = {}
        self._types: dict[int, str] = {}
        self._output: dict[int, Payload] = {}
        self._kept_items = Kept({}, self.fold.budget)
        self._annotations: dict[tuple[int, int, int], Payload] = {}
        self._logprobs: list[Any] = []
        self._deltas: dict[str, dict[int, TextFold]] = {}
        self._sequence_number: int | None = None
        self._replaced = False
        self._handlers: dict[str, Callable[[str, Payload], Iterable[ChatEvent]]] = {
            "error": self._on_error,
            "response.created": self._on_response,
            "response.queued": self._on_response,
            "response.in_progress": self._on_response,
            "response.completed": self._on_end,
            "response.incomplete": self._on_end,
            "response.failed": self._on_end,
            "response.cancelled": self._on_end,
            "response.output_item.added": self._on_item_added,
            "response.output_item.done": self._on_item_done,
            "response.content_part.added": self._on_part_added,
            "response.content_part.done": self._on_part_done,
            "response.reasoning_summary_part.added": self._on_part_added,
            "response.reasoning_summary_part.done": self._on_part_done,
            "response.output_text.annotation.added": self._on_annotation,
        }

    def extra(self) -> Payload:
        found: Payload = {
            "response": self._response,
            "output": [self._output[index] for index in sorted(self._output)],
            "annotations": [self._annotations[place] for place in sorted(self._annotations)],
            "logprobs": list(self._logprobs),
            "deltas": {
                name: {index: str(text) for index, text in texts.items()}
                for name, texts in self._deltas.items()
            },
            "sequence_number": self._sequence_number,
        }
        return {name: value for name, value in found.items() if value not in ({}, [], None)}

    def on_payload(self, kind: str, payload: Payload) -> Iterator[ChatEvent]:
        number = payload.get("sequence_number")
        if isinstance(number, int):
            self._sequence_number = number
        name, _, verb = kind.removeprefix("response.").rpartition(".")
        if kind in self._handlers:
            yield from self._handlers[kind](kind, payload)
        elif payload.get("error") and not kind.startswith("response."):
            yield from self._on_error(kind, payload)
        elif name in _PARTS and verb in ("delta", "done"):
            yield from self._on_text(_PARTS[name], verb, payload)
        elif name in _CALLS and verb in ("delta", "done"):
            yield from self._on_arguments(name, verb, payload)
        else:
            yield from self._on_other(kind, name if verb == "delta" else "", payload)
        if self._replaced:
            yield from self._snapshot()

    def end(self, ending: Ending) -> Iterator[ChatEvent]:
        """Return what was held back, and a snapshot where a fault came between."""
        yield from super().end(ending)
        yield from self._snapshot()

    def _snapshot(self) -> Iterator[ChatEvent]:
        """Say that what was handed out does not stand any more, if something was replaced."""
        if self._replaced:
            self._replaced = False
            yield Snapshot(self.value)

    # --- texts ----------------------------------------------------------------

    def _on_text(self, part: _Part, verb: str, payload: Payload) -> Iterator[ChatEvent]:
        index = position(payload, "output_index")
        self._types.setdefault(index, part.item)
        place = (index, part.list, position(payload, part.position))
        if verb == "done":
            yield from self._settle(part.kind, place, string(payload, part.field))
        elif text := string(payload, "delta"):
            yield from self._separate(part.kind, place)
            yield from self.choice.add(part.kind, text, place)
            if logprobs := items(payload, "logprobs"):
                self.charge()
                self._logprobs += logprobs

    def _settle(self, kind: Kind, place: tuple[int, str, int], text: str) -> Iterator[ChatEvent]:
        """Take a snapshot of the text at `place`."""
        if text:
            yield from self._separate(kind, place)
            yield from self._noted(self.choice.settle(kind, text, place))

    def _separate(self, kind: Kind, place: tuple[int, str, int]) -> Iterator[ChatEvent]:
        """Put a blank line before a summary that is not the first piece of reasoning."""
        opened = self.choice.texts[kind]
        if place[1] == "summary" and opened and place not in opened:
            yield from self.choice.add(kind, "\n\n", (*place, "before"))

    def _noted(self, settling: Generator[ChatEvent, None, bool]) -> Iterator[ChatEvent]:
        """Run a comparison with a snapshot, and note whether the snapshot took the place."""
        replaced = yield from settling
        self._replaced |= replaced

    def _on_part_added(self, kind: str, payload: Payload) -> Iterable[ChatEvent]:
        # Its text, if it has one, may come again as deltas: `done` will tell.
        return ()

    def _on_part_done(self, kind: str, payload: Payload) -> Iterator[ChatEvent]:
        index = position(payload, "output_index")
        summary = kind.startswith("response.reasoning_summary_part")
        within = position(payload, "summary_index" if summary else "content_index")
        yield from self._settle_part(index, within, mapping(payload, "part"))

    def _settle_part(self, index: int, within: int, part: Payload) -> Iterator[ChatEvent]:
        known = _PART_TYPES.get(string(part, "type"))
        if known is None:
            return
        yield from self._settle(known.kind, (index, known.list, within), string(part, known.field))
        for number, annotation in enumerate(items(part, "annotations")):
            self._annotate((index, within, number), annotation)

    # --- calls ----------------------------------------------------------------

    def _on_arguments(self, name: str, verb: str, payload: Payload) -> Iterator[ChatEvent]:
        index = position(payload, "output_index")
        item, field = _CALLS[name]
        self._types.setdefault(index, item)
        call = self.choice.call(index, None, string(payload, "name"))
        if verb == "done":
            yield from self._noted(self.choice.settle_arguments(call, string(payload, field)))
            if call.arguments:  # else the item, which is to come, may have some
                yield from self._finish_call(call)
        elif delta := string(payload, "delta"):
            if call.finished:
                raise gap(f"The arguments of the call {shortened(repr(index))} have ended")
            yield from self.choice.add_arguments(call, delta)

    def _open_call(self, index: int, item: Payload) -> Iterator[ChatEvent]:
        call = self.choice.call(index, string(item, "call_id"), string(item, "name"))
        yield from self.choice.add_arguments(call, "")

    def _settle_call(self, index: int, item: Payload, ended: bool) -> Iterator[ChatEvent]:
        yield from self._open_call(index, item)
        call = self.choice.call(index)
        arguments = string(item, _CALL_FIELDS[string(item, "type")])
        yield from self._noted(self.choice.settle_arguments(call, arguments))
        status = item.get("status")
        if status == "completed" or (ended and status not in ("in_progress", "incomplete")):
            yield from self._finish_call(call)

    def _finish_call(self, call: CallFold) -> Iterator[ChatEvent]:
        """Finish a call that can be run; what is not known of another, the response may say."""
        if call.id and call.name:
            yield from self.choice.finish_call(call)

    def _check_calls(self) -> None:
        """Raise `ProtocolViolation` where the item of a call never came: it has no id, no name.

        Not before the end, for in a stream that is resumed the item comes behind the arguments.
        """
        came = {index for index in self._output if self._types.get(index) in _CALL_FIELDS}
        for index in self.choice.calls:
            if index not in came:
                raise gap(f"The item {shortened(repr(index))} of a call did not come")

    # --- items ----------------------------------------------------------------

    def _on_item_added(self, kind: str, payload: Payload) -> Iterator[ChatEvent]:
        index, item = position(payload, "output_index"), mapping(payload, "item")
        self._keep(index, item)
        if self._types.get(index) in _CALL_FIELDS:
            yield from self._open_call(index, item)
        elif string(item, "type") not in ("message", "reasoning"):
            yield Other(kind, payload)

    def _on_item_done(self, kind: str, payload: Payload) -> Iterator[ChatEvent]:
        index, item = position(payload, "output_index"), mapping(payload, "item")
        yield from self._settle_item(index, item)
        if string(item, "type") not in ("message", "reasoning", *_CALL_FIELDS):
            yield Other(kind, payload)

    def _settle_item(self, index: int, item: Payload, ended: bool = True) -> Iterator[ChatEvent]:
        """Take a snapshot of the item at `index`; `ended`: it did, unless its status denies it."""
        self._keep(index, item)
        if string(item, "type") in _CALL_FIELDS:
            yield from self._settle_call(index, item, ended)
            return
        for name in ("summary", "content"):
            for within, part in enumerate(items(item, name)):
                yield from self._settle_part(index, within, part)

    def _keep(self, index: int, item: Payload) -> None:
        kind = string(item, "type")
        folds = kind in ("message", "reasoning", *_CALL_FIELDS)
        beside = {name: value for name, value in item.items() if name not in _FOLDED}
        self._kept_items.put(str(index), beside if folds else item)
        self._output[index] = item
        if kind:
            self._types[index] = kind

    def _places(self, output: list[Payload]) -> list[int]:
        """Say which `output_index` each item of the final list has.

        Its place in the list, unless that contradicts what was streamed: some
        services leave items out at the end, or count from 1. Then the n-th
        of a type is the n-th of that type.
        """
        kinds = [string(item, "type") for item in output]
        if all(
            0 <= index < len(kinds) and kinds[index] == kind for index, kind in self._types.items()
        ):
            return list(range(len(kinds)))
        left = {kind: sorted(at for at, k in self._types.items() if k == kind) for kind in kinds}
        fresh = max(self._types) + 1
        places = []
        for number, kind in enumerate(kinds):
            places.append(left[kind].pop(0) if left[kind] else fresh + number)
        return places

    # --- the response ---------------------------------------------------------

    def _on_response(self, kind: str, payload: Payload) -> Iterator[ChatEvent]:
        response = mapping(payload, "response")
        self._response = {name: value for name, value in response.items() if name != "output"}
        usage = response.get("usage")
        if usage is not None and usage != self.fold.usage:
            self.fold.usage = usage
            yield UsageUpdate(usage)

    def _on_end(self, kind: str, payload: Payload) -> Iterator[ChatEvent]:
        yield from self._on_response(kind, payload)
        response = mapping(payload, "response")
        status = string(response, "status") or kind.removeprefix("response.")
        error = response.get("error")
        if error is not None or "failed" in (status, kind.removeprefix("response.")):
            self._response.pop("error", None)  # it is in the fault
            raise service_error(error, payload)
        if status == "cancelled":
            yield from self.fold.flush()
            self.interrupt(Cause.CANCELLED)
            return
        incomplete = "incomplete" in (status, kind.removeprefix("response."))
        output = items(response, "output")
        for index, item in zip(self._places(output), output, strict=True):
            yield from self._settle_item(index, item, ended=not incomplete)
        if not incomplete:
            self._check_calls()
            yield from self.fold.finish_calls()
        yield from self._finish(kind, status, response, incomplete)

    def _finish(
        self, marker: str, status: str, response: Payload, incomplete: bool
    ) -> Iterator[ChatEvent]:
        choice = self.choice
        yield from self.fold.flush()
        self._order()
        yield from self._snapshot()
        reason = string(mapping(response, "incomplete_details"), "reason") if incomplete else ""
        choice.finish_reason = reason or status
        choice.disposition = _INCOMPLETE.get(reason, "unknown") if incomplete else self._completed()
        self.complete(marker)
        yield Finish(choice.finish_reason, choice.disposition)

    def _order(self) -> None:
        """Put texts in the order of their items, should they have begun in another."""
        for texts in self.choice.texts.values():
            begun = list(texts.items())
            ordered = sorted(begun, key=lambda item: item[0][0])
            if ordered != begun:
                texts.clear()
                texts.update(ordered)
                self._replaced = True

    def _completed(self) -> Disposition:
        """Say what a response is good for that ran to its end."""
        if self.choice.text(RefusalDelta):
            return "filtered"
        waits = self.choice.calls or _ACTIONS & set(self._types.values())
        return "tool" if waits else "complete"

    # --- beside the answer ----------------------------------------------------

    def _on_error(self, kind: str, payload: Payload) -> Iterable[ChatEvent]:
        # Documented flat, where `type` is the event's; sent as an object of its own.
        raise service_error(payload.get("error") or {**payload, "type": None}, payload)

    def _on_annotation(self, kind: str, payload: Payload) -> Iterator[ChatEvent]:
        index, within = position(payload, "output_index"), position(payload, "content_index")
        number = position(payload, "annotation_index")
        self._annotate((index, within, number), mapping(payload, "annotation"))
        yield Other(kind, payload)

    def _annotate(self, place: tuple[int, int, int], annotation: Payload) -> None:
        if place not in self._annotations:
            self.charge()
        self._annotations[place] = annotation

    def _on_other(self, kind: str, grows: str, payload: Payload) -> Iterator[ChatEvent]:
        """Pass an event through; if it is a delta of something, put that together as well."""
        if grows and (delta := string(payload, "delta")):
            texts = self._deltas.setdefault(grows, {})
            index = position(payload, "output_index")
            texts.setdefault(index, TextFold(self.fold.budget)).add(delta)
        yield Other(kind, payload)
