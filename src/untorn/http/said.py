"""What a body that is no stream says, in one readable line."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

__all__ = ["printable", "said"]

_MOST: Final = 300
"""Characters of a message."""
_STRANGE: Final = 3
"""Characters that are none; one may come from where a body was capped."""
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_IN_ERROR: Final = ("message", "error", "detail", "title", "errors", "msg", "error_description")


def said(text: str, kind: str | None) -> str | None:
    """Return the message of a JSON error, the title of a page, or the beginning of a text."""
    if "\0" in text or text.count("\ufffd") > _STRANGE:  # it is no text
        return None
    if kind == "text/html" or text.lstrip()[:1] == "<":
        title = _TITLE.search(text)
        found = f"a page titled {printable(html.unescape(title[1]), 120)!r}" if title else "a page"
        return found if text.strip() else None
    try:
        message = _message(json.loads(text))
    except (ValueError, RecursionError):  # no JSON, or one that was capped
        message = text
    return printable(message or text, _MOST) or None


def _message(value: Any) -> str | None:
    """Return what an error says, in any of the shapes that services give it.

    `{"error": {"message": ...}}` and its relatives; problem details (RFC 9457).
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return next(filter(None, map(_message, value)), None)
    if isinstance(value, dict):
        # An object inside says more than a word beside it: {"error": {...}, "message": "..."}.
        named = [value[name] for name in _IN_ERROR if name in value]
        named.sort(key=lambda part: not isinstance(part, dict))
        return next(filter(None, map(_message, named)), None)
    return None


def printable(text: str, most: int) -> str:
    """Return a text as one line of at most `most` characters, safe to print."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= most else line[: most - 3] + "..."
