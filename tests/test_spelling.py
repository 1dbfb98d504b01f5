"""A secret is found in every spelling that writers have for it, and so is its beginning."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn.spelling import Spelled

SECRETS = [
    "sk-SECRET_0.1~2",
    "ab+cd/ef+Gh12345==",
    "ab'c&d\"e<12345>`",
    "ab\\cd/e f12345",
    'x"\\\\"y\\',
    "ab%2Fcd%20ef&amp;123",
    "schlüssel-é",
    "京都\n🔑\tkey",
]


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def like_dotnet(text: str) -> str:
    """Return JSON in which some characters are escaped that need not be, in upper case."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', "\\u0022")
    return re.sub("[&'+<>`\x80-\uffff]", lambda found: f"\\u{ord(found[0]):04X}", plain)


def like_gson(text: str) -> str:
    return re.sub("[&'<=>]", lambda found: f"\\u{ord(found[0]):04x}", in_json(text))


def like_handlebars(text: str) -> str:
    more = {"'": "&#x27;", "/": "&#x2F;", "=": "&#x3D;", "`": "&#x60;"}
    escaped = html.escape(text, quote=False).replace('"', "&quot;")
    return "".join(more.get(char, char) for char in escaped)


def like_cookies(text: str) -> str:
    """Return what aiohttp writes between the quotes of a cookie."""
    escaped = re.sub(r'(["\\])', r"\\\1", text)
    return re.sub(r"[^!-~]|[,;]", lambda found: "".join(
        f"\\{octet:03o}" for octet in found[0].encode()), escaped)  # fmt: skip


def lower(text: str) -> str:
    return re.sub("%..", lambda found: found[0].lower(), quote(text, safe=""))


WRITERS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "json": in_json,
    "json in utf-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json with slashes": lambda text: in_json(text).replace("/", "\\/"),
    "json in json": lambda text: in_json(in_json(text)),
    "dotnet": like_dotnet,
    "gson": like_gson,
    "repr": lambda text: repr(text)[1:-1],
    "repr of json": lambda text: repr(in_json(text).replace("/", "\\/"))[1:-1],
    "repr of bytes": lambda text: repr(text.encode())[2:-1],
    "url": quote,
    "url, nothing safe": lambda text: quote(text, safe=""),
    "url, lower case": lower,
    "url in a url": lambda text: quote(quote(text, safe=""), safe=""),
    "form": quote_plus,
    "html": html.escape,
    "html twice": lambda text: html.escape(html.escape(text)),
    "handlebars": like_handlebars,
    "cookies": like_cookies,
    "utf-8 read as latin-1": lambda text: text.encode().decode("latin-1"),
    "that in json": lambda text: in_json(text.encode().decode("latin-1")),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("secret", SECRETS)
def test_every_writer_is_understood(secret: str, writer: str) -> None:
    """The whole of what it writes is found, and each beginning of that is known for one."""
    spelled, written = Spelled([secret]), WRITERS[writer](secret)
    [(start, end), *_] = spelled.spans(f"(.{written}.)")
    assert (start, end) == (2, 2 + len(written))
    for size in range(1, len(written)):
        whole = any(True for _ in spelled.spans(written[:size]))
        assert whole or spelled.begun(f"(.{written[:size]}") == 2


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"user:"])
@pytest.mark.parametrize("secret", ["sk-SECRET", "\xff\xfe~~~>>>???", SECRETS[1]])
def test_base64_is_found_wherever_it_begins(
    secret: str, before: bytes, encode: Callable[[bytes], bytes]
) -> None:
    """Of what is encoded with it, at most one character is left that has bits of it."""
    written = encode(before + secret.encode() + b"!").decode()
    [(start, end)] = Spelled([secret]).spans(written)
    assert start * 6 <= len(before) * 8 + 4
    assert end * 6 >= (len(before) + len(secret.encode())) * 8 - 4


def test_secrets_that_overlap_are_all_found() -> None:
    """Also one with itself."""
    assert {*Spelled(["abcabc", "cabcx1"]).spans("abcabcabcx1")} == {(0, 6), (3, 9), (5, 11)}


@given(st.lists(st.text("ab\\\"'/+&<=%é🔑;, 1", min_size=6, max_size=9)), st.text())
def test_what_is_no_secret_is_not_found(secrets: list[str], text: str) -> None:
    """And looking for it raises nothing."""
    spelled = Spelled(secrets)
    assert bool(spelled) is bool(secrets)
    assert all(0 <= start < end <= len(text) for start, end in spelled.spans(text))
    assert 0 <= spelled.begun(text) <= len(text)


def test_a_run_of_backslashes_is_gone_through_once() -> None:
    """No more is looked at than eight of them from anywhere: else this would take minutes."""
    spelled = Spelled(['\\"a\\\\b"c', '"""""""', "sk-+++"])
    text = "\\" * 1_000_000 + '"'
    assert not [*spelled.spans("sk-" + text)]
    assert len(text) - spelled.begun(text) < 64


def test_a_document_is_looked_for_as_a_whole_alone() -> None:
    """It is no key, and a pattern for each of its beginnings would take seconds to make."""
    document = '{"a": "b+c/d"}, ' * 100
    spelled = Spelled([document])
    assert [*spelled.spans(f"It is {document}.")][:1] == [(6, 6 + len(document))]
    assert spelled.begun(document[:100]) == 100
