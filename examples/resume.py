"""Follow a feed of Server-Sent Events, and go on where it broke, or where this was stopped.

    python examples/resume.py http://127.0.0.1:8000/feed .last-event-id

The id of the last event that was shown is kept in the file. `connect` sends it to the
service, on each connection; it reconnects where the transport ends, and where the service
cannot be reached or says "later". Some services begin with the last event again: so what
was shown already is left out.

It needs httpx2. To try it, in another terminal (the command line needs the extra `cli`):

    printf 'id: %s\\ndata: an event\\n\\n' 1 2 3 > feed.sse
    untorn serve feed.sse --port 8000
"""

import sys

import anyio
import httpx2

from untorn import Clocks, ServerSentEvent, StreamError
from untorn.dialects import Sse
from untorn.http import Connected, Reconnecting, connect, distinct

# A service that sends a comment every 15 seconds is alive; one that is silent for
# three of those is not.
ALIVE = Clocks(idle=45)
DIALECT = Sse(sentinel="[DONE]")


async def follow(url: str, kept: anyio.Path) -> None:
    seen = await kept.read_text() if await kept.exists() else ""
    async with (
        httpx2.AsyncClient() as client,
        connect(client, url, dialect=DIALECT, clocks=ALIVE, last_event_id=seen) as feed,
    ):
        async for event in distinct(feed):
            match event:
                case Connected():
                    print(f"[connected, behind {event.resumed_from or 'nothing'}]")
                case Reconnecting():
                    print(f"[again in {event.delay:.1f} s: {event.reason}]")
                case ServerSentEvent():
                    print(f"{event.id or '-'} {event.event}: {event.data}")
                    await kept.write_text(feed.last_event_id)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        anyio.run(follow, sys.argv[1], anyio.Path(sys.argv[2]))
    except StreamError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
