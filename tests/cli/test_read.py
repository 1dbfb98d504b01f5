"""`untorn read` on files and standard input: the text, the notes, the status."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from dialects.captures import Capture, captures

from untorn import Completed, Interrupted, parse
from untorn.cli.dialects import DIALECTS
from untorn.dialects.openai_chat import OpenAIChat

from .commands import BACKENDS, chat, invoke, objects

STATUS = {"completed": 0, "interrupted": 3, "failed": 4}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    """A file with an answer that has characters of one to four bytes."""
    path = tmp_path / "answer.sse"
    path.write_bytes(chat("The", " naïve ", "你好", " 🦊 "))
    return path


@pytest.mark.parametrize(
    "capture", captures("openai-chat", "anthropic-messages", "ollama", "gemini", "openai-responses")
)
def test_a_capture_gives_its_text_and_its_outcome(capture: Capture) -> None:
    """The text is exactly the recorded one, and the status says how it ended."""
    result = invoke("read", "-", stdin=capture.wire)
    assert sha256(result.stdout_bytes.decode()) == capture.expected["text_sha256"]
    assert result.exit_code == STATUS[capture.expected["outcome"]]
    assert capture.expected["outcome"].capitalize() + ": " in result.stderr


@pytest.mark.parametrize("capture", captures("openai-chat", most=700))
def test_a_capture_cut_anywhere_is_never_whole(capture: Capture, tmp_path: Path) -> None:
    """At every byte before the answer is finished: status 3, and a sentence that says where."""
    path = tmp_path / "cut.sse"
    for cut in range(0, len(capture.wire), 16 if capture.failed else 1):
        reference = parse([capture.wire[:cut]], OpenAIChat())
        list(reference.events())
        path.write_bytes(capture.wire[:cut])
        result = invoke("read", str(path))
        if isinstance(reference.outcome, Interrupted):
            assert result.exit_code == 3, cut
            assert f"Interrupted: The transport ended at byte {cut}, " in result.stderr
        else:
            whole = isinstance(reference.outcome, Completed)
            assert result.exit_code == (0 if whole else 4), cut


def test_it_says_what_was_torn() -> None:
    """A character, a frame and a message are told apart, and what is kept is told."""
    wire = chat("你好", "!")
    for cut, torn in (
        (wire.index("好".encode()) + 1, "inside a character"),
        (wire.index(b"\n") + 1, "inside a frame"),
        (wire.index(b"\n") + 2, "between frames, before the completion marker"),
    ):
        result = invoke("read", "--dialect", "openai-chat", "-", stdin=wire[:cut])
        assert result.exit_code == 3
        assert f"Interrupted: The transport ended at byte {cut}, {torn}." in result.stderr
    assert result.stdout == "你好"
    assert "Kept: 1 event, 2 characters of text." in result.stderr


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("chunk", ["1", "7", "4096"])
def test_how_it_is_cut_changes_nothing(answer: Path, backend: str, chunk: str) -> None:
    """By one byte or by thousands, on either backend: the same."""
    result = invoke("read", str(answer), "--chunk", chunk, "--backend", backend)
    assert result.exit_code == 0
    assert result.stdout_bytes == "The naïve 你好 🦊 ".encode()
    whole = invoke("read", str(answer))
    assert (result.stdout, result.stderr) == (whole.stdout, whole.stderr)


def test_reasoning_and_calls_are_notes() -> None:
    """Standard output is the answer and nothing else."""
    call = {"index": 0, "id": "c", "function": {"name": "look", "arguments": '{"a": 1}'}}
    deltas: list[Any] = [
        {"reasoning_content": "Let me "}, {"reasoning_content": "think."}, {"content": "So"},
        {"reasoning_content": "Hm."}, {"content": ":\n"},
        {"tool_calls": [call]},
    ]  # fmt: skip
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks[-1]["choices"][0]["finish_reason"] = "tool_calls"
    chunks.append({"choices": [], "usage": {"total_tokens": 9}})
    wire = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    result = invoke("read", "-", stdin=wire.encode())
    assert result.stdout == "So:\n"
    assert result.stderr.splitlines() == [
        "reasoning: Let me think.",
        "reasoning: Hm.",
        'tool call: look({"a": 1})',
        'usage: {"total_tokens": 9}',
        f"Completed: [DONE] came at byte {len(wire)}, after 9 events, finish reason tool_calls.",
    ]


def test_a_refusal_is_a_note() -> None:
    """It is no text of the answer."""
    deltas = [{"refusal": "I can"}, {"refusal": "not."}]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    wire = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    result = invoke("read", "-", stdin=wire.encode())
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("refusal: I cannot.\nCompleted: ")


def test_an_unfinished_call_is_not_to_be_run() -> None:
    """What there is of it is shown, and what it is good for."""
    calls = [
        {"index": 0, "id": "c", "function": {"name": "look", "arguments": '{"a'}},
        {"index": 1, "id": "d", "function": {"arguments": ""}},
    ]
    wire = f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'tool_calls': calls}}]})}\n\n"
    result = invoke("read", "-", stdin=wire.encode())
    assert result.exit_code == 3
    assert 'unfinished tool call, not to be run: look({"a)' in result.stderr
    assert "not to be run: without a name()" in result.stderr
    assert "2 unfinished tool calls." in result.stderr


def test_other_choices_follow_the_first() -> None:
    """The text is that of choice 0; the others are shown whole, at the end."""
    wire = b"".join(
        b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode()
        for choice in (
            {"index": 1, "delta": {"content": "Other"}},
            {"index": 0, "delta": {"content": "First"}},
            {"index": 1, "delta": {}, "finish_reason": "stop"},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        )
    )
    result = invoke("read", "-", stdin=wire)
    assert result.stdout == "First"
    assert "choice 1: Other\n" in result.stderr


def ui(*parts: dict[str, Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(part).encode() for part in parts)


def test_text_that_is_taken_back_is_told() -> None:
    """Standard output cannot take it back; the reader is told so."""
    text = [{"type": "text-start", "id": "1"}, {"type": "text-delta", "id": "1", "delta": "Oops"}]
    wire = ui({"type": "start"}, {"type": "start-step"}, *text, {"type": "reset-step"})
    result = invoke("read", "-", stdin=wire)
    assert result.stdout == "Oops"
    assert "The service replaced text it had sent; --json shows the last.\n" in result.stderr


def test_text_that_came_in_a_snapshot_is_written_at_the_end() -> None:
    """A dialect of snapshots has its text in the value alone."""
    message = [{"id": "m", "type": "ai", "content": "Hello"}]
    wire = f"event: messages/partial\ndata: {json.dumps(message)}\n\n"
    wire += "event: end\ndata: null\n\n"
    result = invoke("read", "-", stdin=wire.encode())
    assert (result.exit_code, result.stdout) == (0, "Hello")


def test_events_without_an_answer_are_one_line_each() -> None:
    """Line ends in the data are spelled out; an id is shown where there is one."""
    wire = b"data: a\ndata: b\n\nid: 7\nevent: tick\ndata: {}\n\n"
    result = invoke("read", "-", stdin=wire)
    assert result.stdout == "message: a\\nb\ntick [7]: {}\n"
    assert result.exit_code == 3


@pytest.mark.parametrize(
    ("dialect", "wire", "output"),
    [
        ("json-lines", '{"a": "你"}\n', '{"a": "你"}\n'),
        ("json-sse", "data: [1e999, true]\n\n", "[null, true]\n"),
        ("json-sse", 'data: {"a": "\\ud83d"}\n\n', '{"a": "\\ud83d"}\n'),
        ("text-sse", "data:  a\n\ndata: b\n\n", " ab"),
        (
            "kubernetes",
            '{"type": "ADDED", "object": {}}\n',
            '{"kind": "watch_event", "type": "ADDED", "object": {}}\n',
        ),
    ],
)
def test_each_kind_of_event_has_its_line(dialect: str, wire: str, output: str) -> None:
    """JSON is a line of JSON, text is text."""
    result = invoke("read", "-", "--dialect", dialect, stdin=wire.encode())
    assert result.stdout_bytes.decode() == output
    assert result.exit_code == 3


def test_json_is_one_object_per_event_and_the_outcome() -> None:
    """`kind` says what each line is; the last one is the outcome, the value in it."""
    result = invoke("read", "--json", "-", stdin=chat("你好", "!"))
    *events, outcome = objects(result.stdout)
    assert [event["kind"] for event in events] == ["text_delta", "text_delta", "finish"]
    assert events[0] == {"kind": "text_delta", "text": "你好", "choice": 0}
    assert (outcome["kind"], outcome["outcome"]) == ("outcome", "completed")
    assert outcome["marker"] == "[DONE]"
    assert outcome["value"]["text"] == "你好!"
    assert outcome["position"]["events"] == 3
    assert (result.exit_code, result.stderr) == (0, "")


def test_json_says_what_was_torn_and_what_was_wrong() -> None:
    """Interrupted has its cause and its boundary, Failed its code and its byte."""
    *_, torn = objects(invoke("read", "--json", "-", stdin=chat("Hi")[:-3]).stdout)
    assert (torn["outcome"], torn["cause"], torn["torn"]) == ("interrupted", "eof", "frame")
    assert (torn["error"], torn["partial"]["text"]) == (None, "Hi")
    wire = chat("Hi", finish=None, done=False) + b'data: {"error": {"message": "no"}}\n\n'
    *_, failed = objects(invoke("read", "--json", "-", stdin=wire).stdout)
    assert (failed["outcome"], failed["error"]["code"]) == ("failed", "service-error")
    assert failed["error"]["message"] == "no"
    assert failed["partial"]["text"] == "Hi"


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("wire", [b"", b"\0\xff\xfe garbage \x1b[31m" * 99, b"\xf0\x9f\n\n{" * 9])
def test_garbage_has_an_outcome(name: str, wire: bytes) -> None:
    """Whatever the bytes are, and whatever they are taken for: an outcome and no traceback."""
    for how in (("--dialect", name), ()):
        result = invoke("read", "-", *how, stdin=wire)
        assert result.exit_code in (3, 4)
        assert result.exception is None or isinstance(result.exception, SystemExit)


def test_limits_are_the_ones_given() -> None:
    """A limit that is passed fails the stream; the dialect's own hold where none is given."""
    long = chat("x" * 2000)
    for option in ("--frame-bytes", "--total-bytes"):
        result = invoke("read", "-", option, "1000", stdin=long)
        assert result.exit_code == 4
        assert f"1,000 bytes; raise {option} if you expect this" in result.stderr
        assert f"raise {option} if" in invoke("read", "-", "--json", option, "9", stdin=long).stdout
    assert invoke("read", "-", stdin=long).exit_code == 0
    strict = b'id: 1\ndata: "%s"\n\n' % (b"x" * 2000)
    assert "1,024 bytes" in invoke("read", "-", "--dialect", "strict-sse", stdin=strict).stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["missing.sse"], "'missing.sse' cannot be opened: No such file"),
        (["."], "'.' cannot be opened: Is a directory"),
        (["a\0b"], "cannot be opened: embedded null"),
        (["ftp://host/file"], "give an http:// or https:// URL with a host"),
        (["http:///path"], "give an http:// or https:// URL with a host"),
        (["http://[::1"], "that is not a URL"),
        (["-", "--dialect", "nope"], "'nope' is not one of 'auto', 'a2a'"),
        (["-", "--idle", "nan"], "give a positive number of seconds"),
        (["-", "--total", "0"], "give a positive number of seconds"),
        (["-", "--chunk", "0"], "0 is not in the range"),
        (["-", "--backend", "curio"], "'curio' is not one of"),
        (["-", "--header", "A: b"], "--header, --data and --method are for URLs"),
        (["-", "--data", ""], "--header, --data and --method are for URLs"),
        (["http://h/", "--data", "@missing"], "'missing' cannot be read: No such file"),
        (["http://h/", "--method", "A B"], "give the name of a method"),
        (["http://h/", "--header", "Key SECRET"], "write it as 'Name: value'"),
        (["http://h/", "--header", "Key: SECRET\nX: y"], "write it as 'Name: value'"),
        (["http://h/", "--header", "Schlüssel: SECRET"], "write it as 'Name: value'"),
        ([], "Missing argument 'FILE|URL|-'"),
        (["-", "--wrong"], "No such option"),
    ],
)
def test_wrong_usage_is_a_sentence(args: list[str], says: str) -> None:
    """Status 2, a sentence that says what is wrong, and no secret in it."""
    result = invoke("read", *args, stdin=b"")
    assert result.exit_code == 2
    assert says in result.stderr
    assert "SECRET" not in result.output


