import pytest

from untorn.testing import Backend, virtual_time


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    """Run each async test on both backends, in virtual time."""
    return virtual_time(request.param)
