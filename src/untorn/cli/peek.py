"""What a source is, told from its first bytes without consuming them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final, TypeVar

from anyio import current_time, move_on_after, sleep_forever

from ..dialects.detect import Detection
from ..limits import Clocks, Limits
from ..reduce import Dialect
from ..source import Discreet
from .source import Bytes

__all__ = ["Peeked"]

F = TypeVar("F", bound=BaseException)

# As much as one frame may have; what has shown no frame by then is taken as it looks.
_MOST: Final = Limits().frame_bytes
# As good as at once, and long enough for what was taken to be handed on before.
_AT_ONCE: Final = 0.05


class Peeked(AsyncIterator[bytes], Discreet):
    """The same bytes, the first of which may have been looked at.

    What happens while they are looked at (a broken transport, a refused response,
    silence) happens again when they are read.
    """

    def __init__(self, source: Bytes, clocks: Clocks) -> None:
        self._source = source
        self._taken: deque[bytes] = deque()
        self._error: Exception | None = None
        self._is_silent = False
        self.clocks = clocks
        """What is left to wait; of `Clocks`, those that count from the first read on."""

    async def dialect(self) -> Dialect[Any, Any]:
        """Read as far as it takes to know what the source is, and return that."""
        detection: Detection | None = None
        size = 0
        while size <= _MOST and (chunk := await self._next()) is not None:
            self._taken.append(chunk)
            size += len(chunk)
            detection = detection or Detection(self._source.content_type)
            if (found := detection.feed(chunk)) is not None:
                return found
        return (detection or Detection(None)).end()

    async def __anext__(self) -> bytes:
        if self._taken:
            return self._taken.popleft()
        if self._error is not None:
            raise self._error
        if self._is_silent:
            await sleep_forever()
        return await anext(self._source)

    def hide(self, error: F) -> F:
        """Return an error without what the source knows to be secret."""
        return self._source.hide(error) if isinstance(self._source, Discreet) else error

    async def aclose(self) -> None:
        """Close the source."""
        await self._source.aclose()

    async def _next(self) -> bytes | None:
        """Return the next chunk; `None` where there is none, or not in time."""
        bounds = {
            name: seconds
            for name in ("idle", "total")
            if (seconds := getattr(self.clocks, name)) is not None
        }
        began = current_time()
        with move_on_after(min(bounds.values(), default=math.inf)):
            try:
                chunk = await anext(self._source, None)
            except Exception as error:
                self._error, chunk = error, None
            if self.clocks.total is not None:
                left = max(self.clocks.total - (current_time() - began), _AT_ONCE)
                self.clocks = replace(self.clocks, total=left)
            return chunk
        # A read that is cancelled cannot be taken up again: for the stream, the
        # clock that ran out here runs out as soon as it gets here.
        self._is_silent = True
        expired = min(bounds, key=bounds.__getitem__)
        self.clocks = Clocks(**{expired: _AT_ONCE})
        return None
