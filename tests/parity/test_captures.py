"""On every capture that an SDK reads rightly, untorn says the same."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from dialects.captures import Capture, message_of, read

from untorn import Failed, ServiceError

from .answer import Call, as_answer, assert_same
from .records import CALLS, VERSIONS, pair_parameters

# What SDKs warn of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(("call", "capture"), pair_parameters())
def test_the_sdk_and_untorn_agree(call: Call, capture: Capture) -> None:
    """Text, calls, usage and finish reason are equal; or both report the service's error."""
    said = call.said(capture.wire)
    _, outcome = read([capture.wire], call.dialect)
    if isinstance(said, Exception):
        assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError), said
        assert outcome.error.message and outcome.error.message in str(said)
    else:
        assert not isinstance(outcome, Failed)
        assert_same(said, as_answer(message_of(outcome)))


@pytest.mark.parametrize("sdk", VERSIONS)
def test_the_tables_are_of_the_installed_sdk(sdk: str) -> None:
    """What the documentation says of an SDK was measured with the version that is tested."""
    module = next(call.module for call in CALLS if call.sdk == sdk)
    pytest.importorskip(module, reason=f"{sdk} is not installed; run `nox -s parity`")
    assert version(sdk) == VERSIONS[sdk], (
        f"The tables of docs/explanation/sdk_parity.rst were measured with {sdk} {VERSIONS[sdk]}. "
        "If all else here passes, change VERSIONS and write the tables anew."
    )
