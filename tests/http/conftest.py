from types import ModuleType

import httpx
import httpx2
import pytest
from flow.backends import Backend, backend


@pytest.fixture(params=["asyncio-real", "uvloop", "trio-real"])
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    """Run each async test on every backend, in real time: there are sockets."""
    return backend(request.param)


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> ModuleType:
    """Either client; a test takes it by name and makes clients of its own."""
    module: ModuleType = request.param
    return module
