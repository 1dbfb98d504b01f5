"""The parsers of others, by name: each reads a whole wire, and is cut in vain."""

import json
from typing import Any

import pytest

from untorn.dialects import OpenAIChat
from untorn.testing import answer_of, assert_untorn, bytewise
from untorn.testing.adapter import Adapter, NotThereError, function_at, installed, made
from untorn.testing.chat_wires import ANTHROPIC, OPENAI_CHAT
from untorn.testing.parsers import OURS, PARSERS

CHAT = b"".join(OPENAI_CHAT.frames)
GEMINI = b"".join(
    b"data: %s\n\n" % json.dumps({"candidates": [candidate]}, ensure_ascii=False).encode()
    for candidate in (
        {"content": {"parts": [{"text": "It is sunny in 北京"}], "role": "model"}},
        {"content": {"parts": [{"text": " today."}], "role": "model"}, "finishReason": "STOP"},
    )
)
WIRES = {"anthropic": b"".join(ANTHROPIC.frames), "google-genai": GEMINI}
# It takes the end of the stream for the end of an event.
TORN_AT_THE_END = {"sseclient-py"}


def reader(name: str) -> Any:
    if missing := PARSERS[name].missing:
        pytest.skip(f"{' and '.join(missing)} not installed: {name} cannot be tried")
    return made("parser", name, PARSERS)(OpenAIChat())


@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_reads_the_whole_wire(name: str) -> None:
    """One event for each piece of the text, and the text is in them, however it is cut."""
    wire = WIRES.get(name, CHAT)
    whole = answer_of(reader(name), [wire])
    assert whole.raised is None
    assert "It is sunny in " in "".join(whole.events)
    assert json.dumps("北京")[1:-1] in "".join(whole.events)
    assert answer_of(reader(name), bytewise(wire)) == whole


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - OURS.keys()))
def test_a_parser_can_be_put_to_the_assertion(name: str) -> None:
    """Few cases of each kind: whether it is untorn is for `untorn torture` to find out."""
    wire = WIRES.get(name, CHAT)
    prefixes = name not in TORN_AT_THE_END
    assert assert_untorn(reader(name), wire, exhaustive=0, samples=2, prefixes=prefixes).events


def test_names_are_those_of_packages() -> None:
    """What does not come from us is named for what one installs."""
    for name in PARSERS.keys() - OURS.keys():
        assert PARSERS[name].packages[0] == name


ADAPTERS = {
    "here": Adapter("is here", ("anyio",), lambda: "the function"),
    "away": Adapter("is away", ("anyio", "no-such-package"), lambda: "never made"),
}


def test_what_is_installed_is_made() -> None:
    """And tells its version."""
    assert made("parser", "here", ADAPTERS) == "the function"
    assert ADAPTERS["here"].versions == f"anyio {installed('anyio')}"


def test_what_is_missing_is_named() -> None:
    """In a plain sentence that says what to do."""
    says = "The parser away needs no-such-package, not installed: pip install no-such-package"
    with pytest.raises(NotThereError, match=f"^{says}$"):
        made("parser", "away", ADAPTERS)
    assert ADAPTERS["away"].versions.endswith(", no-such-package not installed")


def test_what_nobody_knows_is_told() -> None:
    """With the names there are."""
    with pytest.raises(NotThereError, match="There is no parser 'x': give one of here, away, or"):
        made("parser", "x", ADAPTERS)


def test_functions_by_their_place() -> None:
    """A dotted path reaches into a class; what is no function is refused."""
    assert function_at("json:loads") is json.loads
    assert function_at("json:JSONDecoder.decode") is json.JSONDecoder.decode
    for place in ("json:nope", "json:__name__", "json:", "no.such:x", ":x"):
        with pytest.raises(NotThereError):
            function_at(place)
