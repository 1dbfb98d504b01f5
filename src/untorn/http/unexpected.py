"""The judgement of a response, before anything frames it; and what it says instead."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from anyio import move_on_after

from ..faults import UnexpectedResponse
from ..hidden import HIDDEN, Hiding, in_octets
from ..secrets import requests_of
from .answer import Answer, Headers, leave
from .content_coding import package_for
from .media_types import accepts, media_type
from .said import printable, said

__all__ = ["judge"]

_BODY_BYTES: Final = 4096
_BODY_SECONDS: Final = 2.0
"""How long the body of an error may take: it is worth a sentence, not a wait."""
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]*)?")
_REQUEST_IDS: Final = ("x-request-id", "request-id", "x-amzn-requestid")


async def judge(answer: Answer, accepted: frozenset[str], seconds: float = math.inf) -> None:
    """Return if the response is a stream of these media types; else raise `UnexpectedResponse`.

    A response without a media type is taken as it is. `seconds` is how long the
    clocks of the stream still run: the body of an error is given half of that at
    most, so that what is known already comes before they strike.
    """
    seconds = min(_BODY_SECONDS, max(seconds, 0.0) / 2)
    kind = media_type(answer.field("content-type"))
    if not 200 <= answer.status < 300 or answer.status in (204, 205):
        raise await _unexpected(answer, "http-status", kind, accepted, seconds)
    if kind is not None and not accepts(accepted, kind):
        raise await _unexpected(answer, "content-type", kind, accepted, seconds)
    if answer.undecodable:
        raise await _unexpected(answer, "content-encoding", kind, accepted, seconds)


async def _unexpected(
    answer: Answer, code: str, kind: str | None, accepted: frozenset[str], seconds: float
) -> UnexpectedResponse:
    hiding = Hiding(*requests_of(answer.response))
    # Of the field as it came: no key is found in lower case.
    kind = media_type(hiding.text(answer.field("content-type") or ""))
    body = b"" if answer.undecodable else await _beginning(answer, seconds)
    body = in_octets(body, hiding.begun)
    message, after = said(body.decode("utf-8", "replace"), kind), _retry_after(answer.headers)
    # Once more: what was escaped in JSON or HTML is not so any longer.
    message = message and hiding.sentence(message)
    what, advice = _what_and_advice(answer, code, kind, accepted, after, hiding)
    return UnexpectedResponse(
        "; ".join((f"{what}: {message}" if message else what, advice)),
        code=code,
        status=answer.status,
        media_type=kind,
        body=body,
        message=message,
        retry_after=after,
        request_id=next(_request_ids(answer, hiding), None),
    )


async def _beginning(answer: Answer, seconds: float) -> bytes:
    """Return the beginning of the body, or what came of it in time."""
    body, chunks = b"", answer.body()
    # However it breaks off: the status is the news.
    with suppress(Exception), move_on_after(seconds):
        async for chunk in chunks:
            body += chunk[: _BODY_BYTES - len(body)]
            if len(body) == _BODY_BYTES:
                break
    with suppress(Exception):
        await leave(chunks)
    return body


# --- the sentences ----------------------------------------------------------------


def _what_and_advice(
    answer: Answer,
    code: str,
    kind: str | None,
    accepted: frozenset[str],
    after: float | None,
    hiding: Hiding,
) -> tuple[str, str]:
    if code == "http-status":
        return _status(answer, hiding), _status_advice(answer, after, hiding)
    if code == "content-type":
        return _type(answer, kind, accepted), _type_advice(kind)
    return _coding(answer, hiding), _coding_advice(answer)


def _status(answer: Answer, hiding: Hiding) -> str:
    reason = printable(hiding.text(answer.reason), 80)
    return f"The server answered {answer.status} {reason}".rstrip()


def _status_advice(answer: Answer, after: float | None, hiding: Hiding) -> str:
    status = answer.status
    if status in (204, 205):
        return "there is nothing to read"
    if location := _location(answer.headers, hiding):
        return f"let the client follow redirects, or ask {location} instead"
    if status in (401, 403, 407):
        return "check the key that was sent"
    if status in (404, 405, 410):
        return "check the method and the URL"
    if status in (408, 425, 429) or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "ask again later" if after is None else f"ask again in {after:g} s"
    return "check the request"


def _type(answer: Answer, kind: str | None, accepted: frozenset[str]) -> str:
    expected = sorted(accepted)
    others = " or the like" if len(expected) > 1 else ""
    wanted = f", not {expected[0]}{others}" if expected else ""
    return f"The server answered {answer.status} with {printable(kind or '', 80)}{wanted}"


def _type_advice(kind: str | None) -> str:
    if kind == "text/html":
        return "check the URL, and what stands between you and the server"
    return "ask for a stream, or name this type in media_types if it is one"


def _coding(answer: Answer, hiding: Hiding) -> str:
    given = answer.field("content-encoding") or ""
    coding = printable(answer.undecodable[0], 40) if hiding.text(given) == given else HIDDEN
    return f"Nothing here can decode the content coding {coding!r}"


def _coding_advice(answer: Answer) -> str:
    package = package_for(answer.undecodable[0])
    install = f"install the package {package}, or " if package else ""
    return f"{install}send the header 'Accept-Encoding: gzip'"


def _location(headers: Headers, hiding: Hiding) -> str | None:
    """Return where a redirect leads, without what may be secret in it."""
    with suppress(ValueError):
        parts = urlsplit(headers.get("location") or "")
        host = parts.netloc.rpartition("@")[2]
        plain = parts._replace(netloc=host, query="", fragment="").geturl()
        return printable(hiding.text(plain), 200) or None
    return None


# --- the fields -------------------------------------------------------------------


def _request_ids(answer: Answer, hiding: Hiding) -> Iterator[str]:
    for name in _REQUEST_IDS:
        if given := answer.headers.get(name):
            yield printable(hiding.text(given), 200)


def _retry_after(headers: Headers) -> float | None:
    """Return the seconds to wait: RFC 9110, section 10.2.3, or the header in milliseconds."""
    given = headers.get("retry-after") or ""
    for text, unit in ((headers.get("retry-after-ms") or "", 1000), (given, 1)):
        if _NUMBER.fullmatch(text) and math.isfinite(seconds := float(text) / unit):
            return max(seconds, 0.0)
    with suppress(ValueError, OverflowError):  # of a year or a zone that no number holds
        date = parsedate_to_datetime(given)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max((date - datetime.now(UTC)).total_seconds(), 0.0)
    return None
