"""HTTP: responses that are judged before they are framed, and feeds that are resumed.

Works with clients of httpx2 and httpx, and imports neither.
"""

from .backoff import Backoff
from .connect import connect
from .connection import Resumable
from .distinct import distinct
from .feed import Feed
from .notice import Connected, Reconnecting, messages
from .resumption import NotResumable
from .source import HttpAttribute, RequestSource
from .stream import open_response, stream

__all__ = [
    "Backoff",
    "Connected",
    "Feed",
    "HttpAttribute",
    "NotResumable",
    "Reconnecting",
    "RequestSource",
    "Resumable",
    "connect",
    "distinct",
    "messages",
    "open_response",
    "stream",
]
