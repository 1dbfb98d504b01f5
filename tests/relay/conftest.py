import pytest
from flow.backends import Backend, backend


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    """Run each async test on both backends."""
    return backend(request.param)
