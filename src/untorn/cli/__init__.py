"""The command line `untorn`; needs the extra `cli`.

One file per subcommand, gathered in `group`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

__all__ = ["main"]

_EXTRA = ("click", "httpx2", "rich")


def main() -> None:
    """Run the command line; exits with its status."""
    try:
        from .group import group

        _open_what_is_closed()
        group(prog_name="untorn")
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        if name not in _EXTRA:
            raise
        sys.stderr.write(f"The command line of untorn needs {name}: pip install 'untorn[cli]'\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:  # while all this is imported
        from .ctrl_c import leave

        leave()


def _open_what_is_closed() -> None:
    """Let what is written to a stream that the shell has closed go nowhere."""
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
