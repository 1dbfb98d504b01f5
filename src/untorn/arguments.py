"""Tool arguments as they grow: what is known of a call's JSON before its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from .around import Around
from .event import ToolCallDelta, event
from .limits import Limits
from .partial_json import PartialJson, Path
from .reduce import Dialect, Reducer
from .stage import Ending

__all__ = ["ToolArguments", "growing_arguments"]

E = TypeVar("E")
V = TypeVar("V")


@event
class ToolArguments:
    """How far the arguments of a call have come with the `ToolCallDelta` before this.

    `arguments.value` is the value so far (live: it goes on growing); `closed` are
    the paths that the delta closed, and that will not change any more. It is no
    call yet: only `ToolCallDone` says that one may be run.
    """

    index: int
    arguments: PartialJson
    closed: tuple[Path, ...]
    choice: int = 0


def growing_arguments(dialect: Dialect[E, V]) -> Dialect[E | ToolArguments, V]:
    """Return the dialect with a `ToolArguments` behind each `ToolCallDelta`."""
    return _Growing(dialect)


class _Growing(Around[E | ToolArguments, V]):
    def reducer(self, limits: Limits) -> Reducer[E | ToolArguments, V]:
        return _GrowingReducer(self.dialect.reducer(limits))


class _GrowingReducer(Reducer[E | ToolArguments, V]):
    def __init__(self, inner: Reducer[E, V]) -> None:
        self._inner = inner
        self._calls: dict[tuple[int, int], PartialJson] = {}

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
        self.ended = self._inner.ended

    def _grow(self, delta: ToolCallDelta) -> ToolArguments:
        arguments = self._calls.setdefault((delta.choice, delta.index), PartialJson())
        closed = tuple(arguments.feed(delta.arguments))
        return ToolArguments(delta.index, arguments, closed, delta.choice)
