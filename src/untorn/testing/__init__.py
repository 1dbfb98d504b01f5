"""The test kit: any parser of streams put through every cut, every fault and six bad endings.

It works on anyone's parser and knows nothing of ours. In the order in which one meets them:

* `cuts`: the ways in which a network may cut the same bytes;
* `assert_untorn`: the assertion that tries them all, and `replay` of what it found;
* `FaultySource`: a stream that stalls, drips, breaks and lies, in virtual time;
* `chaos_server`: the same on real sockets, for clients in any language;
* `read_recording`: a response as it came, as the input of these two;
* `strategies` (needs hypothesis, so it is imported by name): wires made to cause trouble.
"""

from .answer import Answer, Chunks, End, Expectation, Parse, Raised, answer_of
from .assertion import assert_untorn
from .case import Case
from .chaos import ChaosServer, Request, chaos_server
from .cuts import (
    Cuts,
    Cutting,
    as_cutting,
    boundaries,
    bytewise,
    cuts_at,
    every_cut,
    seeded,
)
from .event_text import event_text
from .faults import Corrupt, Drip, Eof, Fault, Hang, Raise, Reset, Send, Stall
from .faulty_source import Closing, FaultySource, Read
from .finding import Expected, Finding, Law
from .recorder import Recorder, write_recording
from .recording import (
    Piece,
    RecordedEnd,
    RecordedError,
    RecordedRequest,
    RecordedResponse,
    Recording,
    RecordingError,
    read_recording,
)
from .reproducer import Reproducer, replay, reproducer_folder
from .response import Ending, Response
from .torn_parser import TornParserError
from .virtual_time import (
    Backend,
    NothingCanHappenError,
    VirtualLoop,
    backends,
    run_virtual,
    virtual_time,
)

__all__ = [
    "Answer",
    "Backend",
    "Case",
    "ChaosServer",
    "Chunks",
    "Closing",
    "Corrupt",
    "Cuts",
    "Cutting",
    "Drip",
    "End",
    "Ending",
    "Eof",
    "Expectation",
    "Expected",
    "Fault",
    "FaultySource",
    "Finding",
    "Hang",
    "Law",
    "NothingCanHappenError",
    "Parse",
    "Piece",
    "Raise",
    "Raised",
    "Read",
    "RecordedEnd",
    "RecordedError",
    "RecordedRequest",
    "RecordedResponse",
    "Recorder",
    "Recording",
    "RecordingError",
    "Reproducer",
    "Request",
    "Reset",
    "Response",
    "Send",
    "Stall",
    "TornParserError",
    "VirtualLoop",
    "answer_of",
    "as_cutting",
    "assert_untorn",
    "backends",
    "boundaries",
    "bytewise",
    "chaos_server",
    "cuts_at",
    "event_text",
    "every_cut",
    "read_recording",
    "replay",
    "reproducer_folder",
    "run_virtual",
    "seeded",
    "virtual_time",
    "write_recording",
]
