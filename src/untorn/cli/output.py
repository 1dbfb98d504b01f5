"""Where text goes: standard output as exact UTF-8, standard error as notes for people."""

from __future__ import annotations

import os
import re
import select
import sys
from io import TextIOWrapper
from typing import Any, BinaryIO, Final, NoReturn, TextIO

from anyio import wait_writable
from rich.console import Console
from rich.text import Text

from .redaction import Redaction

__all__ = ["Notes", "Output", "console_on", "visible"]

# A pipe that can be written to takes so much without waiting (POSIX, `write`).
_AT_ONCE: Final[int] = getattr(select, "PIPE_BUF", 512)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """Return `text` with control characters spelled out: a service must not steer a terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class Output:
    """Standard output: `write` collects, `flush` writes it out.

    In UTF-8 whatever the locale, and exactly as it is unless it goes to a terminal; but
    without secrets. What may be the beginning of one waits for more, or for `release`.
    """

    def __init__(self, stream: BinaryIO, redaction: Redaction | None = None) -> None:
        self._stream = stream
        self._redaction = redaction or Redaction()
        self._pending = bytearray()
        self._can_wait = True
        self.is_terminal = stream.isatty()
        self.at_line_start = True

    def write(self, text: str) -> None:
        """Add text to what is to be written."""
        self._add(self._redaction.feed(text))

    def release(self) -> None:
        """Add what was held back: something else follows it."""
        self._add(self._redaction.end())

    def _add(self, text: str) -> None:
        if text:
            self.at_line_start = text.endswith("\n")
        shown = visible(text) if self.is_terminal else text
        # A lone surrogate stands only in a JSON string, where this is its spelling.
        self._pending += shown.encode("utf-8", "backslashreplace")

    async def flush(self) -> None:
        """Write it out.

        A full pipe (`| less`) is waited for without holding up the loop, or else the
        clocks would take the reader's pause for the service's.
        """
        while self._pending:
            most = await self._ready()
            self._stream.write(self._pending[:most])
            self._stream.flush()
            del self._pending[:most]

    async def _ready(self) -> int:
        """Wait until something can be written without waiting, and return how much."""
        if self._can_wait:
            try:
                await wait_writable(self._stream.fileno())
                return _AT_ONCE
            except OSError:  # a file: it is always ready, and cannot be waited for
                self._can_wait = False
        return len(self._pending)

    def shares(self, other: Any) -> bool:
        """Say whether what is written to `other` appears in the same place."""
        try:
            return os.path.sameopenfile(self._stream.fileno(), other.fileno())
        except OSError:
            return False


class Notes:
    """Standard error: coloured on a terminal and plain elsewhere, never wrapped.

    Without secrets, as the output.
    """

    def __init__(self, redaction: Redaction | None = None) -> None:
        self._console = console_on(sys.stderr)
        self._redaction = redaction or Redaction()
        self._style = ""
        self.at_line_start = True

    def piece(self, text: str, style: str = "") -> None:
        """Write text, the line of which goes on."""
        self._style = style
        self._print(self._redaction.feed(text))

    def release(self) -> None:
        """Write what was held back: something else follows it."""
        self._print(self._redaction.end())

    def _print(self, text: str) -> None:
        if text:
            self.at_line_start = text.endswith("\n")
            self._console.print(Text(visible(text), self._style), end="")


def console_on(stream: TextIO) -> Console:
    """Return a console that changes nothing but colours, and those on a terminal only."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # for locales that cannot say 京
    return _Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Pass it on; rich would end the program, with a status of its own."""
        raise BrokenPipeError
