"""Limits and clocks are checked when they are made."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from untorn import Clocks, Limits


def test_the_defaults_are_the_documented_ones() -> None:
    """No bound on the whole, for a feed has no length."""
    assert Limits() == Limits(
        frame_bytes=16 << 20, total_bytes=None, value_bytes=64 << 20,
        read_bytes=64 << 10, drain_bytes=64 << 10,
    )  # fmt: skip
    assert Clocks() == Clocks(first_byte=None, idle=None, progress=None, total=None)


@pytest.mark.parametrize("name", ["frame_bytes", "value_bytes", "read_bytes"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "1", None])
def test_a_limit_is_a_positive_number_of_bytes(name: str, value: Any) -> None:
    """Anything else is refused, by name."""
    with pytest.raises(ValueError, match=rf"Limits\({name}=.*\): give a whole number of bytes, 1"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", ["total_bytes", "drain_bytes"])
def test_some_limits_may_be_nothing(name: str) -> None:
    """No byte at all, or none drained."""
    assert getattr(Limits(**{name: 0}), name) == 0
    with pytest.raises(ValueError, match=rf"Limits\({name}=-1\): give a whole number of bytes, 0"):
        Limits(**{name: -1})


@pytest.mark.parametrize("name", ["first_byte", "idle", "progress", "total"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), True, 10**400, "1"])
def test_a_clock_is_a_positive_number_of_seconds(name: str, value: float) -> None:
    """To wait for ever is `None`."""
    with pytest.raises(ValueError, match=rf"Clocks\({name}=.*\): give a positive number"):
        Clocks(**{name: value})
    assert getattr(Clocks(**{name: 0.5}), name) == 0.5


def test_both_are_frozen_and_by_name_only() -> None:
    """A limit that changed in flight would break the law."""
    with pytest.raises(FrozenInstanceError):
        Limits().frame_bytes = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        Clocks(1.0)  # type: ignore[misc]
