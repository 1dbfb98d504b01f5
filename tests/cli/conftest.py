import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def sigint() -> Iterator[None]:
    """Give SIGINT back to the tests: a command that Ctrl-C has ended lets no other be heard."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)
