"""The counts of several streams, one after the other, as those of one."""

from __future__ import annotations

from ..fold import Statistics

__all__ = ["total"]

_SUMS = (
    "bytes",
    "frames",
    "events",
    "comments",
    "literal_replacements",
    "replacements",
    "waited_for_source",
    "waited_for_consumer",
)


def total(*counts: Statistics) -> Statistics:
    """Return sums; but the largest frame of all, and the first times that there are."""
    return Statistics(
        largest_frame=max((each.largest_frame for each in counts), default=0),
        first_byte=_first([each.first_byte for each in counts]),
        first_event=_first([each.first_event for each in counts]),
        **{name: sum(getattr(each, name) for each in counts) for name in _SUMS},
    )


def _first(times: list[float | None]) -> float | None:
    return next((time for time in times if time is not None), None)
