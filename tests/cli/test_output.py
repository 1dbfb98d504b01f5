"""What is written, and how long it is waited for."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import click
import pytest

from untorn.cli.output import Notes, Output, console_on, visible
from untorn.cli.show import TextShow, json_text, kept, sentence
from untorn.cli.status import _forget, run, status_of
from untorn.event import Message, TextDelta, ToolCall
from untorn.outcome import Boundary, Cause, Completed, Interrupted, Position

from .commands import BACKENDS


@pytest.fixture
def pipe() -> Iterator[tuple[int, Any]]:
    """The two ends of a pipe."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as stream:
        yield reader, stream
    os.close(reader)


@pytest.mark.skipif(sys.platform == "win32", reason="only sockets can be waited for on Windows")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_full_pipe_holds_up_nobody_else(backend: str, pipe: tuple[int, Any]) -> None:
    """While the output waits for its reader, the loop runs on."""
    reader, stream = pipe
    text, read = "你" * 2**16, bytearray()

    async def drain() -> None:
        while len(read) < len(text.encode()):
            await anyio.wait_readable(reader)
            read.extend(os.read(reader, 5000))

    async def main() -> None:
        output = Output(stream)
        output.write(text)
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(drain)
                await output.flush()

    anyio.run(main, backend=backend)
    assert read.decode() == text


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_file_is_written_at_once(backend: str, tmp_path: Path) -> None:
    """It cannot be waited for, and need not be."""

    async def main() -> None:
        with (tmp_path / "out").open("wb") as file:
            output = Output(file)
            for part in ("你好", "", "\n"):
                output.write(part)
                await output.flush()
                assert output.at_line_start is (part == "\n")

    anyio.run(main, backend=backend)
    assert (tmp_path / "out").read_text("utf-8") == "你好\n"


def test_what_shares_a_place_is_known(tmp_path: Path) -> None:
    """Two names of one file are one place; a buffer in memory is no place."""
    path = tmp_path / "out"
    with path.open("wb") as one, path.open("ab") as same, (tmp_path / "other").open("wb") as other:
        assert Output(one).shares(same)
        assert not Output(one).shares(other)
        assert not Output(io.BytesIO()).shares(one)


def test_control_characters_are_spelled_out() -> None:
    """All but the line end and the tab."""
    assert visible("a\tb\n\x1b[0m\r\x9b\x7f你") == "a\tb\n\\x1b[0m\\x0d\\x9b\\x7f你"


def test_json_has_a_word_for_everything() -> None:
    """What JSON cannot say is said as well as can be."""
    values = {"a": float("inf"), "b": [float("nan"), (1,)], "c": b"\xffx", "d": TextDelta("t")}
    assert json_text(values) == (
        '{"a": null, "b": [null, [1]], "c": "\ufffdx", "d": {"text": "t", "choice": 0}}'
    )
    assert json_text({"a": {1}}) == '{"a": "{1}"}'


def test_an_outcome_of_anything_has_a_sentence() -> None:
    """A value without a finish reason has none in its sentence."""
    outcome = Completed(None, "end", Position(9, 2, 1))
    assert sentence(outcome) == "Completed: end came at byte 9, after 1 event."
    assert status_of(outcome) == 0


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (BrokenPipeError(), SystemExit),
        (OSError(28, "No space left on device"), click.ClickException),
    ],
)
def test_what_ends_a_run_has_a_status(
    error: BaseException, raised: type, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that left and a full disk are no tracebacks."""

    async def main() -> None:
        raise error

    with pytest.raises(raised):
        run(main, "asyncio")


def test_what_is_forgotten_goes_nowhere(tmp_path: Path) -> None:
    """What a stream still buffers is not written where it was to go."""
    with (tmp_path / "out").open("w") as stream:
        stream.write("buffered")
        _forget(stream)
    assert (tmp_path / "out").read_bytes() == b""


def test_notes_that_nobody_reads_are_a_broken_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with standard output: rich would end the program itself."""
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w", encoding="ascii")
    monkeypatch.setattr("sys.stderr", stream)
    with pytest.raises(BrokenPipeError):
        Notes().piece("京")
    _forget(stream)
    stream.close()


class Terminal(io.BytesIO):
    """A terminal that is no file."""

    def isatty(self) -> bool:
        return True


def test_text_on_a_terminal_ends_its_line() -> None:
    """Where the notes go elsewhere, nothing else would end it."""
    stream = Terminal()

    async def main() -> None:
        show = TextShow(Output(stream), Notes(), is_chat=False)
        await show.event(TextDelta("a\x07"))
        await show.outcome(Completed(None, "end", Position(9, 2, 1)))

    anyio.run(main)
    assert stream.getvalue() == b"a\\x07\n"


def test_a_console_is_made_on_any_stream() -> None:
    """Also on one that has no encoding to mend."""
    stream = io.StringIO()
    console_on(stream).print("[b]京[/b]")
    assert stream.getvalue() == "[b]京[/b]\n"


def test_finished_calls_are_counted_apart() -> None:
    """Of what is kept, one may be run and the other not."""
    calls = [ToolCall("1", "a", "{}", finished, finished) for finished in (True, False, False)]
    message = Message("", "", "", tuple(calls), None, "unknown", None, (), {})
    outcome = Interrupted(Cause.EOF, Boundary.MESSAGE, None, message, Position(9, 2, 3))
    said = "3 events, 0 characters of text, 1 finished tool call, 2 unfinished tool calls"
    assert kept(outcome) == said
