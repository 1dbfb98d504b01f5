"""What a dialect keeps beside the shared vocabulary, in the service's own words."""

from __future__ import annotations

import json
from typing import Any

from .message import Budget

__all__ = ["Kept", "to_json"]


def to_json(value: Any) -> str:
    """Return `value` as JSON text, characters as they are."""
    return json.dumps(value, ensure_ascii=False)


class Kept:
    """Fills `fields` (of `Message.extra`) within a budget."""

    __slots__ = ("_budget", "_fields", "_lists", "_sizes")

    def __init__(self, fields: dict[str, Any], budget: Budget) -> None:
        self._fields = fields
        self._budget = budget
        self._lists: dict[str, list[Any]] = {}
        self._sizes: dict[str, int] = {}

    def put(self, key: str, value: Any) -> bool:
        """Keep `value`, in the place of what was there; return whether it is news.

        A service may send the same value with every event, so only what a value
        has grown by is taken from the budget.
        """
        if key in self._sizes and self._fields[key] == value:
            return False
        written = to_json(value)
        if key not in self._sizes:
            self._budget.spend(key)
        size = self._sizes.get(key, 0)
        self._budget.spend(written[size:])
        self._sizes[key] = max(size, len(written))
        self._fields[key] = value
        return True

    def append(self, key: str, *items: Any) -> None:
        """Keep `items` behind those that are there."""
        for item in items:
            self._budget.spend(to_json(item))
        kept = self._lists.setdefault(key, [])
        kept += items
        self._fields[key] = kept
