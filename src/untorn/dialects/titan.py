"""Amazon Titan Text, the events of its streams.

https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-text.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from ..event import ChatEvent, Disposition, Message, Other, TextDelta, UsageUpdate
from ..limits import Limits
from ..reduce import Dialect, JsonReducer, Reducer
from ..stage import Ending
from .kept import Kept
from .message import MessageFold
from .typed import as_object, string

__all__ = ["TitanText"]

_DISPOSITIONS: Final[dict[str, Disposition]] = {
    "FINISH": "complete",
    "FINISHED": "complete",
    "STOP_CRITERIA_MET": "complete",
    "LENGTH": "truncated",
    "CONTENT_FILTERED": "filtered",
}
_USAGE: Final = ("inputTextTokenCount", "totalOutputTextTokenCount")


@final
@dataclass(frozen=True, slots=True)
class TitanText(Dialect[ChatEvent, Message]):
    """Titan Text inside of InvokeModel: `Bedrock(inner=TitanText())`.

    Completes at the event with a `completionReason`: the marker is
    `"completionReason"`, the finish reason its value. `usage` has the counts of
    tokens, `extra` all other fields, the last of each.
    """

    def reducer(self, limits: Limits) -> Reducer[ChatEvent, Message]:
        """Return the state for one stream."""
        return _TitanReducer(limits.value_bytes)


class _TitanReducer(JsonReducer[ChatEvent, Message]):
    def __init__(self, value_bytes: int) -> None:
        self._fold = MessageFold(value_bytes)
        self._choice = self._fold.choice()
        self._kept = Kept(self._fold.extra, self._fold.budget)
        self._usage: dict[str, Any] = {}

    @property
    def value(self) -> Message:
        return self._fold.message()

    def on_json(self, data: Any) -> Iterator[ChatEvent]:
        payload = as_object(data)
        yield from self._choice.add(TextDelta, string(payload, "outputText"))
        for name, value in payload.items():
            if name in _USAGE and value is not None:
                self._usage = self._fold.usage = {**self._usage, name: value}
                yield UsageUpdate(self._usage)
            elif name not in ("outputText", "completionReason") and self._kept.put(name, value):
                yield Other(name, value)
        if reason := string(payload, "completionReason"):
            yield from self._fold.flush()
            self._choice.finish_reason = reason
            self._choice.disposition = _DISPOSITIONS.get(reason, "unknown")
            self.complete("completionReason")
            yield self._fold.finish()

    def end(self, ending: Ending) -> Iterable[ChatEvent]:
        return self._fold.flush()
