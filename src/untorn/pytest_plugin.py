"""The pytest plugin under a name within the package; it is `untorn_pytest`, which see."""

from untorn_pytest import *  # noqa: F403 - hooks are found by their names
