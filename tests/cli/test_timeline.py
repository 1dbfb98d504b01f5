"""`untorn timeline`: one picture of the reads, the events they completed, and the stalls."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from untorn import parse
from untorn.cli.picture import Picture
from untorn.dialects.openai_chat import OpenAIChat
from untorn.testing import RecordedEnd, RecordedResponse

from .commands import BACKENDS, chat, invoke, objects, plain
from .recordings import recording, written

WIRE = chat("The", " naïve ", "你好")
FIRST = WIRE.index(b"\n\n") + 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answer.rec"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_picture(backend: str, path: Path) -> None:
    """Times, waits to scale, bytes, events with what they say, stalls, the end, the outcome."""
    end = RecordedEnd(7.5, "eof")
    written(path, recording(WIRE, cuts=[20, FIRST], step=2.0, end=end))
    result = invoke("timeline", str(path), "--stall", "2.5", "--backend", backend)
    rest = len(WIRE) - FIRST
    assert result.stdout.splitlines() == [
        "GET http://service.example/v1/chat",
        "200 OK, text/event-stream, 2026-11-30 12:00:00 UTC, read as OpenAIChat",
        "",
        "     at s   wait s                    bytes  events",
        "    2.000    2.000 ################      20  -",
        f'    4.000    2.000 ################ {FIRST - 20:7}  text_delta "The"',
        f'    6.000    2.000 ################ {rest:7}  2 text_delta " naïve 你好", finish',
        "    7.500    1.500 ############         end  eof",
        "",
        f"Completed: [DONE] came at byte {len(WIRE)}, after 4 events, finish reason stop.",
    ]
    assert (result.exit_code, result.stderr) == (0, "")


def test_stalls_are_marked(path: Path) -> None:
    """A wait of the threshold and more, before the end too."""
    written(path, recording(WIRE, cuts=[20], step=1.0, end=RecordedEnd(9.0, "eof")))
    lines = invoke("timeline", str(path), "--stall", "2").stdout.splitlines()
    assert ["STALL" in line for line in lines[4:7]] == [False, False, True]
    lines = invoke("timeline", str(path)).stdout.splitlines()
    assert ["STALL" in line for line in lines[4:7]] == [True, True, True]


def test_what_came_behind_the_outcome_is_told(path: Path) -> None:
    """Nobody reads it."""
    written(path, recording(WIRE + b": bye\n\n", cuts=[len(WIRE)]))
    lines = invoke("timeline", str(path)).stdout.splitlines()
    assert lines[4].endswith(", finish") and lines[5].endswith("7  (behind the outcome)")


@pytest.mark.parametrize(
    ("made", "says", "status"),
    [
        (recording(WIRE[:100], killed=True), "killed", 3),
        (recording(WIRE[:100], end=RecordedEnd(1.0, "error", "ReadError", "no")), "error", 3),
        (recording(WIRE[:100], end=RecordedEnd(1.0, "interrupted", "A", "b")), "interrupted", 3),
        (recording(b"data: {\n\n"), "eof", 4),
        (recording(b"", response=None, end=RecordedEnd(0.0, "error", "E", "")), "error", 3),
        (recording(b"no", response=RecordedResponse(404, "Not Found")), "eof", 4),
    ],
)
def test_every_end_has_its_line(made: object, says: str, status: int, path: Path) -> None:
    """And the status of the outcome."""
    result = invoke("timeline", written(path, made), "--dialect", "openai-chat")  # type: ignore[arg-type]
    (end,) = [line for line in result.stdout.splitlines() if " end  " in line]
    assert says in end
    assert result.exit_code == status


@given(cuts=st.sets(st.integers(1, len(WIRE) - 1)), stop=st.integers(0, len(WIRE)))
def test_every_event_is_at_the_read_that_completed_it(cuts: set[int], stop: int) -> None:
    """However it is cut: up to a read, the events are those of the bytes up to it."""
    made = recording(WIRE[:stop], cuts=sorted(cut for cut in cuts if cut < stop))
    whole = parse([made.wire], OpenAIChat())
    list(whole.events())
    assert whole.outcome is not None
    picture = Picture.of(made, 1.0, OpenAIChat(), whole.outcome)
    so_far, events = b"", []
    for piece, moment in zip(made.pieces, picture.reads, strict=True):
        so_far += piece.data
        events += moment.events
        assert events == list(parse([so_far], OpenAIChat()).events())
    assert [*events, *picture.end.events] == list(parse([made.wire], OpenAIChat()).events())


@given(st.lists(st.text(max_size=60), max_size=4))
def test_no_line_is_wider_than_a_hundred_columns(texts: list[str]) -> None:
    """Whatever the service says, and it steers no terminal."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = written(Path(folder, "a.rec"), recording(chat(*texts)))
        picture = invoke("timeline", made).stdout.partition("\n\nCompleted")[0]
    assert all(cell_len(line) <= 100 for line in picture.split("\n"))
    assert "\x1b" not in picture and "\x07" not in picture


