"""A connection that breaks is seen by everyone; only ends that look clean are not."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from dialects.captures import read

from untorn import Cause, Interrupted

from .answer import Call
from .records import CALLS

HTTP = {"ollama": "httpx", "cohere": "httpx"}
"""What each SDK reads with, if it is not `httpx2`."""


def breaking(error: Exception) -> Iterator[bytes]:
    yield b" "
    raise error


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.id)
@pytest.mark.filterwarnings("ignore")
def test_the_sdk_raises_where_the_connection_breaks(call: Call) -> None:
    """What the HTTP client raises comes through, as it is or under the SDK's own name."""
    pytest.importorskip(call.module, reason=f"{call.sdk} is not installed; run `nox -s parity`")
    http: Any = import_module(HTTP.get(call.sdk, "httpx2"))
    broken = http.ReadError("The connection was reset")
    said = call.said(breaking(broken))
    assert isinstance(said, Exception) and broken in (said, said.__cause__)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.id)
def test_untorn_is_interrupted_where_the_connection_breaks(call: Call) -> None:
    """The transport's exception stands in the outcome."""
    broken = ConnectionResetError()
    _, outcome = read(breaking(broken), call.dialect)
    assert isinstance(outcome, Interrupted)
    assert (outcome.cause, outcome.error) == (Cause.TRANSPORT, broken)
