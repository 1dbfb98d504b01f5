"""The bytes of a response that was judged before the first of them is handed on.

All that goes wrong goes wrong while the first chunk is asked for, or a later one:
so in a stream that is opened on such a source, everything is an outcome.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from anyio import (
    ClosedResourceError,
    TypedAttributeProvider,
    TypedAttributeSet,
    current_time,
    typed_attribute,
)

from ..discreet import forget_secrets
from ..limits import Clocks
from ..secrets import requests_of
from ..source import Discreet
from .answer import Answer, as_answer, leave
from .media_types import as_media_types
from .request import as_client, build_request
from .unexpected import judge

if TYPE_CHECKING:
    import httpx
    import httpx2

__all__ = ["HttpAttribute", "RequestSource", "ResponseSource"]

F = TypeVar("F", bound=BaseException)


class HttpAttribute(TypedAttributeSet):
    """What is known of the response, once its head is here."""

    status: int = typed_attribute()
    """The status code."""
    headers: Mapping[str, str] = typed_attribute()
    """The fields of its head, by names in any case."""
    response: Any = typed_attribute()
    """The response itself, as the client has it."""


class _JudgedSource(AsyncIterator[bytes], TypedAttributeProvider, Discreet):
    """Judges an answer, and then hands on its body."""

    def __init__(self, media_types: Iterable[str], clocks: Clocks) -> None:
        self._accepted = as_media_types(media_types)
        self._clocks = clocks
        self._until = math.inf
        self._answer: Answer | None = None
        self._body: AsyncIterator[bytes] | None = None
        self._begun = False

    @property
    def response(self) -> Any:
        """The response, once its head is here, or else `None`."""
        return self._answer and self._answer.response

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Those of `HttpAttribute`, once the head of the response is here."""
        answer, attribute = self._answer, cast(Any, HttpAttribute)
        if answer is None:
            return {}
        return {
            attribute.status: lambda: answer.status,
            attribute.headers: lambda: answer.headers,
            attribute.response: lambda: answer.response,
        }

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._body or await self._begin())
        except StopAsyncIteration:
            raise
        except Exception as error:
            if (shown := self.hide(error)) is error:
                del shown
                raise
        try:
            raise shown  # and not in the handler: the other one would be behind it
        finally:
            del shown

    def hide(self, error: F) -> F:
        """Return an error without what the request keeps secret, as services repeat it."""
        return forget_secrets(error, *self._requests(), unsent=self._answer is None)

    async def aclose(self) -> None:
        """Close the response; its connection too, unless the body was read to its end."""
        self._begun = True
        body, self._body = self._body, None
        try:
            if body is not None:
                await leave(body)
        finally:
            if self._answer is not None:
                await self._answer.aclose()

    async def _begin(self) -> AsyncIterator[bytes]:
        """Return the body, once: what was cancelled or refused is not asked for again."""
        if self._begun:
            raise ClosedResourceError(
                "This source was closed, or its response was refused or not waited for; "
                "make a new one, for nothing is asked for twice"
            )
        self._begun = True
        self._until = current_time() + _until_the_first_byte(self._clocks)
        self._body = await self._judged()
        return self._body

    async def _judged(self) -> AsyncIterator[bytes]:
        assert self._answer is not None
        await judge(self._answer, self._accepted, self._until - current_time())
        return self._answer.body()

    def _requests(self) -> list[Any]:
        """Return what was sent: behind a redirect, it is not what was asked for."""
        return [*requests_of(self.response)]


class ResponseSource(_JudgedSource):
    """The body of a response that is open; see `untorn.http.open_response`."""

    def __init__(
        self, response: Any, media_types: Iterable[str], clocks: Clocks = Clocks()
    ) -> None:
        super().__init__(media_types, clocks)
        self._answer = as_answer(response)

    def __repr__(self) -> str:
        assert self._answer is not None
        return f"<ResponseSource: {self._answer.status}>"


class RequestSource(_JudgedSource):
    """The body of the response to a request, sent when the first chunk is asked for.

    client
        An `httpx2.AsyncClient` or `httpx.AsyncClient`; it is left open.
    method, url, request
        What `client.stream` takes. The request is built at once, so that a mistake in
        it is raised here.
    media_types
        Those that are accepted; `*/*` for any.
    clocks
        Those of the stream that reads it, if it has any: the body of an error is read
        for two seconds at most, and no longer than half of the time that they leave.

    In place of the first chunk it raises `UnexpectedResponse` if the status is not
    one of success, if there is nothing to read (204, 205), if the media type is not
    among those accepted (one that is missing is), and if nothing here can decode
    the body; and whatever the client raises, without what the request keeps secret.
    The request is sent once: asked again after that, after a cancellation or when
    it was closed, the source raises anyio's `ClosedResourceError`.

    A wrong request raises `TypeError`, `ValueError`, or what `client.build_request`
    raises, when the source is made.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient | httpx.AsyncClient,
        method: str,
        url: Any,
        *,
        media_types: Iterable[str],
        clocks: Clocks = Clocks(),
        **request: Any,
    ) -> None:
        super().__init__(media_types, clocks)
        self._client: Any = as_client(client)
        self._options = {
            name: request.pop(name) for name in ("auth", "follow_redirects") if name in request
        }
        self._sent = build_request(self._client, method, url, self._accepted, request)

    def __repr__(self) -> str:
        # Neither headers nor the path and query: keys lie there.
        url, answer = self._sent.url, self._answer
        status = f": {answer.status}" if answer is not None else ""
        return f"<RequestSource {self._sent.method} {url.scheme}://{url.host}{status}>"

    async def _judged(self) -> AsyncIterator[bytes]:
        self._answer = await self._ask()
        return await super()._judged()

    async def _ask(self) -> Answer:
        return as_answer(await self._client.send(self._sent, stream=True, **self._options))

    def _requests(self) -> list[Any]:
        return [self._sent, *super()._requests()]


def _until_the_first_byte(clocks: Clocks) -> float:
    """Return for how many seconds no clock strikes before the first byte."""
    first_byte = clocks.idle if clocks.first_byte is None else clocks.first_byte
    bounds = (first_byte, clocks.progress, clocks.total)
    return min((seconds for seconds in bounds if seconds is not None), default=math.inf)