def test_an_event_may_come_with_the_end(path: Path) -> None:
    """Half a character of two surrogates is given up for lost when nothing more can come."""
    half = chat("aX", finish=None, done=False).replace(b"X", b"\\ud83d")
    lines = invoke("timeline", written(path, recording(half))).stdout.splitlines()
    assert lines[4].endswith('  text_delta "a"')
    assert lines[5].endswith('end  eof, text_delta "\ufffd"')


def test_no_service_steers_the_terminal(path: Path) -> None:
    """Neither with its text nor with the words for its status."""
    made = recording(chat("\x9b31m"), response=RecordedResponse(200, "\x1b[31mOK"))
    picture = invoke("timeline", written(path, made)).stdout
    assert "\\x9b31m" in picture and "200 \\x1b[31mOK" in picture
    assert not {"\x9b", "\x1b"} & set(picture)


def test_a_wait_may_be_as_long_as_a_number(path: Path) -> None:
    end = RecordedEnd(sys.float_info.max, "eof")
    result = invoke("timeline", written(path, recording(WIRE, end=end)))
    assert (result.exit_code, "1797693134862315708" in result.stdout) == (0, True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_json_is_one_object_per_moment(backend: str, path: Path) -> None:
    """The recording, its reads, its end, and the outcome as `read` has it."""
    written(path, recording(WIRE, cuts=[FIRST], step=2.0))
    result = invoke("timeline", str(path), "--json", "--backend", backend)
    head, first, second, end, outcome = objects(result.stdout)
    assert head == {
        "kind": "recording", "began": "2026-11-30T12:00:00+00:00", "method": "GET",
        "url": "http://service.example/v1/chat", "status": 200,
        "content_type": "text/event-stream", "dialect": "OpenAIChat",
    }  # fmt: skip
    delta = {"kind": "text_delta", "text": "The", "choice": 0}
    time = {"at": 2.0, "wait": 2.0, "stall": True}
    assert first == {"kind": "read", **time, "bytes": FIRST, "events": [delta]}
    assert [event["kind"] for event in second["events"]] == ["text_delta", "text_delta", "finish"]
    assert (end["kind"], end["end"], end["error"], end["wait"]) == ("end", "eof", None, 2.0)
    assert outcome == objects(invoke("replay", str(path), "--speed=0", "--json").stdout)[-1]


def test_json_says_what_broke(path: Path) -> None:
    """The name of the exception and what it said; null where the recorder was killed."""
    written(path, recording(WIRE[:50], response=None, end=RecordedEnd(1.0, "error", "E", "no")))
    head, *_, end, _ = objects(invoke("timeline", str(path), "--json").stdout)
    assert (head["status"], end["error"]) == (None, {"type": "E", "message": "no"})
    written(path, recording(WIRE[:50], killed=True))
    *_, end, _ = objects(invoke("timeline", str(path), "--json").stdout)
    assert (end["end"], end["error"]) == (None, None)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf"])
def test_wrong_usage_is_a_sentence(value: str, path: Path) -> None:
    """Status 2."""
    result = invoke("timeline", written(path, recording(WIRE)), "--stall", value)
    assert result.exit_code == 2
    assert "give a positive number of seconds" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix terminal")
def test_a_terminal_sees_colours(path: Path) -> None:
    """And a pipe none."""
    written(path, recording(WIRE, step=2.0))
    command = [sys.executable, "-m", "untorn", "timeline", str(path)]
    controller, terminal = os.openpty()
    environment = {**plain(), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    subprocess.run(command, stdout=terminal, env=environment, check=True, timeout=60)
    seen = os.read(controller, 65536)
    os.close(terminal)
    os.close(controller)
    assert b"\x1b[1;33m" in seen and b"STALL" in seen
    piped = subprocess.run(command, capture_output=True, env=plain(), check=True, timeout=60)
    assert b"\x1b" not in piped.stdout
