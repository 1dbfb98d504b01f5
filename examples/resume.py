"""Follow a feed of Server-Sent Events, and reconnect where it broke.

    python examples/resume.py http://127.0.0.1:8000/feed

The folded value of `Sse` is what a reconnecting client needs: the last event id, and
the reconnection time. An interruption is reconnected, and so is a service that cannot be
reached; a failure and an error page are not.
"""

import sys

import anyio
import httpx2

from untorn import Clocks, Completed, Failed, Interrupted, Outcome, ServerSentEvent, open_stream
from untorn.dialects import Sse, SseState

# A service that sends a comment every 15 seconds is alive; one that is silent for
# three of those is not. httpx2's own timeout would not know the difference.
ALIVE = Clocks(idle=45)
DEFAULT_RETRY = 3000  # ms; the standard leaves it to the client


async def follow(url: str) -> None:
    state = SseState()
    async with httpx2.AsyncClient(timeout=None) as client:
        while True:
            try:
                outcome = await connect(client, url, state)
            except httpx2.TransportError as unreachable:
                print(f"[{unreachable}]")
            else:
                state = behind(state, outcome)
                match outcome:
                    case Completed():
                        return
                    case Failed(error):
                        raise error
                    case Interrupted(cause):
                        print(f"[{cause.value} after {state.last_event_id or 'nothing'}]")
            await anyio.sleep((state.retry or DEFAULT_RETRY) / 1000)


async def connect(client: httpx2.AsyncClient, url: str, state: SseState) -> Outcome[SseState]:
    """Show the events behind those that were seen, until the connection ends."""
    headers = {"Last-Event-ID": state.last_event_id} if state.last_event_id else {}
    async with client.stream("GET", url, headers=headers) as response:
        response.raise_for_status()
        async with open_stream(response, Sse(sentinel="[DONE]"), clocks=ALIVE) as stream:
            async for event in stream.events():
                show(event)
    assert stream.outcome is not None  # behind the block it is set
    return stream.outcome


def behind(before: SseState, outcome: Outcome[SseState]) -> SseState:
    """Return where a feed stands after a connection, which may have brought nothing new."""
    after = outcome.value if isinstance(outcome, Completed) else outcome.partial
    return SseState(after.last_event_id or before.last_event_id, after.retry or before.retry)


def show(event: ServerSentEvent) -> None:
    print(f"{event.id or '-'} {event.event}: {event.data}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: resume.py URL")
    try:
        anyio.run(follow, sys.argv[1])
    except httpx2.HTTPError as error:
        sys.exit(str(error))
