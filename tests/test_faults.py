"""A fault is a value with a stable code, an offset and a sentence that says what to do."""

import copy
import pickle

import pytest

from untorn import (
    Failed,
    InvalidJson,
    InvalidUtf8,
    LimitExceeded,
    ProtocolViolation,
    ServiceError,
    StageError,
    StreamFault,
    UnexpectedResponse,
    parse,
)
from untorn.dialects import Sse
from untorn.outcome import Position

FAULTS: dict[str, tuple[StreamFault, str]] = {
    "invalid-utf8": (InvalidUtf8(b"\xe6\xbc", offset=3), "The bytes E6 BC are not UTF-8; "),
    "frame-limit": (
        LimitExceeded("frame_bytes", 1024, offset=3),
        "One frame is longer than 1,024 bytes; raise Limits(frame_bytes=...) if you expect this",
    ),
    "total-limit": (LimitExceeded("total_bytes", 1, offset=3), "The stream is longer than 1 "),
    "value-limit": (LimitExceeded("value_bytes", 1, offset=3), "The folded value is larger "),
    "invalid-json": (
        InvalidJson("{", "half", offset=3),
        "The payload '{' is not valid JSON (half); check that the dialect fits the service",
    ),
    "protocol": (ProtocolViolation("It breaks the rules.", offset=3), "It breaks the rules."),
    "invalid-id": (ProtocolViolation("No id.", code="invalid-id", offset=3), "No id."),
    "service-error": (
        ServiceError(
            "busy", type="overloaded", service_code=529, request_id="r", raw={"a": 1}, offset=3
        ),
        "The service reported an error: busy (overloaded)",
    ),
    "http-status": (
        UnexpectedResponse(
            "It is a page.", code="http-status", status=404, media_type=None, body=b"x", offset=3
        ),
        "It is a page.",
    ),
    "stage-error": (
        StageError("The reducer X", ValueError("no"), offset=3),
        "The reducer X raised ValueError('no'); this is a bug in that code, not in the stream",
    ),
}


def where(fault: StreamFault) -> str:
    """Return how the text of a fault says where it lies; in no stream, where it is a refusal."""
    return "" if isinstance(fault, UnexpectedResponse) else f", byte {fault.offset}"


EACH = pytest.mark.parametrize("code", FAULTS)


@EACH
def test_a_fault_has_a_code_an_offset_and_a_sentence(code: str) -> None:
    """Programs read the code, people the sentence; both end up in its text."""
    fault, sentence = FAULTS[code]
    assert fault.code == code
    assert fault.offset == 3
    assert fault.sentence.startswith(sentence)
    assert str(fault) == f"{fault.sentence} [{code}{where(fault)}]"


@EACH
def test_a_fault_survives_a_process(code: str) -> None:
    """Pickled, copied or copied deep, it says and carries the same."""
    fault, _ = FAULTS[code]
    fault.add_note("seen on Monday")
    for again in (pickle.loads(pickle.dumps(fault)), copy.copy(fault), copy.deepcopy(fault)):
        assert type(again) is type(fault)
        assert (str(again), again.args) == (str(fault), fault.args)
        assert vars(again) == vars(fault)
    del fault.__notes__


@EACH
def test_a_fault_knows_where_it_lies_only_at_the_end(code: str) -> None:
    """A reducer cannot know; whoever does fills it in, and the sentence follows."""
    fault = copy.copy(FAULTS[code][0])
    fault.offset = 99
    assert str(fault).endswith(f"[{code}{where(fault)}]")


def test_a_service_that_says_nothing() -> None:
    """Without a word from it, the sentence still stands."""
    assert ServiceError(None).sentence == "The service reported an error: no message"


def test_a_stage_error_holds_the_bug() -> None:
    """The exception itself, with its traceback."""
    bug = ValueError("no")
    assert StageError("The reducer X", bug).__cause__ is bug


@EACH
def test_equal_faults_are_equal(code: str) -> None:
    """What is wrong and where is all that counts: so equal failures are equal outcomes."""
    fault, _ = FAULTS[code]
    again = pickle.loads(pickle.dumps(fault))
    assert (fault == again, hash(fault) == hash(again)) == (True, True)
    assert Failed(fault, 1, Position(3, 0, 0)) == Failed(again, 1, Position(3, 0, 0))
    again.offset = 4
    assert fault != again
    assert fault != str(fault)
    assert [other for other, _ in FAULTS.values() if other == fault] == [fault]


def test_the_same_bytes_fail_with_equal_outcomes() -> None:
    """However they are cut."""
    wire = b"data: a\n\ndata: \xff\n\n"
    dialect = Sse(errors="strict")
    runs = [parse([wire], dialect), parse([wire[:9], wire[9:]], dialect)]
    for run in runs:
        list(run.events())
    assert isinstance(runs[0].outcome, Failed)
    assert runs[0].outcome == runs[1].outcome
