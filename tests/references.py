"""Independent transcriptions of what the stages must do: obvious, slow, and sharing no code.

Each reads a whole input one unit at a time and says, for everything it finds, at
which byte it begins and at which byte it is complete. What a prefix determines is
what the transcription finds in that prefix.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Item = tuple[Any, ...]
Span = tuple[int, int]


class Char(NamedTuple):
    """A decoded character, the bytes that it is, and whether it replaces ill-formed ones."""

    char: str
    start: int
    end: int
    made: bool


@dataclass
class Decoded:
    """All characters of some bytes, and the bytes of the character that is unfinished."""

    chars: list[Char]
    start: int
    held: int

    @property
    def text(self) -> str:
        return "".join(char.char for char in self.chars)

    @property
    def fault(self) -> int | None:
        """Where the first ill-formed sequence begins."""
        return next((char.start for char in self.chars if char.made), None)


def utf8_decode(wire: bytes) -> Decoded:
    """The Encoding Standard, "UTF-8 decode" and "UTF-8 decoder": one state machine, byte by byte.

    `held` does not count what may yet turn out to be a BOM.
    """
    chars: list[Char] = []
    point = seen = needed = start = 0
    lower, upper = 0x80, 0xBF
    at = 0
    while at < len(wire):
        byte = wire[at]
        if needed == 0:
            start = at
            if byte <= 0x7F:
                chars.append(Char(chr(byte), at, at + 1, False))
            elif 0xC2 <= byte <= 0xDF:
                needed, point = 1, byte & 0x1F
            elif 0xE0 <= byte <= 0xEF:
                lower = 0xA0 if byte == 0xE0 else lower
                upper = 0x9F if byte == 0xED else upper
                needed, point = 2, byte & 0xF
            elif 0xF0 <= byte <= 0xF4:
                lower = 0x90 if byte == 0xF0 else lower
                upper = 0x8F if byte == 0xF4 else upper
                needed, point = 3, byte & 0x7
            else:
                chars.append(Char("\ufffd", at, at + 1, True))
            at += 1
        elif not lower <= byte <= upper:  # the byte is read again
            point = seen = needed = 0
            lower, upper = 0x80, 0xBF
            chars.append(Char("\ufffd", start, at, True))
        else:
            lower, upper = 0x80, 0xBF
            point, seen, at = point << 6 | byte & 0x3F, seen + 1, at + 1
            if seen == needed:
                chars.append(Char(chr(point), start, at, False))
                point = seen = needed = 0
    held = len(wire) - start if needed else 0
    if not chars and wire in (b"\xef", b"\xef\xbb"):
        held = 0
    if chars and chars[0][:2] == ("\ufeff", 0):
        del chars[0]
    return Decoded(chars, len(wire) - held, held)


@dataclass
class Framed:
    """The items of some text and where each stands; the limit's fault; what is unfinished."""

    items: list[tuple[Item | str, Span]] = field(default_factory=list)
    fault: int | None = None
    open: int = 0
    torn: bool = False
    comments: int = 0
    begin: int = 0
    tail: Item = ("tail", "", "")


class _Beyond(Exception):
    """The byte that is one too many."""


class _Sse:
    """The HTML Standard, "Interpreting an event stream", one character at a time."""

    def __init__(self, limit: int, asks: frozenset[str]) -> None:
        self.out = Framed()
        self.limit, self.asks = limit, asks
        self.line = ""
        self.after_cr = False  # of a line that was kept, or of another
        self.after_kept_cr = False
        self.data = self.type = self.id = self.last_id = ""
        self.retry: int | None = None
        self.fields = False
        self.begin = 0  # of the frame
        self.before_line = 0

    def keep(self, start: int, end: int) -> None:
        for offset in range(start, end):
            self.out.open += 1
            if self.out.open > self.limit:
                raise _Beyond(offset)

    def read(self, char: Char) -> None:
        lf_of_crlf = self.after_cr and char.char == "\n"
        kept_cr, self.after_cr, self.after_kept_cr = self.after_kept_cr, False, False
        if lf_of_crlf:
            if kept_cr:
                self.keep(char.start, char.end)
            elif not self.fields:
                self.begin = char.end
        elif char.char in ("\r", "\n"):
            self.after_cr = char.char == "\r"
            self.after_kept_cr = self.after_cr and self.line != "" and self.line[0] != ":"
            self.end_line(char)
        else:
            if not self.line:
                self.before_line = self.out.open
            self.line += char.char
            if self.line[0] != ":" or "comment" in self.asks:
                self.keep(char.start, char.end)

    def end_line(self, char: Char) -> None:
        line, self.line = self.line, ""
        here = (self.begin, char.end)
        if line == "":
            self.dispatch(here)
            self.fields, self.out.open, self.begin = False, 0, char.end
        elif line[0] == ":":
            self.out.comments += 1
            self.add("comment", (line[1:],), here)
            if "comment" in self.asks:
                self.out.open = self.before_line
            if not self.fields:
                self.begin = char.end
        else:
            self.keep(char.start, char.end)
            self.fields = True
            name, value = line.split(":", 1) if ":" in line else (line, "")
            self.process(name, value[1:] if value[:1] == " " else value, line, here)

    def process(self, name: str, value: str, line: str, here: Span) -> None:
        if name == "event":
            self.type = value
        elif name == "data":
            self.data += value + "\n"
        elif name == "id":
            if "\0" not in value:
                self.id = value
        elif name == "retry":
            if re.fullmatch("[0-9]+", value):
                self.retry = min(int(value), 10**18)
                self.add("cursor", (None, self.retry), here)
        else:
            self.add("stray", (line,), here)

    def dispatch(self, here: Span) -> None:
        if self.data:
            frame = (self.type or "message", self.data[:-1], self.id, self.retry)
            self.out.items.append((frame, here))
        elif self.id != self.last_id:
            self.add("cursor", (self.id, None), here)
        self.last_id = self.id
        self.data, self.type, self.retry = "", "", None

    def add(self, kind: str, values: Item, here: Span) -> None:
        if kind in self.asks:
            self.out.items.append(((kind, *values), here))


