"""A real Chromium without a screen, which shows one page until it is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = ["Chromium", "chromium", "need_chromium"]

OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update")


@dataclass(frozen=True, slots=True)
class Chromium:
    """A browser that runs, with all its processes in a group of their own."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> float:
        """Kill it, as whoever closes a laptop does, and return when."""
        at = time.monotonic()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return at


def need_chromium() -> str:
    """Return where it is; skip the test where it is nowhere."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium on the PATH, and only a browser has a native EventSource")
    return found


@contextmanager
def chromium(url: str, folder: Path) -> Iterator[Chromium]:
    """Show a page while the block runs; what the browser prints goes into `folder`."""
    log = folder / "chromium.log"
    profile = f"--user-data-dir={folder / 'profile'}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [need_chromium(), *OPTIONS, *QUIET, profile, url],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        browser = Chromium(process, log)
        try:
            yield browser
        finally:
            browser.kill()
