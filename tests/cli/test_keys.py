"""What `untorn read` shows of a stream in which the service repeats a key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from untorn.testing import Ending

from .commands import BACKENDS, chat, invoke, objects, serving

KEY = "sk-Ab/3+dEf6h"
STARS = "*" * len(KEY)
ARGS = ["--header", "Authorization: Bearer ${UNTORN_TEST_KEY}"]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTORN_TEST_KEY", KEY)


def sse(payload: Any, type: str = "") -> bytes:
    return (f"event: {type}\n" * bool(type) + f"data: {json.dumps(payload)}\n\n").encode()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("at", range(len(KEY) + 1))
def test_text_has_asterisks_in_its_place(at: int, backend: str) -> None:
    """However it is cut, and as many as there were bytes."""
    wire = chat("Your key is ", KEY, ", and no other.")
    with serving(wire, cuts=[wire.index(KEY.encode()) + at], delays=0.01) as server:
        result = invoke("read", server.url, *ARGS, "--backend", backend)
    assert result.exit_code == 0
    assert result.stdout == f"Your key is {STARS}, and no other."
    assert f"at byte {len(wire)}" in result.stderr


@pytest.mark.parametrize("dialect", ["auto", "sse", "openai-chat"])
def test_no_line_of_json_has_it(dialect: str) -> None:
    wire = chat(f"{KEY} ", KEY)
    with serving(wire) as server:
        result = invoke("read", server.url, *ARGS, "--json", "--dialect", dialect)
    assert KEY not in result.output + result.stderr
    assert objects(result.stdout)[-1]["position"]["bytes"] == len(wire)


@pytest.mark.parametrize("json_too", [[], ["--json"]])
@pytest.mark.parametrize("dialect", ["auto", "anthropic"])
@pytest.mark.parametrize("spelled", [KEY, KEY.replace("6", "\\u0036"), KEY.replace("/", "\\/")])
def test_error_of_the_service_has_none(spelled: str, dialect: str, json_too: list[str]) -> None:
    """Nor where it is spelled as no search for it would find."""
    error = sse({"type": "error", "error": {"type": "t", "message": "Wrong: HERE"}}, "error")
    start = sse({"type": "message_start", "message": {"id": "m", "content": []}}, "message_start")
    wire = start + error.replace(b"HERE", spelled.encode())
    with serving(wire) as server:
        result = invoke("read", server.url, *ARGS, "--dialect", dialect, *json_too)
    assert result.exit_code == 4
    said = result.stdout + result.stderr
    assert "The service reported an error: Wrong: " in said
    assert KEY not in said and spelled not in said


@pytest.mark.parametrize("ending", [Ending.LAST_CHUNK, Ending.RESET])
@pytest.mark.parametrize("size", range(1, len(KEY)))
def test_its_beginning_at_the_end_of_a_stream_is_not_lost(size: int, ending: Ending) -> None:
    """Where the transport ends in it: five characters at most are shown, and all are counted."""
    wire = b"data: " + KEY[:size].encode()
    with serving(wire, ending=ending) as server:
        result = invoke("read", server.url, *ARGS, "--dialect", "sse", "--json")
    assert result.exit_code == 3
    [outcome] = objects(result.stdout)
    assert (outcome["position"]["bytes"], outcome["torn"]) == (len(wire), "frame")


def test_other_headers_are_no_keys() -> None:
    """A text is not changed for a word that was sent as well."""
    wire = chat("gpt-large-1 says hello")
    with serving(wire) as server:
        result = invoke("read", server.url, "--header", "X-Model: gpt-large-1")
    assert result.stdout == "gpt-large-1 says hello"
