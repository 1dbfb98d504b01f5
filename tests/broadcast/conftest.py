import pytest
from flow.backends import Backend, backend


@pytest.fixture(params=["asyncio", "uvloop", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    """Run each async test on every backend; only uvloop knows no virtual time."""
    return backend(request.param)
