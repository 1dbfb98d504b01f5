"""A feed as a user types it; never run, only checked."""

from typing import assert_type

import httpx
import httpx2

from untorn import Completed, Failed, Interrupted, JsonEvent, Other, ServerSentEvent
from untorn.dialects import Mcp, McpState, Sse, SseState
from untorn.http import Connected, Feed, Reconnecting, connect, distinct, messages


async def a_feed_has_events_and_notices(client: httpx2.AsyncClient) -> None:
    async with connect(client, "http://test/", dialect=Sse()) as feed:
        assert_type(feed, Feed[ServerSentEvent, SseState])
        assert_type(await feed.receive(), ServerSentEvent | Connected | Reconnecting)
        async for event in feed:
            assert_type(event, ServerSentEvent | Connected | Reconnecting)
            match event:
                case Connected():
                    assert_type(event.resumed_from, str | None)
                case Reconnecting():
                    assert_type(event.delay, float)
                case _:
                    assert_type(event, ServerSentEvent)
        assert_type(feed.value, SseState)
        assert_type(
            feed.outcome, Completed[SseState] | Failed[SseState] | Interrupted[SseState] | None
        )


async def its_messages_are_events(client: httpx.AsyncClient) -> None:
    async with connect(client, "http://test/", dialect=Mcp(), first={"json": {}}) as feed:
        async for event in messages(feed):
            assert_type(event, JsonEvent | Other)
        assert_type(feed.value, McpState)


async def what_is_distinct_is_of_the_same_type(client: httpx2.AsyncClient) -> None:
    async with connect(client, "http://test/", dialect=Sse()) as feed:
        async for each in distinct(feed):
            assert_type(each, ServerSentEvent | Connected | Reconnecting)
        async for event in messages(feed.events()):
            assert_type(event, ServerSentEvent)
        async for event in messages(distinct(feed, window=10)):
            assert_type(event, ServerSentEvent)