def sse_frames(decoded: Decoded, limit: int, asks: frozenset[str] = frozenset()) -> Framed:
    """Every frame, and every extra of the kinds in `asks`, of a decoded event stream."""
    run = _Sse(limit, asks)
    try:
        if decoded.chars:
            run.begin = decoded.chars[0].start
        for char in decoded.chars:
            run.read(char)
        run.out.torn = run.fields or run.line != ""
        dropped = run.line[:1] == ":" and "comment" not in asks
        run.out.begin = run.begin
        run.out.tail = ("tail", run.data[:-1], "" if dropped else run.line)
        kept = run.out.open
        if not dropped:
            run.keep(decoded.start, decoded.start + decoded.held)
        run.out.open = kept
    except _Beyond as beyond:
        run.out.fault = beyond.args[0]
    return run.out


def lines(decoded: Decoded, limit: int) -> Framed:
    """Every line that has LF or CRLF behind it and is not blank."""
    out = Framed()
    line, begin, kept = "", 0, 0
    for char in decoded.chars:
        if char.char == "\n":
            whole = line[:-1] if line[-1:] == "\r" else line
            if whole.strip(" \t\r"):
                out.items.append((whole, (begin, char.end)))
            line, kept = "", 0
            continue
        begin = begin if line else char.start
        for offset in range(char.start, char.end):
            kept += 1
            if kept > limit:
                out.fault = offset
                return out
        line += char.char
    out.open, out.torn = kept, line != ""
    out.tail = ("tail", line, "")
    if kept + decoded.held > limit:
        out.fault = decoded.start + limit - kept
    return out


class Verdict(NamedTuple):
    """How a strict stream ends: a code or a word, and the byte where that is so."""

    word: str
    offset: int


class _Strict(Exception):
    """A verdict, reached."""


class _StrictSse:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.events: list[Item] = []
        self.ends: list[int] = []
        self.frame = 0  # bytes of it
        self.begin: int | None = None
        self.line = ""
        self.line_begin = 0
        self.id: str | None = None
        self.data: list[str] = []

    def read(self, char: Char) -> None:
        if self.begin is None:
            self.begin = char.start
        if not self.line:
            self.line_begin = char.start
        completes = char.char == "\n" and self.line in ("", "\r")
        if not completes:
            self.count(char.start, char.end)
        if char.char != "\n":
            self.line += char.char
            return
        line, self.line = self.line, ""
        if completes:
            self.dispatch(char.end)
        else:
            self.field(line.removesuffix("\r"))

    def count(self, start: int, end: int) -> None:
        for offset in range(start, end):
            self.frame += 1
            if self.frame > self.limit:
                raise _Strict("frame-limit", offset)

    def field(self, line: str) -> None:
        match = re.fullmatch("(id|data|): ?(.*)", line, re.DOTALL)
        if not match:
            raise _Strict("unsupported-field", self.line_begin)
        name, value = match.groups()
        if name == "id":
            self.id = value
        elif name == "data":
            self.data.append(value)

    def dispatch(self, end: int) -> None:
        begin, data, id = self.begin, self.data, self.id
        self.begin, self.data, self.id, self.frame = None, [], None, 0
        if not data:
            return
        if id is None or not re.fullmatch("[A-Za-z0-9_-]{1,64}", id):
            raise _Strict("invalid-id", begin)
        try:
            payload = json.loads("\n".join(data), parse_constant=_no_constant)
        except ValueError:
            raise _Strict("invalid-json", begin) from None
        kind = payload.get("type") if isinstance(payload, dict) else None
        if kind == "error":
            raise _Strict("service-error", begin)
        self.events.append((id, payload))
        self.ends.append(end)
        if kind == "finish":
            raise _Strict("completed", end)


def _no_constant(name: str) -> None:
    raise ValueError(name)


def strict_sse(
    wire: bytes, frame_bytes: int = 1024, total_bytes: int = 8192
) -> tuple[list[Item], list[int], Verdict]:
    """The events of a strict stream, the bytes at which they are complete, and the verdict."""
    run = _StrictSse(frame_bytes)
    decoded = utf8_decode(wire[:total_bytes])
    try:
        for char in decoded.chars:
            if char.made:
                begins_character = 0xC2 <= wire[char.start] <= 0xF4
                maybe_bom = char.start == 0 and wire[:2] == b"\xef\xbb"
                if begins_character and not maybe_bom:  # then it was counted as it came
                    run.count(char.start, char.end)
                raise _Strict("invalid-utf8", char.start)
            run.read(char)
        kept = run.frame
        run.count(decoded.start, decoded.start + decoded.held)
        run.frame = kept
        if len(wire) > total_bytes:
            raise _Strict("total-limit", total_bytes)
    except _Strict as verdict:
        return run.events, run.ends, Verdict(*verdict.args)
    if decoded.held or wire in (b"\xef", b"\xef\xbb"):
        return run.events, run.ends, Verdict("character", len(wire))
    return run.events, run.ends, Verdict("frame" if run.frame else "message", len(wire))
