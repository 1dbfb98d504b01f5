"""Users' code for `untorn.http`: it is never run, and must type-check."""

from collections.abc import Mapping
from typing import Any, assert_type

import httpx
import httpx2

from untorn import ChatEvent, EventStream, JsonEvent, Message, UnexpectedResponse, collect
from untorn.dialects import JsonLines, OpenAIChat
from untorn.http import HttpAttribute, RequestSource, open_response, stream
from untorn.outcome import Outcome


async def reads_what_the_dialect_says(client: httpx2.AsyncClient, old: httpx.AsyncClient) -> None:
    async with stream(client, "POST", "https://test/", dialect=OpenAIChat(), json={}) as events:
        assert_type(events, EventStream[ChatEvent, Message])
        assert_type(events.extra(HttpAttribute.status), int)
        assert_type(events.extra(HttpAttribute.headers), Mapping[str, str])
    async with stream(old, "GET", httpx.URL("https://test/"), dialect=JsonLines()) as lines:
        assert_type(lines, EventStream[JsonEvent, int])


async def reads_any_response(response: object) -> None:
    async with open_response(response, JsonLines(), media_types=["text/*"]) as lines:
        assert_type(lines, EventStream[JsonEvent, int])


async def is_a_source(client: httpx2.AsyncClient) -> None:
    source = RequestSource(client, "GET", "https://test/", media_types=("*/*",))
    assert_type(await collect(source, OpenAIChat()), Outcome[Message])


def says_more(fault: UnexpectedResponse) -> None:
    assert_type(fault.retry_after, float | None)
    assert_type(fault.message, str | None)
    assert_type(fault.body, bytes)


def takes_no_other_client(client: httpx.Client, **options: Any) -> None:
    stream(client, "GET", "https://test/", dialect=JsonLines())  # type: ignore[arg-type]
