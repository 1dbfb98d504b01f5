"""untorn: read streamed responses so that a torn answer never looks whole.

socket bytes -> text -> frames -> events -> outcome
         decoder   framer   reducer    consumer
"""

from .broadcast import Broadcast, EventsDropped, Reader, ReaderEvicted, broadcast, tee
from .event import (
    ChatEvent,
    Choice,
    Disposition,
    Finish,
    JsonEvent,
    Message,
    Other,
    ReasoningDelta,
    RefusalDelta,
    ServerSentEvent,
    Snapshot,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
)
from .faults import (
    InvalidJson,
    InvalidUtf8,
    LimitExceeded,
    ProtocolViolation,
    ServiceError,
    StageError,
    StreamFault,
    UnexpectedResponse,
)
from .fold import Parse, Statistics, parse
from .limits import Clocks, Limits
from .outcome import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Interrupted,
    Outcome,
    Position,
    StreamError,
    StreamFailed,
    StreamInterrupted,
)
from .reduce import Dialect, JsonReducer, Reducer
from .source import ByteSource
from .stream import EventStream, OpenStream, collect, open_stream

__all__ = [
    "Boundary",
    "Broadcast",
    "ByteSource",
    "Cause",
    "ChatEvent",
    "Choice",
    "Clocks",
    "Completed",
    "Dialect",
    "Disposition",
    "EventStream",
    "EventsDropped",
    "Failed",
    "Finish",
    "Interrupted",
    "InvalidJson",
    "InvalidUtf8",
    "JsonEvent",
    "JsonReducer",
    "LimitExceeded",
    "Limits",
    "Message",
    "OpenStream",
    "Other",
    "Outcome",
    "Parse",
    "Position",
    "ProtocolViolation",
    "Reader",
    "ReaderEvicted",
    "ReasoningDelta",
    "Reducer",
    "RefusalDelta",
    "ServerSentEvent",
    "ServiceError",
    "Snapshot",
    "StageError",
    "Statistics",
    "StreamError",
    "StreamFailed",
    "StreamFault",
    "StreamInterrupted",
    "TextDelta",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallDone",
    "UnexpectedResponse",
    "UsageUpdate",
    "broadcast",
    "collect",
    "open_stream",
    "parse",
    "tee",
]
