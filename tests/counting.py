"""Counting what code does, where seconds would tell too little."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, SupportsIndex


class Counted(str):
    """A string that counts the characters that its operations look at or copy."""

    __slots__ = ()
    seen: ClassVar[int] = 0

    def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
        found = str.find(self, sub, start, end)
        Counted.seen += (found if found >= 0 else len(self)) - start + 1
        return found

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        part = Counted(str.__getitem__(self, key))
        Counted.seen += len(part)
        return part

    def __radd__(self, other: str) -> str:
        Counted.seen += len(self) + len(other)
        return other + str(self)


def _counting(name: str) -> Callable[..., Any]:
    plain = getattr(str, name)

    def method(self: Counted, *args: Any) -> Any:
        Counted.seen += len(self)
        return plain(self, *args)

    return method


for _name in (
    "__add__",
    "__contains__",
    "count",
    "encode",
    "partition",
    "replace",
    "rfind",
    "split",
):
    setattr(Counted, _name, _counting(_name))


def characters_seen(run: Callable[[], Any]) -> int:
    """Return how many characters the operations on `Counted` strings went through."""
    before = Counted.seen
    run()
    return Counted.seen - before


def calls(run: Callable[[], Any]) -> Counter[str]:
    """Return how often each function was called, Python's and C's, by its name."""
    count: Counter[str] = Counter()

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            count[frame.f_code.co_name] += 1
        elif event == "c_call":
            count[arg.__name__] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def peak(run: Callable[[], Any]) -> int:
    """Return the most bytes that were allocated at once."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
