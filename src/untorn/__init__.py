"""untorn: read streamed responses so that a torn answer never looks whole.

socket bytes -> text -> frames -> events -> outcome
         decoder   framer   reducer    consumer
"""

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
