"""One stream for several readers.

share    what users call: `broadcast`, `tee`
reader   one reader: its events, its outcome
line     the events that are kept for all, and whose turn it is to receive
"""

from .line import SharedStream
from .reader import EventsDropped, Reader, ReaderEvicted, Slow
from .share import Broadcast, broadcast, tee

__all__ = [
    "Broadcast",
    "EventsDropped",
    "Reader",
    "ReaderEvicted",
    "SharedStream",
    "Slow",
    "broadcast",
    "tee",
]
