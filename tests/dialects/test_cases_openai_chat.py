"""Reported streams of chat completions, each with its right answer."""

from __future__ import annotations

from typing import Any

import pytest

from untorn import Boundary, Failed, Interrupted, ServiceError
from untorn.dialects.mistral import Mistral
from untorn.dialects.openai_chat import OpenAIChat
from untorn.event import Message

from .captures import assert_cuts_do_not_matter, message_of, read
from .cases import Case, cases

DIALECTS = ("openai-chat", "azure-openai", "mistral", "deepseek", "bedrock-openai")
DECIDED_OTHERWISE = {
    "blank-01": "a torn frame never completes, whatever its bytes look like: whole JSON is no "
    "sign of a whole answer, and the file itself has a case that says the opposite",
    "stop-01": "the dialect hands out text as it came; stop phrases of the caller are the work "
    "of a transformer around it",
}
MOST = 8 * 1024
"""Bytes of a case that is worth cutting in many ways."""


def _dialect(case: Case) -> OpenAIChat:
    return Mistral() if case.dialect == "mistral" else OpenAIChat()


def _reduced(message: Message, name: str, case: Case) -> Any:
    if name == "finish":
        return message.finish_reason
    if name != "tool_calls":
        return getattr(message, name)
    # Fragments repeated by the thousand are in `wire` and not in `reduced`.
    grown = "x" * case.expand.get("repeat", 0)
    return [
        {"id": call.id, "name": call.name, "arguments": call.arguments.removesuffix(grown)}
        | ({} if call.finished else {"complete": False})
        for call in message.tool_calls
    ]


@pytest.mark.parametrize(
    "case", cases(*DIALECTS, where=lambda case: case.id not in DECIDED_OTHERWISE)
)
def test_a_reported_stream_gets_the_right_answer(case: Case) -> None:
    """Outcome and folded value are those of the case."""
    _, outcome = read(case.chunks(), _dialect(case))
    assert type(outcome).__name__ == case.outcome
    expected = dict(case.reduced)
    if error := expected.pop("error", None):
        assert isinstance(outcome, Failed)
        fault = outcome.error
        assert isinstance(fault, ServiceError)
        assert error == {"message": fault.message, "type": fault.type, "code": fault.service_code}
    message = message_of(outcome)
    assert {name: _reduced(message, name, case) for name in expected} == expected


@pytest.mark.parametrize(
    "case",
    cases(*DIALECTS, skip=(), where=lambda case: len(case.wire) <= MOST),
)
def test_a_reported_stream_is_the_same_however_it_is_cut(case: Case) -> None:
    """The cut at which others fail is one of many that mean nothing."""
    assert_cuts_do_not_matter(case.wire, _dialect(case))


@pytest.mark.parametrize("case", cases(*DIALECTS, where=lambda case: case.id == "blank-01"))
def test_a_last_frame_without_its_blank_line_is_torn(case: Case) -> None:
    """Decided otherwise than the file: see `DECIDED_OTHERWISE`."""
    _, outcome = read(case.chunks(), OpenAIChat())
    assert isinstance(outcome, Interrupted)
    assert outcome.torn is Boundary.FRAME
    assert (outcome.partial.text, outcome.partial.finish_reason) == ("Hi", None)


@pytest.mark.parametrize("case", cases(*DIALECTS, where=lambda case: case.id == "stop-01"))
def test_text_is_handed_out_as_it_came(case: Case) -> None:
    """Decided otherwise than the file: see `DECIDED_OTHERWISE`."""
    _, outcome = read(case.chunks(), OpenAIChat())
    assert message_of(outcome).text == "Hi###!"


@pytest.mark.parametrize("case", cases(*DIALECTS, where=lambda case: case.id.startswith("err-")))
def test_a_reported_failure_says_what_the_service_said(case: Case) -> None:
    """The sentence is the service's, and the payload comes with it."""
    _, outcome = read(case.chunks(), OpenAIChat())
    assert isinstance(outcome, Failed)
    if isinstance(outcome.error, ServiceError):
        assert outcome.error.message
        assert outcome.error.message in str(outcome.error)
        assert outcome.error.raw
    else:
        assert outcome.error.code == "invalid-json"