def test_a_backend_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says how to get it."""
    monkeypatch.setattr("untorn.cli.status.find_spec", lambda name: None)
    result = invoke("read", "-", "--backend", "trio", stdin=b"")
    assert result.exit_code == 2
    assert "trio is not installed: pip install 'untorn[trio]'" in result.stderr


def test_standard_input_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell can close it; then there is none."""
    from untorn.cli import read

    def closed(*args: Any) -> Any:
        monkeypatch.setattr("sys.stdin", None)
        return original(*args)

    original = read._standard_input
    monkeypatch.setattr(read, "_standard_input", closed)
    result = invoke("read", "-")
    assert result.exit_code == 2
    assert "standard input is closed" in result.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctrl_c_says_what_there_was(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops the reading, and the outcome so far is shown."""

    async def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("untorn.cli.show.JsonShow.event", interrupted)
    result = invoke("read", "--json", "-", "--backend", backend, stdin=chat("Hi", "!"))
    [outcome] = objects(result.stdout)
    assert (result.exit_code, outcome["outcome"]) == (130, "interrupted")
    assert outcome["partial"]["text"].startswith("Hi")


def test_ctrl_c_before_there_was_anything_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there is no outcome to show."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("untorn.cli.reading.open_stream", interrupted)
    result = invoke("read", "--json", "-", stdin=chat("Hi"))
    assert (result.exit_code, result.output) == (130, "")
