"""Where an SDK errs it still does, and untorn does not."""

from __future__ import annotations

import pytest
from dialects.captures import FOLDER

from .answer import told_by_sdk, told_by_untorn
from .deviation import Deviation
from .records import DEVIATIONS

every_deviation = pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda each: each.id)


def wire_of(deviation: Deviation) -> bytes:
    if isinstance(deviation.wire, str) and not FOLDER.is_dir():
        pytest.skip("there is no shared/captures beside the checkout")
    return deviation.bytes


@every_deviation
def test_untorn_says_what_the_table_says(deviation: Deviation) -> None:
    """Outcome, text, calls and finish reason are those of the table."""
    assert told_by_untorn(wire_of(deviation), deviation.call.dialect) == deviation.untorn


@every_deviation
@pytest.mark.filterwarnings("ignore")
def test_the_sdk_does_what_the_table_says(deviation: Deviation) -> None:
    """An SDK that changed has a row in the table that must change with it, or go."""
    said = told_by_sdk(deviation.call.said(wire_of(deviation)))
    assert said == deviation.sdk, (
        f"Of {deviation.sent}, {deviation.call.id} now says: {said}. The table of "
        f"docs/explanation/sdk_parity.rst still has: {deviation.sdk}. Change the deviation "
        "(if it is none any more, delete it), and write the tables anew."
    )
