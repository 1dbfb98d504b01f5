"""Tool arguments as they grow: what is known of a call's JSON before its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, final

from .around import Around
from .event import Message, Snapshot, ToolCallDelta
from .limits import Limits
from .partial_json import PartialJson, Path
from .reduce import Dialect, Reducer
from .stage import Ending

__all__ = ["ToolArguments", "growing_arguments"]

E = TypeVar("E")
V = TypeVar("V")


def growing_arguments(dialect: Dialect[E, V]) -> Dialect[E | ToolArguments, V]:
    """Return the dialect with a `ToolArguments` behind each `ToolCallDelta`."""
    return _Growing(dialect)


@final
class ToolArguments:
    """How far the arguments of a call have come with the `ToolCallDelta` before this.

    `index` and `choice` are those of the delta. It is no call yet: only
    `ToolCallDone` says that one may be run.

    The arguments are read when they are asked for. Asked in order, event by event,
    every fragment is read once however long the arguments grow; `value` costs as
    many steps as the value has parts, `closed` as many as the fragment has characters.
    """

    __slots__ = ("_count", "_growth", "choice", "index")

    def __init__(self, index: int, growth: _Growth, choice: int) -> None:
        self.index = index
        self.choice = choice
        self._growth = growth
        self._count = len(growth.fragments)

    @property
    def text(self) -> str:
        """The fragments up to this delta, joined."""
        return "".join(self._growth.fragments[: self._count])

    @property
    def value(self) -> Any:
        """The value as far as the text goes; a copy, which does not grow any more."""
        return _copy(self._growth.read(self._count).value)

    @property
    def closed(self) -> tuple[Path, ...]:
        """The paths that this delta closed, inner ones first; they will not change any more."""
        self._growth.read(self._count)
        return self._growth.closed[self._count - 1]

    @property
    def malformed(self) -> bool:
        """Whether the text has ceased to be the beginning of JSON."""
        return self._growth.read(self._count).malformed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolArguments):
            return NotImplemented
        return (self.index, self.choice, self.text) == (other.index, other.choice, other.text)

    def __hash__(self) -> int:
        return hash((self.index, self.choice))

    def __repr__(self) -> str:
        return f"ToolArguments(index={self.index}, text={self.text!r}, choice={self.choice})"


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


class _Growth:
    """The fragments of one call, and the reader that has read some of them."""

    __slots__ = ("_partial", "_read", "closed", "fragments")

    def __init__(self, *fragments: str) -> None:
        self.fragments = list(fragments)
        self.closed: list[tuple[Path, ...]] = []
        self._begin()

    def _begin(self) -> None:
        self._partial = PartialJson()
        self._read = 0
        self.closed.clear()

    def read(self, count: int) -> PartialJson:
        """Return the reader as it stands behind so many fragments.

        It goes forward only. For an earlier event it begins anew: what was folded
        ahead of the consumer must not show in what the consumer is looking at.
        """
        if self._read > count:
            self._begin()
        for fragment in self.fragments[self._read : count]:
            self.closed.append(tuple(self._partial.feed(fragment)))
        self._read = count
        return self._partial


class _Growing(Around[E | ToolArguments, V]):
    def reducer(self, limits: Limits) -> Reducer[E | ToolArguments, V]:
        return _GrowingReducer(self.dialect.reducer(limits))


class _GrowingReducer(Reducer[E | ToolArguments, V]):
    def __init__(self, inner: Reducer[E, V]) -> None:
        self._inner = inner
        self._calls: dict[tuple[int, int], _Growth] = {}

    @property
    def value(self) -> V:
        return self._inner.value

    def feed(self, frame: Any) -> Iterator[E | ToolArguments]:
        yield from self._with_arguments(self._inner.feed(frame))

    def end(self, ending: Ending) -> Iterator[E | ToolArguments]:
        yield from self._with_arguments(self._inner.end(ending))

    def is_keepalive(self, event: E | ToolArguments) -> bool:
        return not isinstance(event, ToolArguments) and self._inner.is_keepalive(event)

    def _with_arguments(self, events: Iterable[E]) -> Iterator[E | ToolArguments]:
        for each in events:
            yield each
            if isinstance(each, ToolCallDelta):
                yield self._grow(each)
            elif isinstance(each, Snapshot) and isinstance(each.value, Message):
                self._restart(each.value)
        self.ended = self._inner.ended

    def _restart(self, message: Message) -> None:
        """Go on from the calls of a snapshot, which takes the place of what came before."""
        self._calls = {
            (choice.index, index): _Growth(call.arguments)
            for choice in message.choices
            for index, call in enumerate(choice.tool_calls)
        }

    def _grow(self, delta: ToolCallDelta) -> ToolArguments:
        growth = self._calls.setdefault((delta.choice, delta.index), _Growth())
        growth.fragments.append(delta.arguments)
        return ToolArguments(delta.index, growth, delta.choice)
