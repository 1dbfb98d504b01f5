"""The documentation shows what the tests assert."""

from __future__ import annotations

import pytest
from dialects.captures import FOLDER

from .records import DEVIATIONS, VERSIONS
from .tables import FILE, tables


@pytest.mark.skipif(not FOLDER.is_dir(), reason="there is no shared/captures beside the checkout")
def test_the_tables_are_up_to_date() -> None:
    """The file that the page includes is what would be written now."""
    assert FILE.read_text("utf-8") == tables(), "Run `python -m parity` in the folder `tests`."


def test_every_deviation_is_one() -> None:
    """No row says the same twice, and none of it stands on the page twice."""
    assert all(each.untorn != f"Completed: {each.sdk}" for each in DEVIATIONS)
    assert len({each.id for each in DEVIATIONS}) == len(DEVIATIONS)


def test_every_sdk_has_a_version() -> None:
    """The page says with what every row was measured."""
    assert {each.call.sdk for each in DEVIATIONS} == VERSIONS.keys()
