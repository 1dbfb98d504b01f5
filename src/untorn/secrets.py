"""What a request keeps secret.

Keys lie in headers, in the query of the URL and before its `@`. Of a query the names
tell what is secret; of the headers everything may be but what is known to be harmless.
What is secret elsewhere, in a body or a path, the extension `untorn.secrets` of a request
names.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, unquote, unquote_plus

__all__ = ["SECRETS", "SHORTEST", "keys_of", "secrets_of"]

SECRETS: Final = "untorn.secrets"
"""The extension of a request (of httpx2 and httpx) that has a list of further secrets."""
_NAMES: Final = re.compile(
    r"key|token|secret|sig|pass|auth|cookie|credential|session", re.IGNORECASE
)
# Fields whose values are part of the sentence, or stand in it by chance.
_HARMLESS: Final = re.compile(
    r"accept(-.*)?|cache-control|connection|content-.*|date|expect|host|keep-alive|last-event-id|"
    r"origin|pragma|prefer|priority|range|te|transfer-encoding|upgrade|user-agent|"
    r"anthropic-(beta|version)|mcp-protocol-version|openai-beta|sec-.*|x-requested-with|"
    r"x-stainless-.*|if-.*",
    re.IGNORECASE,
)
_FOR_HTML: Final = re.compile(r"[&'+<=>`]")
"""What some writers of JSON escape that need not be, lest it be taken for HTML."""
SHORTEST: Final = 6
"""Characters; what is shorter is no key, and stands in too many words."""


def secrets_of(request: Any) -> list[str]:
    """Return all that may be a secret of a request, in each of its forms, the longest first."""
    return _in_all_forms([*_keys(request), *_others(request)])


def keys_of(request: Any) -> list[str]:
    """Return what is certainly one; `secrets_of` names what is in other headers as well."""
    return _in_all_forms(_keys(request))


def _in_all_forms(secrets: Iterable[str]) -> list[str]:
    found = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
    return sorted(found, key=len, reverse=True)


def _headers(request: Any) -> list[tuple[str, str]]:
    headers = getattr(request, "headers", None)
    return [] if headers is None else list(headers.items())


def _others(request: Any) -> Iterator[str]:
    for name, value in _headers(request):
        if not _HARMLESS.fullmatch(name):
            yield value
    for raw_name, raw in getattr(getattr(request, "headers", None), "raw", ()):
        if not _HARMLESS.fullmatch(raw_name.decode("ascii", "replace")):
            yield repr(raw)  # as clients quote what they refuse to send


def _keys(request: Any) -> Iterator[str]:
    extensions: Any = getattr(request, "extensions", None) or {}
    for secret in extensions.get(SECRETS, ()):
        yield from (secret, secret.strip())
    for name, value in _headers(request):
        if _NAMES.search(name):
            yield value
            yield from _credentials(name.lower(), value)
    url = getattr(request, "url", None)
    if url is not None:
        yield from _in_query(url)
        yield from _in_userinfo(getattr(url, "userinfo", b"").decode("ascii", "replace"))


def _in_query(url: Any) -> Iterator[str]:
    # The query of httpx's URL is bytes, that of yarl's a mapping.
    query = url.query.decode("ascii", "replace") if isinstance(url.query, bytes) else ""
    query = query or getattr(url, "raw_query_string", "") or getattr(url, "query_string", "")
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if _NAMES.search(unquote_plus(name)):
            yield from (value, unquote_plus(value))


def _in_userinfo(userinfo: str) -> Iterator[str]:
    if userinfo:
        for part in userinfo.split(":", 1):
            yield from (part, unquote(part))
        yield b64encode(unquote(userinfo).encode()).decode()


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as it stands in a URL, in Python and in JSON."""
    yield from (secret, quote(secret, safe="", errors="surrogateescape"))
    yield from (repr(secret)[1:-1], repr(secret + '"')[1:-2])
    for in_json in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield from (in_json, in_json.replace("/", "\\/"))
        yield _FOR_HTML.sub(lambda char: f"\\u{ord(char[0]):04x}", in_json)
        yield _FOR_HTML.sub(lambda char: f"\\u{ord(char[0]):04X}", in_json)


def _credentials(name: str, value: str) -> Iterator[str]:
    """Yield what is secret in a field: neither the scheme of a key nor the name of a cookie is."""
    if name == "cookie":
        for cookie in value.split(";"):
            content = cookie.partition("=")[2].strip()
            yield from (content, *re.split(r"[\s,=]+", content))
        return
    scheme, _, credentials = value.partition(" ")
    if "authorization" not in name or not credentials:
        credentials = value
    elif scheme.lower() == "basic":
        with suppress(ValueError):
            yield from b64decode(credentials).decode().split(":", 1)
    yield from (credentials, *re.split(r"[\s;,=]+", credentials))
