"""What an SDK and untorn both say of a stream, in one form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from dialects.captures import message_of, read

from untorn import Completed, Failed, Interrupted, Message
from untorn.reduce import Dialect


@dataclass(frozen=True)
class Answer:
    """An answer as a reader hands it out when it says that nothing is wrong.

    Each call is its id, its name and its arguments: text where the SDK gives text, and a JSON
    value where it parses them. An id, `reasoning` and `refusal` are `None` where the SDK does not
    know of them.
    """

    text: str
    calls: tuple[tuple[str | None, Any, Any], ...] = ()
    reason: str | None = None
    usage: dict[str, Any] | None = None
    reasoning: str | None = None
    refusal: str | None = None


@dataclass(frozen=True)
class Call:
    """One way to stream with one SDK, and the dialect in which untorn reads the same wire.

    `reads` names the dialects of the index whose captures it is made for.
    """

    sdk: str
    module: str
    name: str
    read: Callable[[Any], Answer]
    dialect: Dialect[Any, Message]
    reads: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.sdk} {self.name}"

    def said(self, wire: bytes | Iterator[bytes]) -> Answer | Exception:
        """Return what the SDK makes of a response of these bytes, or what it raises.

        Without the SDK the test is skipped.
        """
        pytest.importorskip(self.module, reason=f"{self.sdk} is not installed; run `nox -s parity`")
        try:
            return self.read(wire)
        except Exception as error:
            return error


def as_answer(message: Message) -> Answer:
    """Return a message of untorn's in the form in which SDKs' answers are compared."""
    calls = tuple((call.id, call.name, call.arguments) for call in message.tool_calls)
    reason, usage = message.finish_reason, message.usage
    return Answer(message.text, calls, reason, usage, message.reasoning, message.refusal)


def assert_same(sdk: Answer, ours: Answer) -> None:
    """Compare all that both know of."""
    assert sdk.text == ours.text
    assert sdk.reason == ours.reason
    assert sdk.reasoning in (None, ours.reasoning)
    assert sdk.refusal in (None, ours.refusal)
    assert len(sdk.calls) == len(ours.calls)
    for (id, name, theirs), (our_id, our_name, written) in zip(sdk.calls, ours.calls, strict=True):
        assert name == our_name
        assert id in (None, our_id)
        assert theirs == (written if isinstance(theirs, str) else json.loads(written or "{}"))
    assert_same_usage(sdk.usage, ours.usage)


def assert_same_usage(sdk: dict[str, Any] | None, ours: dict[str, Any] | None) -> None:
    """Compare the counts that both have; one that has none at all has lost them."""
    if sdk is None or ours is None:
        assert sdk is ours
        return
    both = sdk.keys() & ours.keys()
    assert both
    assert {key: sdk[key] for key in both} == {key: ours[key] for key in both}


def told_by_sdk(said: Answer | Exception) -> str:
    """Say in a few words what an SDK made of a stream."""
    return f"raises {type(said).__name__}" if isinstance(said, Exception) else told(said)


def told_by_untorn(wire: bytes, dialect: Dialect[Any, Message]) -> str:
    """Say in a few words what untorn makes of a stream."""
    _, outcome = read([wire], dialect)
    answer = told(as_answer(message_of(outcome)))
    match outcome:
        case Completed():
            return f"Completed: {answer}"
        case Failed(error):
            return f"Failed, {error.code}: {answer}"
        case Interrupted(_, torn):
            return f"Interrupted in a {torn.value}: {answer}"


def told(answer: Answer) -> str:
    """Say in a few words what an answer holds."""
    text = answer.text if len(answer.text) <= 24 else f"{answer.text[:20]} ..."
    parts = [f"{text!r}, {answer.reason}"]
    for id, name, arguments in answer.calls[:2]:
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments)
        shown = shown if len(shown) <= 30 else f"{shown[:26]} ..."
        parts.append((f"{id[:7]}: " if id else "") + f"{name}({shown})")
    if answer.calls[2:]:
        parts.append(f"and {len(answer.calls) - 2} more calls")
    if answer.usage is not None:
        parts.append("usage")
    return ", ".join(parts)
