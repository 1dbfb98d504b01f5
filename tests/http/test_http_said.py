"""What a body that is no stream says, and what its headers say to a program."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn.http.said import printable, said
from untorn.http.unexpected import _retry_after


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "No", "type": "t"}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "No"}},
        {"error": "No"},
        {"message": "No"},
        {"detail": "No"},
        {"detail": [{"loc": ["body"], "msg": "No"}]},
        {"type": "about:blank", "title": "No"},
        {"errors": [{"code": 1}, {"message": "No"}]},
        [{"error": {"code": 400, "message": "No", "status": "INVALID_ARGUMENT"}}],
        {"message": "Less", "error": {"message": "No"}},
        {"error": "", "error_description": "No"},
        "No",
    ],
)
def test_message_is_found_in_each_of_its_shapes(body: Any) -> None:
    assert said(json.dumps(body), "application/json") == "No"
    assert said(" \n" + json.dumps(body), None) == "No"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", None, None),
        (" \n\t", "text/plain", None),
        ("  It is\r\n broken\x1b[31m ", "text/plain", "It is broken [31m"),
        ('{"id": 7}', "application/json", '{"id": 7}'),
        (
            '{"error": {"message": "It was cut he',
            "application/json",
            '{"error": {"message": "It was cut he',
        ),
        ("<html><TITLE lang=de>A &lt;b&gt;\n c</TITLE>", "text/html", "a page titled 'A <b> c'"),
        ("<h1>Nothing</h1>", None, "a page"),
        ("", "text/html", None),
        ("no page", "text/html", "a page"),
        ("\x00\x00\x01", None, None),
        ("\ufffd" * 9, None, None),
        ("cut \ufffd", None, "cut \ufffd"),
        ("7", "application/json", "7"),
        ("[" * 4096, "application/json", "[" * 297 + "..."),
        ("[" * 2000 + "]" * 2000, "application/json", "[" * 297 + "..."),
        (json.dumps({"message": "m" * 400}), None, "m" * 297 + "..."),
    ],
)
def test_what_bodies_say(text: str, kind: str | None, message: str | None) -> None:
    assert said(text, kind) == message


@given(st.text(), st.sampled_from([None, "text/html", "application/json"]))
def test_whatever_is_said_is_one_line(text: str, kind: str | None) -> None:
    """Of a bounded length, and safe to print."""
    line = said(text, kind)
    assert line is None or (0 < len(line) <= 300 and line.isprintable())


@given(st.text(), st.integers(4, 20))
def test_lines_are_bounded(text: str, most: int) -> None:
    line = printable(text, most)
    assert len(line) <= most
    assert line.isprintable()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1_0"}, None),
        ({"retry-after": "\u0661\u0662".encode()}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
        ({"retry-after": f"Wed, 21 Oct {10**20} 07:28:00 GMT"}, None),
        ({"retry-after": f"Wed, 21 Oct 2015 07:28:00 +{10**20}"}, None),
    ],
)
def test_when_to_ask_again(headers: dict[str, str], seconds: float | None) -> None:
    assert _retry_after(httpx.Headers(headers)) == seconds


def test_date_to_ask_again() -> None:
    """In seconds from now, by the clock of this machine."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    seconds = _retry_after(httpx.Headers({"retry-after": date}))
    assert seconds is not None
    assert 50 < seconds <= 60


@given(st.text(st.characters(max_codepoint=126, min_codepoint=32)))
def test_no_header_breaks_it(text: str) -> None:
    seconds = _retry_after(httpx.Headers({"retry-after": text}))
    assert seconds is None or seconds >= 0
