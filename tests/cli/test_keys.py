"""What `untorn read` shows of a stream in which the service repeats a key."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from untorn.testing import Ending, read_recording

from .commands import BACKENDS, chat, invoke, objects, plain, serving

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


# --- in pieces


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("at", range(1, len(KEY)))
def test_pieces_of_it_in_two_events_are_no_text(at: int, backend: str) -> None:
    """What may be its beginning is held back until there is more."""
    wire = chat("Your key is ", KEY[:at], KEY[at:], ".")
    with serving(wire) as server:
        result = invoke("read", server.url, *ARGS, "--backend", backend)
    assert (result.exit_code, result.stdout) == (0, f"Your key is {STARS}.")


@pytest.mark.parametrize("size", range(len(KEY)))
def test_what_was_held_back_comes_at_the_end(size: int) -> None:
    """Unless it is much of a key: then there are asterisks."""
    with serving(chat("Your ", KEY[:size])) as server:
        result = invoke("read", server.url, *ARGS)
    assert result.stdout == f"Your {KEY[:size] if size < 6 else '*' * size}"


@pytest.mark.parametrize("at", [2, 9])
def test_pieces_of_it_are_no_notes(at: int) -> None:
    """Reasoning comes in pieces, too; and a text goes on behind it."""
    pieces = [
        ("text", KEY[:at]),
        ("thinking", f"It is {KEY[:at]}"),
        ("thinking", f"{KEY[at:]}."),
        ("text", f"{KEY[at:]}, no other."),
    ]
    with serving(blocks(*pieces)) as server:
        result = invoke("read", server.url, *ARGS, "--dialect", "anthropic")
    assert result.exit_code == 0
    assert KEY not in result.stdout + result.stderr
    assert "reasoning: It is " in result.stderr and KEY[at:] not in result.stderr


def test_what_is_held_back_comes_before_a_note_in_the_same_place() -> None:
    """On a terminal the two stand in one text, in the order in which they came."""
    with serving(blocks(("text", f"So {KEY[:9]}"), ("thinking", "Hm."), ("text", "!"))) as server:
        command = [sys.executable, "-m", "untorn", "read", server.url, *ARGS]
        run = subprocess.run(
            [*command, "--dialect", "anthropic"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, env=plain(),
        )  # fmt: skip
    assert run.stdout.decode().splitlines()[:3] == ["So *********", "reasoning: Hm.", "!"]


def blocks(*pieces: tuple[str, str]) -> bytes:
    """Return an answer of Anthropic's, with a block for each piece of a kind."""
    wire = sse({"type": "message_start", "message": {"id": "m", "content": []}}, "message_start")
    for number, (kind, text) in enumerate(pieces):
        head = {"type": "content_block_start", "index": number}
        delta = {"type": f"{kind}_delta", kind: text}
        wire += sse({**head, "content_block": {"type": kind, kind: ""}}, "content_block_start")
        body = {"type": "content_block_delta", "index": number, "delta": delta}
        wire += sse(body, "content_block_delta")
        wire += sse({"type": "content_block_stop", "index": number}, "content_block_stop")
    return wire + sse({"type": "message_stop"}, "message_stop")


@pytest.mark.parametrize("spelled", ["".join(f"\\u{ord(char):04x}" for char in KEY), KEY])
def test_the_text_is_seen_to_and_not_the_wire(spelled: str) -> None:
    """However the wire spells it: also as no search in the wire would find."""
    wire = chat("It is HERE.").replace(b"HERE", spelled.encode())
    with serving(wire) as server:
        texts = invoke("read", server.url, *ARGS)
        lines = invoke("read", server.url, *ARGS, "--json")
    assert texts.stdout == f"It is {STARS}."
    assert KEY not in lines.stdout
    assert objects(lines.stdout)[-1]["value"]["choices"][0]["text"] == f"It is {STARS}."


def test_a_binary_stream_that_has_it_is_read() -> None:
    """It has checksums, which would be wrong if anything in it were changed."""
    inner = json.dumps({"type": "message_stop", "said": KEY}).encode()
    payload = json.dumps({"bytes": b64encode(inner).decode(), "p": KEY}).encode()
    kinds = {":message-type": b"event", ":event-type": b"chunk"}
    heads = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + len(kind).to_bytes(2, "big") + kind
        for name, kind in kinds.items()
    )
    prelude = struct.pack(">II", 16 + len(heads) + len(payload), len(heads))
    wire = prelude + struct.pack(">I", zlib.crc32(prelude)) + heads + payload
    wire += struct.pack(">I", zlib.crc32(wire))
    kind = {"content-type": "application/vnd.amazon.eventstream"}
    with serving(wire, headers=kind) as server:
        result = invoke("read", server.url, *ARGS, "--dialect", "bedrock", "--json")
    assert "checksum" not in result.stdout and KEY not in result.stdout
    assert objects(result.stdout)[-1]["position"]["frames"] == 1


@pytest.mark.parametrize("mode", [[], ["--json"]])
def test_a_number_that_is_a_key_stays_a_number(
    mode: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the outcome is what it is without a key."""
    monkeypatch.setenv("UNTORN_TEST_KEY", "1000000")
    wire = chat("1000000 ", "0000001000000").replace(b'"choices"', b'"created": 1000000, "choices"')
    with serving(wire) as server:
        result = invoke("read", server.url, *ARGS, *mode)
    assert result.exit_code == 0
    assert '"1000000' not in result.stdout
    if not mode:
        assert result.stdout == "1111111 0000001111111"


@pytest.mark.parametrize("command", ["read", "record"])
def test_what_a_proxy_repeats_of_itself_is_hidden(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The environment names it, with a user and a password."""
    user = b64encode(f"proxyuser:{KEY}".encode()).decode()
    said = f"Bad proxy auth Basic {user} of proxyuser:{KEY}".encode()
    path = tmp_path / "file.rec"
    output = ["-o", str(path)] if command == "record" else []
    with serving(said, status=407, headers={"content-type": "text/plain"}) as server:
        host = server.url.partition("//")[2].rstrip("/")
        monkeypatch.setenv("HTTP_PROXY", f"http://proxyuser:{quote(KEY, safe='')}@{host}")
        monkeypatch.setenv("NO_PROXY", "")
        result = invoke(command, "http://target.example/", *output)
    assert result.exit_code == 4
    shown = result.stderr + (str(read_recording(path).wire) if output else "")
    assert "Bad proxy auth Basic " in shown
    assert not [secret for secret in (KEY, user, "proxyuser") if secret in shown]
