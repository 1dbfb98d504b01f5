"""What a fault of a dialect says: what was wrong, and behind a semicolon what to do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import untorn
from untorn import Dialect, Failed
from untorn.dialects import (
    A2A,
    AiSdkUi,
    AnthropicMessages,
    CohereChat,
    Gemini,
    Mcp,
    OllamaChat,
    OpenAIAssistants,
    OpenAIChat,
    OpenAIResponses,
)

from .captures import read
from .fuzz import sse

LONG = "x" * 999
FAR = 10**999


def advice(call: ast.Call) -> str:
    """Return the literal parts of the sentence that a fault is made with."""
    return "".join(
        part.value
        for part in ast.walk(call.args[0])
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def sentences() -> Iterator[Any]:
    """Yield every call of `ProtocolViolation` in the house, and where it stands."""
    for path in sorted(Path(untorn.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ProtocolViolation":
                yield pytest.param(node, id=f"{path.stem}:{node.lineno}")


@pytest.mark.parametrize("call", list(sentences()))
def test_a_violation_says_what_to_do(call: ast.Call) -> None:
    """Wherever one is raised."""
    assert "; " in advice(call)


def part(path: str, name: str | None = "f", **value: Any) -> dict[str, Any]:
    call = {"name": name, "willContinue": True, "partialArgs": [{"jsonPath": path, **value}]}
    return {"candidates": [{"content": {"parts": [{"functionCall": call}]}}]}


UI = {"type": "text-delta", "id": LONG, "delta": ""}
LONG_ONES: list[tuple[Dialect[Any, Any], list[Any]]] = [
    (AiSdkUi(), [UI]),
    (AiSdkUi(), [{**UI, "id": FAR}]),
    (AiSdkUi(), [{"type": "tool-input-delta", "toolCallId": LONG}]),
    (
        AnthropicMessages(),
        [{"type": "message_start", "message": {"id": id}} for id in (LONG, LONG + "y")],
    ),
    (AnthropicMessages(), [{"type": "content_block_stop", "index": FAR}]),
    (AnthropicMessages(), [LONG]),
    (CohereChat(), [{"type": "content-delta", "index": LONG}]),
    (OpenAIResponses(), [{"type": "response.output_text.delta", "output_index": LONG}]),
    (OpenAIChat(), [{"choices": FAR}]),
    (Gemini(), [part("$" + LONG, stringValue="a")]),
    (
        Gemini(),
        [part("$" + ".a" * 99, stringValue="a"), part("$" + ".a" * 100, None, stringValue="a")],
    ),
    (Gemini(), [part(f"$['{LONG}\\x']", stringValue="a")]),
    (Gemini(), [part("$.a", boolValue=LONG)]),
    (Gemini(), [part("$.a[999]", boolValue=True)]),
    (Gemini(), [LONG]),
    (A2A(), [LONG]),
    (Mcp(), [LONG]),
    (OpenAIAssistants(), [LONG]),
]


@pytest.mark.parametrize(("dialect", "payloads"), LONG_ONES)
def test_what_the_service_sent_is_cut(dialect: Dialect[Any, Any], payloads: list[Any]) -> None:
    """A sentence is one line that a person can read, however long an id or a path is."""
    _, outcome = read([sse(*payloads)], dialect)
    assert isinstance(outcome, Failed) and outcome.error.code == "protocol"
    sentence = str(outcome.error)
    assert "; " in sentence and "\n" not in sentence and len(sentence) < 300


def test_a_line_that_is_no_object() -> None:
    """It is quoted, its beginning at least."""
    _, outcome = read([b"[" + b"1, " * 99 + b"1]\n"], OllamaChat())
    assert isinstance(outcome, Failed)
    assert outcome.error.sentence.startswith("The payload [1, 1, 1")
    assert outcome.error.sentence.endswith(
        "is not a JSON object; check that the dialect fits the service"
    )
