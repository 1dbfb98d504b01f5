"""What a request keeps secret.

Keys lie in headers, in the query of the URL and before its `@`. Of a query the names
tell what is secret; of the headers everything may be but what is known to be harmless.
What is secret elsewhere, in a body or a path, the extension `untorn.secrets` of a request
names.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

__all__ = [
    "SECRETS",
    "SHORTEST",
    "credentials_of",
    "keys_of",
    "requests_of",
    "secrets_of",
    "userinfo_of",
]

SECRETS: Final = "untorn.secrets"
"""The extension of a request (of httpx2 and httpx) that has a list of further secrets."""
SHORTEST: Final = 6
"""Characters; what is shorter is no key, and stands in too many words."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMES: Final = re.compile(
    r"(|x|api|access|account|app|auth|client|consumer|function|host|license|private|secret"
    r"|session|shared|signing|subscription)key"
    r"|(|x|access|api|auth|bearer|client|csrf|id|refresh|session|xsrf)(token|secrets?)"
    r"|sig|signature|pass|passwd|password|passphrase|pwd|(|x|proxy)auth|oauth|authentication"
    r"|authorization|jwt|cookies?|credentials?|(|j)session(|id)|phpsessid"
)
"""Words in the name of what is secret."""
_HARMLESS: Final = re.compile(
    r"accept(-.*)?|cache-control|connection|content-.*|date|expect|host|keep-alive|last-event-id|"
    r"origin|pragma|prefer|priority|range|te|transfer-encoding|upgrade|user-agent|"
    r"anthropic-(beta|version)|mcp-protocol-version|openai-beta|sec-.*|x-requested-with|"
    r"x-stainless-.*|if-.*",
    re.IGNORECASE,
)
"""Fields whose values are part of the sentence, or stand in it by chance."""
_SCHEME: Final = re.compile(
    r"api-?key|aws4-[a-z0-9-]+|basic|bearer|digest|dpop|hawk|negotiate|ntlm|oauth|scram-.*|token",
    re.IGNORECASE,
)
_PARAMETER: Final = re.compile(r'(?<![\w-])([\w-]++)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,;"]+)')
_QUOTED: Final = re.compile(r"\\([0-3][0-7]{2})|\\(.)")
_HARMLESS_PARAMETERS: Final = frozenset(
    ("algorithm", "charset", "nc", "qop", "realm", "signedheaders", "uri", "userhash")
)


def secrets_of(request: Any) -> set[str]:
    """Return all that may be a secret of a request."""
    return _long_enough([*_keys(request), *_others(request)])


def keys_of(request: Any) -> set[str]:
    """Return what is certainly one; `secrets_of` names what is in other headers as well."""
    return _long_enough(_keys(request))


def requests_of(response: Any) -> Iterator[Any]:
    """Yield what was sent for a response, as far as it knows: with redirects, several."""
    for each in (response, *(getattr(response, "history", None) or ())):
        with suppress(Exception):  # those of httpx2 and httpx raise if they know of none
            # aiohttp's says what was sent after it was.
            yield getattr(each, "request_info", None) or getattr(each, "request", None)


def credentials_of(value: str) -> Iterator[str]:
    """Yield what is secret in the value of a field, not knowing its name."""
    yield value
    yield from _credentials("authorization", value)


def userinfo_of(userinfo: str) -> Iterator[str]:
    """Yield what is secret of what stands before the `@` of a URL."""
    if userinfo:
        for part in userinfo.split(":", 1):
            yield from (part, unquote(part))
        yield b64encode(unquote(userinfo).encode()).decode()


def _long_enough(secrets: Iterable[str]) -> set[str]:
    return {secret for secret in secrets if len(secret) >= SHORTEST}


def _fields(request: Any) -> Iterator[tuple[str, str]]:
    """Yield each field on its own, whatever is beside it: the clients decode all as one."""
    headers = getattr(request, "headers", None)
    raw = getattr(headers, "raw", None)
    if raw is None:
        yield from () if headers is None else headers.items()
        return
    for name, value in raw:
        yield _text(name), _text(value)


def _text(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def _others(request: Any) -> Iterator[str]:
    for name, value in _fields(request):
        if not _HARMLESS.fullmatch(name):
            # As it is, and as clients quote what they refuse to send.
            yield from (value, repr(value.encode("utf-8", "surrogateescape")))


def _keys(request: Any) -> Iterator[str]:
    extensions: Any = getattr(request, "extensions", None) or {}
    for secret in extensions.get(SECRETS, ()):
        yield from (secret, secret.strip(), *secret.splitlines())
    for name, value in _fields(request):
        if _tells(name):
            yield value
            yield from _credentials(name.lower(), value)
    url = getattr(request, "url", None)
    if url is not None:
        yield from _in_query(url)
        yield from userinfo_of(getattr(url, "userinfo", b"").decode("ascii", "replace"))


def _tells(name: str) -> bool:
    """Say whether the name of a field or of a parameter has a word that tells of a secret."""
    return any(_NAMES.fullmatch(word.lower()) for word in _WORD.findall(name))


def _in_query(url: Any) -> Iterator[str]:
    # The query of httpx's URL is bytes, that of yarl's a mapping.
    query = url.query.decode("ascii", "replace") if isinstance(url.query, bytes) else ""
    query = query or getattr(url, "raw_query_string", "") or getattr(url, "query_string", "")
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if _tells(unquote_plus(name)):
            yield from (value, unquote_plus(value))


def _credentials(name: str, value: str) -> Iterator[str]:
    """Yield what is secret in a field: not its scheme, nor the name of a parameter or a cookie."""
    if name == "cookie":
        for cookie in value.split(";"):
            yield from _in_cookie(cookie.partition("=")[2].strip())
        return
    scheme, _, credentials = value.partition(" ")
    if not credentials or not ("authorization" in name or _SCHEME.fullmatch(scheme)):
        credentials = value
    elif scheme.lower() == "basic":
        with suppress(ValueError):
            yield from _text(b64decode(credentials)).split(":", 1)
    yield from (credentials, credentials.rstrip("="))
    parameters = _PARAMETER.findall(credentials)
    for parameter, content in parameters:
        if parameter.lower() not in _HARMLESS_PARAMETERS:
            yield _unquoted(content)
    if not parameters:
        yield from re.split(r"[\s;,]+", credentials)


def _in_cookie(content: str) -> Iterator[str]:
    plain = _unquoted(content)
    yield from (content, plain, *re.split(r"[\s,=]+", plain))


def _unquoted(text: str) -> str:
    """Return what is between quotes; aiohttp escapes more there than RFC 9110 has it."""
    if len(text) < len('""') or not text[0] == text[-1] == '"':
        return text
    return _QUOTED.sub(lambda found: chr(int(found[1], 8)) if found[1] else found[2], text[1:-1])
