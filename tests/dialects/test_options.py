"""What an option may be is checked where the dialect is made, and not in the midst of a stream."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import untorn.dialects
from untorn import Dialect, Limits
from untorn.dialects import (
    AnthropicMessages,
    Bedrock,
    JsonLines,
    JsonSse,
    LangGraph,
    Mcp,
    Mistral,
    OpenAIChat,
    Sse,
    StrictSse,
    TextSse,
)

EVERY: list[Any] = [
    each
    for each in map(vars(untorn.dialects).get, untorn.dialects.__all__)
    if isinstance(each, type) and issubclass(each, Dialect)
]

WRONG: list[tuple[type[Any], dict[str, Any], type[Exception], str]] = [
    *((each, {"eof": "maybe"}, ValueError, "eof='maybe': say \"interrupts\" or \"completes\"")
      for each in (Sse, TextSse, JsonSse, JsonLines, AnthropicMessages, LangGraph)),
    *((each, {"errors": "ignore"}, ValueError, "errors='ignore': say \"strict\" or \"replace\"")
      for each in (Sse, TextSse, JsonSse)),
    *((each, {"sentinel": b"[DONE]"}, TypeError, "sentinel=b'[DONE]': give the data of an event")
      for each in (Sse, TextSse, JsonSse)),
    *((each, {"last_event_id": "a\nb"}, ValueError, "last_event_id='a\\nb': give the id of")
      for each in (Sse, JsonSse, Mcp)),
    *((each, {"done": "maybe"}, ValueError, "done='maybe': say \"optional\" or \"required\"")
      for each in (OpenAIChat, Mistral)),
    (Sse, {"complete_when": 5}, TypeError, "complete_when=5: give the type of an event"),
    (JsonLines, {"complete_when": "x"}, TypeError, "complete_when='x': give a function of"),
    (JsonLines, {"tail": "maybe"}, ValueError, "tail='maybe': say \"torn\" or \"accepts\""),
    (Mcp, {"request_id": True}, ValueError, "request_id=True: give the id of the request"),
    (StrictSse, {"error": "finish"}, ValueError, "finish and error are both 'finish'"),
    (Sse, {"sentinel": [0] * 99}, TypeError, "0...: give the data"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "option", "error", "sentence"), WRONG)
def test_a_wrong_value_is_refused_at_once(
    dialect: type[Any], option: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    """With a sentence that says which option it is, and what it may be."""
    with pytest.raises(error) as refused:
        dialect(**option)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("dialect", EVERY)
def test_every_option_is_checked(dialect: type[Any]) -> None:
    """None takes an object of a type that nobody knows: one that is new must be checked, too."""
    assert is_dataclass(dialect)
    for option in fields(dialect):
        with pytest.raises(TypeError):
            dialect(**{option.name: object()})


@pytest.mark.parametrize("dialect", EVERY)
def test_what_an_option_is_by_itself_is_allowed(dialect: type[Any]) -> None:
    """As is what it may be besides."""
    made = dialect()
    assert dialect(**{each.name: getattr(made, each.name) for each in fields(dialect)}) == made


def test_what_an_option_may_be_besides() -> None:
    """A name, a function, an id of either kind, limits of one's own, fields of a subclass."""
    assert Sse(complete_when="end", sentinel="", last_event_id="7", errors="strict")
    assert JsonSse(complete_when=bool) and JsonLines(complete_when=bool, tail="accepts")
    assert Mcp(request_id=7) and Mcp(request_id="7")
    assert StrictSse(finish="end", limits=Limits()) and Bedrock(limits=Limits())
