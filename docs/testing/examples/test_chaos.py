from collections.abc import Callable

import httpx
import pytest

from untorn.testing import ChaosServer, Ending

WIRE = b"data: one\n\n"


def ask(url: str) -> str:
    """The code under test."""
    with httpx.Client(trust_env=False) as client:
        return client.get(url).text


def test_missing_end_is_noticed(chaos_server: Callable[..., ChaosServer]) -> None:
    whole = chaos_server(WIRE, cuts=[5], delays=0.01)
    cut = chaos_server(WIRE, ending=Ending.MISSING_LAST_CHUNK)
    assert ask(whole.url) == "data: one\n\n"
    with pytest.raises(httpx.RemoteProtocolError):
        ask(cut.url)
    assert [request.method for request in whole.requests] == ["GET"]
