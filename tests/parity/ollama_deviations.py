"""Where `ollama` differs."""

from __future__ import annotations

import json
from typing import Any

from .deviation import FOX, Deviation, in_character, in_frame, in_message
from .ollama_sdk import CHAT, GENERATE


def line(text: str, **fields: Any) -> bytes:
    message = {"role": "assistant", "content": text}
    said = {"model": "m", "message": message, "done": False, **fields}
    return json.dumps(said, ensure_ascii=False).encode() + b"\n"


DONE = line("", done=True, done_reason="stop")
WHOLE = line("Hello") + line(f" {FOX}!") + DONE

DEVIATIONS = [
    Deviation(
        CHAT,
        "an answer that ends inside a character",
        in_character(WHOLE),
        "raises JSONDecodeError",
        "Interrupted in a character: 'Hello', None",
    ),
    Deviation(
        CHAT,
        "an answer that ends inside a line",
        in_frame(WHOLE),
        "raises JSONDecodeError",
        "Interrupted in a frame: 'Hello', None",
    ),
    Deviation(
        CHAT,
        "an answer that ends between two lines",
        in_message(WHOLE, b"\n"),
        "'Hello', None",
        "Interrupted in a message: 'Hello', None",
    ),
    Deviation(
        CHAT,
        "a last line without its newline",
        WHOLE[:-1],
        "'Hello 🦊!', stop",
        "Interrupted in a frame: 'Hello 🦊!', None",
    ),
    Deviation(
        GENERATE,
        "an answer that ends between two lines",
        json.dumps({"model": "m", "response": "Hello", "done": False}).encode() + b"\n",
        "'Hello', None",
        "Interrupted in a message: 'Hello', None",
    ),
    Deviation(
        CHAT,
        "U+2028 in the text",
        line("Hello\u2028again") + DONE,
        "raises JSONDecodeError",
        "Completed: 'Hello\\u2028again', stop",
    ),
    Deviation(
        CHAT,
        "U+0085 in the text",
        line("Hello\u0085again") + DONE,
        "raises JSONDecodeError",
        "Completed: 'Hello\\x85again', stop",
    ),
    Deviation(
        CHAT,
        "a blank line",
        line("Hello") + b"\n" + DONE,
        "raises JSONDecodeError",
        "Completed: 'Hello', stop",
    ),
    Deviation(
        CHAT,
        "a BOM before the first line",
        b"\xef\xbb\xbf" + line("Hello") + DONE,
        "raises JSONDecodeError",
        "Completed: 'Hello', stop",
    ),
    Deviation(
        CHAT,
        "a byte that is not UTF-8",
        line("Hello \x41").replace(b"A", b"\xff") + DONE,
        "'Hello �', stop",
        "Failed, invalid-utf8: '', None",
    ),
    Deviation(
        CHAT,
        "a character whose two escaped halves come in two lines",
        (line("@") + line("#") + DONE).replace(b"@", rb"\ud83e").replace(b"#", rb"\udd8a"),
        "'\\ud83e\\udd8a', stop",
        "Completed: '🦊', stop",
    ),
]
