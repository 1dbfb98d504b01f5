"""What became of one relayed stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from ..outcome import Completed, Outcome

__all__ = ["Report"]


@final
@dataclass(frozen=True, slots=True)
class Report:
    """How the upstream ended, and how much of it the client got."""

    outcome: Outcome[Any]
    """How the upstream ended; an interruption without a value if it was never open."""
    sent: int
    """The events that the server has taken from us.

    What it took may still be on its way. The events in a send that was pending when
    the client left are not counted.
    """
    delivered: bool
    """Whether the server has taken all of the response, its end included."""
    client_left: bool
    """Whether the client left, or the server sent it away, before that."""

    @property
    def value(self) -> Any:
        """The folded value: all of it, or what there is of it."""
        outcome = self.outcome
        return outcome.value if isinstance(outcome, Completed) else outcome.partial

    @property
    def whole(self) -> bool:
        """Whether the upstream completed and all of it was delivered."""
        return self.delivered and isinstance(self.outcome, Completed)
