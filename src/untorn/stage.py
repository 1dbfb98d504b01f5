"""What a stage is.

A stage is a plain object without an `await` in it. It turns a sequence of items
into another and passes on how the sequence ended:

    decoder   bytes  -> Text
    framer    Text   -> Frames
    reducer   Frames -> Events

`feed(item)` returns an iterable of what that item determined, and nothing else.
It may be lazy: items are made as they are asked for, so that a stalled consumer
leaves the rest unparsed, and the iterable must be run to its end before the next
`feed`. A fault is raised out of that iteration, *behind* all that came before it;
a stage that raised is never fed again.

`end(ending)` says how the input ended. It returns what was still to be handed on
and the ending as it stands behind this stage: a decoder that holds half a
character marks a cut as torn inside a character, a framer that holds half a frame
as torn inside a frame. Feeding and ending are different verbs: no empty chunk and
no `None` ever means the end.

An ending is a `Cut` (of the transport), a `StreamFault`, or `Done`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

from .faults import StreamFault
from .outcome import Boundary, Cause

__all__ = ["Cut", "Done", "Ending"]


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """The transport ended, or was ended, after `offset` bytes.

    `torn` is `None` as long as no stage has found itself cut inside something.
    """

    cause: Cause
    error: BaseException | None = None
    torn: Boundary | None = None
    offset: int = 0

    @property
    def clean(self) -> bool:
        """Whether the transport ended by itself, between two frames."""
        return self.cause is Cause.EOF and self.torn is None

    def inside(self, boundary: Boundary) -> Cut:
        """Mark the cut as inside `boundary`, unless it is inside a smaller unit already."""
        if self.torn is not None:
            return self
        return Cut(self.cause, self.error, boundary, self.offset)


@final
@dataclass(frozen=True, slots=True)
class Done:
    """The completion marker was seen; `offset` is the byte just past it."""

    marker: str
    offset: int


Ending: TypeAlias = Cut | Done | StreamFault
