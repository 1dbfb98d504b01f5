"""The pytest plugin under a name within the package: it is `untorn_pytest`, beside it."""

import sys

import untorn_pytest

sys.modules[__name__] = untorn_pytest
