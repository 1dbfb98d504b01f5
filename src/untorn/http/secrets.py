"""What a request keeps secret, taken out of errors and of what servers say.

Keys lie in headers, in the query of the URL and before its `@`. Clients quote a header
they refuse to send, errors carry the request along when they are pickled, and
servers repeat what they were sent. Of a query the names tell what is secret; of the
headers everything is but what is known to be harmless. What is secret elsewhere, in a
body or a path, the extension `untorn.secrets` of a request names.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, unquote, unquote_plus

__all__ = ["SECRETS", "SHORTEST", "forget_request", "hide_begun", "hide_secrets", "secrets_of"]

SECRETS: Final = "untorn.secrets"
"""The extension of a request (of httpx2 and httpx) that has a list of further secrets."""
_HIDDEN: Final = "[hidden]"
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
SHORTEST: Final = 6
"""Characters; what is shorter is no key, and stands in too many words."""


def hide_secrets(text: str, request: Any) -> str:
    """Return `text` without the secrets of a request (of httpx2, httpx or aiohttp)."""
    for secret in secrets_of(request):
        text = text.replace(secret, _HIDDEN)
    return text


def hide_begun(text: str, request: Any) -> str:
    """Return `text` without the beginning of a secret at its end, where it was cut off."""
    for secret in secrets_of(request):
        for size in range(len(secret) - 1, SHORTEST - 1, -1):
            if text.endswith(secret[:size]):
                return text[:-size] + _HIDDEN
    return text


def secrets_of(request: Any) -> list[str]:
    """Return the secrets of a request, the longest first."""
    found = {secret for secret in _secrets(request) if len(secret) >= SHORTEST}
    return sorted(found, key=len, reverse=True)


def forget_request(error: BaseException | None, request: Any) -> None:
    """Take what a request keeps secret out of an error, and of all behind it."""
    seen: set[int] = set()
    errors = [error]
    while errors:
        error = errors.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        error.args = tuple(
            hide_secrets(_unquoted(part, request), request) if isinstance(part, str) else part
            for part in error.args
        )
        if isinstance(getattr(type(error), "request", None), property):
            error.request = None  # type: ignore[attr-defined]
        errors += [error.__cause__, error.__context__]
        errors += error.exceptions if isinstance(error, BaseExceptionGroup) else ()


def _unquoted(text: str, request: Any) -> str:
    """Take out header values quoted as the bytes they were to be sent as."""
    for _, value in getattr(getattr(request, "headers", None), "raw", ()):
        text = text.replace(repr(value), _HIDDEN)
    return text


def _headers(request: Any) -> list[tuple[str, str]]:
    headers = getattr(request, "headers", None)
    return [] if headers is None else list(headers.items())


def _secrets(request: Any) -> Iterator[str]:
    extensions: Any = getattr(request, "extensions", None) or {}
    for secret in extensions.get(SECRETS, ()):
        yield from _forms(secret)
    for name, value in _headers(request):
        if not _HARMLESS.fullmatch(name):
            yield value
        if _NAMES.search(name):
            yield value
            yield from _credentials(name.lower(), value)
    url = getattr(request, "url", None)
    if url is None:
        return
    # The query of httpx's URL is bytes, that of yarl's a mapping.
    query = url.query.decode("ascii", "replace") if isinstance(url.query, bytes) else ""
    query = query or getattr(url, "raw_query_string", "") or getattr(url, "query_string", "")
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if _NAMES.search(unquote_plus(name)):
            plain = unquote_plus(value)
            yield from (value, plain, quote(plain, safe=""))
    userinfo = getattr(url, "userinfo", b"").decode("ascii", "replace")
    if userinfo:
        for part in userinfo.split(":", 1):
            yield from (part, unquote(part))
        yield b64encode(unquote(userinfo).encode()).decode()


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as it stands in a URL, a header and JSON."""
    quoted = quote(secret, safe="", errors="surrogateescape")
    yield from (secret, secret.strip(), quoted, json.dumps(secret)[1:-1])
    yield json.dumps(secret, ensure_ascii=False)[1:-1]


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
