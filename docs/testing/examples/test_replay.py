from pathlib import Path

import pytest
from mine import read

from untorn.testing import replay

REPRODUCERS = sorted(Path(__file__).with_name("regressions").glob("*.json"))


@pytest.mark.parametrize("path", REPRODUCERS, ids=lambda path: path.stem)
def test_it_stays_repaired(path: Path) -> None:
    assert replay(path, read).raised is None
