"""Refusals: what an argument cannot mean is said by name, before anything is tried."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["check_bytes", "check_seconds", "check_whole", "is_seconds"]


def check_bytes(data: object) -> None:
    """Refuse what is not `bytes`; raises `TypeError`."""
    if not isinstance(data, bytes):
        raise TypeError(f"Not bytes: {data!r}; give what comes over the network, as bytes")


def check_whole(name: str, value: object, least: int = 0, most: float = math.inf) -> None:
    """Refuse what is no whole number within the bounds; raises `ValueError`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        bounds = f", {least} or more" if most == math.inf else f" from {least} to {most}"
        raise ValueError(f"{name}={value!r}: give a whole number{bounds}")


def check_seconds(name: str, value: object) -> None:
    """Refuse what is no time to wait; raises `ValueError`."""
    if not is_seconds(value):
        raise ValueError(f"{name}: give a number of seconds, 0 or more, not {value!r}")


def is_seconds(value: Any) -> bool:
    """Say whether it is a time to wait: a number, 0 or more, and perhaps infinity."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
