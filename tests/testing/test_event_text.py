import json
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from untorn.testing import event_text


@dataclass(frozen=True, slots=True)
class Frozen:
    text: str
    more: tuple[int, ...] = ()


@dataclass
class Empty: ...


class Slotted:
    __slots__ = ("_hidden", "never_set", "text")

    def __init__(self) -> None:
        self.text, self._hidden = "t", 1


class OneSlot(Slotted):
    __slots__ = "last"

    def __init__(self) -> None:
        super().__init__()
        self.last = 2


class Plain:
    def __init__(self) -> None:
        self.text, self._hidden = "t", 1


class Spoken:
    def __repr__(self) -> str:
        return "<Spoken at 0x7f00>"


class Mute: ...


class Colour(Enum):
    RED = 1


@dataclass
class Knot:
    me: Any = field(default=None, repr=False)


Pair = namedtuple("Pair", "a b")


def tied() -> Knot:
    knot = Knot()
    knot.me = [knot]
    return knot


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (None, None),
        (True, True),
        ("é\ud83d", "é\ud83d"),
        (1.5, 1.5),
        (float("nan"), {"$float": "nan"}),
        (float("-inf"), {"$float": "-inf"}),
        (b"\xff", {"$bytes": "ÿ"}),
        (bytearray(b"a"), {"$bytes": "a"}),
        ([1, (2, "x")], [1, [2, "x"]]),
        ({"a": b""}, {"a": {"$bytes": ""}}),
        ({1: 2}, {"$items": [[1, 2]]}),
        ({"$type": 2}, {"$items": [["$type", 2]]}),
        ({3, 1}, {"$set": [1, 3]}),
        (Colour.RED, {"$enum": "Colour.RED"}),
        (Pair(1, 2), {"$type": "Pair", "a": 1, "b": 2}),
        (Frozen("x", (1,)), {"$type": "Frozen", "text": "x", "more": [1]}),
        (Empty(), {"$type": "Empty"}),
        (Slotted(), {"$type": "Slotted", "text": "t"}),
        (OneSlot(), {"$type": "OneSlot", "text": "t", "last": 2}),
        (Plain(), {"$type": "Plain", "text": "t"}),
        (Spoken(), {"$type": "Spoken", "$repr": "<Spoken>"}),
        (Mute(), {"$type": "Mute"}),
        (KeyError("k"), {"$type": "KeyError", "message": "'k'"}),
        (tied(), {"$type": "Knot", "me": [{"$cycle": "Knot"}]}),
    ],
)
def test_event_is_written_with_its_type_and_public_attributes(event: object, text: object) -> None:
    assert json.loads(event_text(event)) == text
    assert event_text(event).isascii()


def test_number_types_are_told_apart() -> None:
    assert len({event_text(value) for value in (1, 1.0, True, "1")}) == 4
