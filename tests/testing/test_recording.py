"""Recordings: what is written is read again, what is broken is told, and no secret is in it."""

import base64
import json
import os
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn.testing import (
    Ending,
    Eof,
    FaultySource,
    Piece,
    Raise,
    RecordedEnd,
    RecordedError,
    RecordedRequest,
    RecordedResponse,
    Recorder,
    Recording,
    RecordingError,
    Stall,
    read_recording,
    run_virtual,
    write_recording,
)
from untorn.testing.recorder import harmless, open_recording
from untorn.testing.recording import is_recording, parse_recording

BEGAN = datetime(2026, 11, 30, 12, tzinfo=UTC)
ASKED = RecordedRequest("GET", "http://h/v1")

seconds = st.floats(0, 1e9)
field_values = st.text(st.characters(min_codepoint=32, max_codepoint=126))
responses = st.builds(
    RecordedResponse,
    st.integers(100, 999),
    st.text(),
    st.none() | field_values,
    st.dictionaries(st.text(), field_values, max_size=3),
)
ends = st.builds(RecordedEnd, seconds, st.just("eof")) | st.builds(
    RecordedEnd, seconds, st.sampled_from(["error", "interrupted"]), st.just("Broken"), st.text()
)


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Any recording: its times in order, its bytes whatever they are."""
    end = draw(st.none() | ends)
    times = sorted(draw(st.lists(seconds if end is None else st.floats(0, end.at), max_size=6)))
    pieces = tuple(Piece(at, draw(st.binary(min_size=1, max_size=9))) for at in times)
    began = draw(st.datetimes(timezones=st.just(UTC)))
    asked = RecordedRequest(draw(st.text()), draw(st.text()))
    return Recording(began, asked, draw(st.none() | responses), pieces, end)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings") / "a.rec"


def content(*pieces: Piece, end: RecordedEnd | None = None) -> bytes:
    """Return the file of a recording of these."""
    response = {"status": 200, "reason": "OK", "content_type": "text/event-stream", "headers": {}}
    head = {"untorn": "recording", "version": 1, "began": BEGAN.isoformat()}
    lines: list[Any] = [head | {"request": {"method": "GET", "url": "http://h/v1"}}]
    lines[0]["response"] = response
    lines += [{"at": p.at, "bytes": base64.b64encode(p.data).decode()} for p in pieces]
    if end is not None:
        error = None if end.how == "eof" else {"type": end.type, "message": end.message}
        lines.append({"at": end.at, "end": end.how, "error": error})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


ONE = content(Piece(0.5, b"data: \xe4"), Piece(2, b"\xbd\xa0\n\n"), end=RecordedEnd(2.25, "eof"))


@given(recordings())
def test_what_is_written_is_read_again(path: Path, recording: Recording) -> None:
    """Every recording survives, to the last bit of its times."""
    write_recording(path, recording, force=True)
    assert read_recording(path) == recording


@given(st.integers(0, len(ONE)))
def test_a_recording_cut_anywhere_has_what_was_whole(cut: int) -> None:
    """A recorder that is killed leaves a beginning: its whole lines count, and it says so."""
    head = ONE.index(b"\n")
    if cut < head:
        with pytest.raises(RecordingError):
            parse_recording(ONE[:cut])
        return
    whole, part = parse_recording(ONE), parse_recording(ONE[:cut])
    # A line is whole with its last character; its line end adds nothing.
    lines = len([k for k, byte in enumerate(ONE) if byte == 10 and k <= cut]) - 1
    assert part.pieces == whole.pieces[:lines]
    assert part.end == (whole.end if lines == 3 else None)
    assert (part.error is None) == (lines == 3)


@given(st.integers(0, len(ONE) - 1), st.integers(0, 255))
def test_a_damaged_recording_is_told_and_never_a_crash(at: int, byte: int) -> None:
    """With any byte another one: a recording, or one sentence."""
    damaged = bytearray(ONE)
    damaged[at] = byte
    try:
        parse_recording(bytes(damaged))
    except RecordingError as error:
        assert str(error)


def line(**changes: Any) -> bytes:
    """Return a read, changed as told; `None` leaves a key out."""
    value = {"at": 3, "bytes": "YQ=="} | changes
    return json.dumps({name: part for name, part in value.items() if part is not None}).encode()


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([b"{"], "line 2 is not JSON"),
        ([b"[]"], "line 2 is not an object"),
        ([b"[" * 100_000], "line 2 is not JSON"),
        ([b"\xff"], "line 2 is not JSON"),
        ([line(bytes="YQ=")], "line 2: 'bytes' is not base64"),
        ([line(bytes="Y Q==")], "line 2: 'bytes' is not base64"),
        ([line(bytes="é")], "line 2: 'bytes' is not base64"),
        ([line(bytes=1)], "line 2: 'bytes' is not a string"),
        ([line(bytes="")], "line 2: a read has at least one byte"),
        ([line(bytes=None)], "line 2 has no 'bytes'"),
        ([line(at=None)], "line 2 has no 'at'"),
        ([line(at=True)], "line 2: 'at' is not a number"),
        ([line(at=-1)], "line 2: 'at' is not a time"),
        ([b'{"at": NaN, "bytes": "YQ=="}'], "line 2: 'at' is not a time"),
        ([line(at=10**400)], "line 2: 'at' is not a time"),
        ([line(), line(at=2)], "line 3: 'at' is less than on the line before"),
        ([line(end="eof"), line()], "line 3 stands behind the end"),
        ([line(end="eof"), line(end="eof")], "line 3 stands behind the end"),
        ([line(end="never")], "line 2: 'end' is not one of eof, error, interrupted"),
        ([line(end="error")], "line 2 has no 'error'"),
        ([line(end="error", error={"type": "a b", "message": ""})], "is not the name of a class"),
        ([line(end="error", error={"type": "A"})], "line 2 has no 'message'"),
    ],
)
def test_a_broken_line_is_named(lines: list[bytes], says: str) -> None:
    """Which line, and what is wrong with it."""
    head = ONE[: ONE.index(b"\n") + 1]
    with pytest.raises(RecordingError, match=says):
        parse_recording(head + b"".join(each + b"\n" for each in lines))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b'"version": 1', b'"version": 2', "line 1 has a version that this reader does not know"),
        (b'"2026-', b'"26-', "line 1: Invalid isoformat"),
        (b'"began"', b'"begun"', "line 1 has no 'began'"),
        (b'"url"', b'"uri"', "line 1 has no 'url'"),
        (b'"status": 200', b'"status": true', "'status' is not a whole number"),
        (b'"status": 200', b'"status": 20', "'status' is not one of HTTP"),
        (b'"headers": {}', b'"headers": {"via": 1}', "are not all printable ASCII"),
        (b"text/event", b"text\\r\\nevent", "are not all printable ASCII"),
        (b'"recording"', b'"tape"', "it is no recording: line 1"),
        (b'{"untorn"', b' {"untorn"', "it is no recording: line 1"),
    ],
)
def test_a_broken_head_is_told(old: bytes, new: bytes, says: str) -> None:
    """It is told from a file that is no recording at all."""
    assert old in ONE
    with pytest.raises(RecordingError, match=says):
        parse_recording(ONE.replace(old, new, 1))


def test_a_recording_is_told_from_others() -> None:
    """By its first bytes, whatever its version."""
    assert is_recording(ONE) and is_recording(ONE[:30])
    assert not is_recording(b'{"untorn": "reproducer"}') and not is_recording(b"")


def test_unknown_keys_are_passed_over() -> None:
    """A later writer may add some."""
    assert parse_recording(ONE.replace(b'"at"', b'"note": 1, "at"')) == parse_recording(ONE)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_source_gives_it_as_it_came(backend: str) -> None:
    """Its bytes, its cuts and its pauses are the input of a faulty source."""
    broken = RecordedEnd(4.0, "error", "ReadError", "gone")
    recording = parse_recording(content(Piece(0.5, b"ab"), Piece(2.0, b"c"), end=broken))
    source = FaultySource(recording.wire, recording.cuts, recording.faults)

    async def read() -> str:
        try:
            async for _ in source:
                pass
        except RecordedError as error:
            return repr(error)
        return "an end"

    assert run_virtual(read, backend=backend) == "ReadError('gone')"
    assert [(read.time, read.data) for read in source.reads] == [(0.5, b"ab"), (2.0, b"c")]


@pytest.mark.parametrize(
    ("end", "ending", "says"),
    [
        (RecordedEnd(3.0, "eof"), Ending.LAST_CHUNK, "None"),
        (RecordedEnd(3.0, "error", "Gone", "x"), Ending.MISSING_LAST_CHUNK, "Gone('x')"),
        (RecordedEnd(3.0, "interrupted", "Left", "x"), Ending.SILENCE, "Left('x')"),
        (None, Ending.SILENCE, "The recording has no end"),
    ],
)
def test_it_ends_as_it_ended(end: RecordedEnd | None, ending: Ending, says: str) -> None:
    """A server and a source end in the way that comes closest."""
    recording = Recording(BEGAN, ASKED, None, (Piece(1.0, b"a"),), end)
    assert recording.ending is ending
    assert says in repr(recording.error)
    *pauses, last = recording.faults
    assert isinstance(last, Eof if ending is Ending.LAST_CHUNK else Raise)
    assert pauses == [Stall(1.0, at=0), *([Stall(2.0)] if end else [])]
    assert recording.delays == [1.0]


# --- the recorder -------------------------------------------------------------------


def ticking(*times: float) -> Any:
    return iter(times).__next__


def test_a_recorder_writes_as_it_goes(tmp_path: Path) -> None:
    """Each line is in the file when the call returns, with its time."""
    path = tmp_path / "a.rec"
    clock = ticking(10.0, 10.5, 12.0000004, 13.0)
    with Recorder(open_recording(path), "GET", "http://h/v1", clock=clock) as recorder:
        assert path.read_bytes() == b""
        recorder.response(200, "OK", {"Content-Type": "text/event-stream"})
        assert read_recording(path).response == RecordedResponse(200, "OK", "text/event-stream")
        for data in (b"a", b"", b"bc"):
            recorder.piece(data)
        assert read_recording(path).pieces == (Piece(0.5, b"a"), Piece(2.0, b"bc"))
        assert (recorder.reads, recorder.bytes) == (2, 3)
        recorder.end("eof")
    assert read_recording(path).end == RecordedEnd(3.0, "eof")


def test_a_recorder_that_leaves_says_so(tmp_path: Path) -> None:
    """Even before the response came: the file is a recording, and its end is known."""
    path = tmp_path / "a.rec"
    with pytest.raises(KeyboardInterrupt), Recorder(open_recording(path), "GET", "http://h/"):
        raise KeyboardInterrupt
    recording = read_recording(path)
    assert (recording.response, recording.pieces) == (None, ())
    assert recording.end is not None and recording.end.how == "interrupted"


def test_no_secret_is_recorded(tmp_path: Path) -> None:
    """Neither of the URL nor of headers that are not on the list, nor where a redirect leads."""
    path = tmp_path / "a.rec"
    headers = {
        "Set-Cookie": "a=SECRET", "X-Key": "SECRET", "Server": "nginx", "Via": "SECR\u00c9T",
        "Location": "//u:SECRET@h/to?k=SECRET#SECRET", "Content-Type": "text/plain",
    }  # fmt: skip
    url = "https://user:SECRET@h:8443/v1/chat?key=SECRET#SECRET"
    with Recorder(open_recording(path), "GET", url) as recorder:
        recorder.response(307, "", headers)
    assert b"SECR" not in path.read_bytes()
    recording = read_recording(path)
    assert recording.request.url == "https://h:8443/v1/chat"
    assert recording.response == RecordedResponse(
        307, "", "text/plain", {"server": "nginx", "location": "//h/to"}
    )


def test_a_redirect_to_nowhere_is_left_out(tmp_path: Path) -> None:
    """What is no URL cannot be made harmless."""
    path = tmp_path / "a.rec"
    with Recorder(open_recording(path), "GET", "http://h/") as recorder:
        recorder.response(302, "", {"location": "http://[SECRET"})
    assert b"SECRET" not in path.read_bytes()


def test_harmless_is_what_names_the_place() -> None:
    """Scheme, host, port and path."""
    assert harmless("http://u:p@[::1]:80/a/b?c#d") == "http://[::1]:80/a/b"
    assert harmless("/a?b") == "/a"


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Mode 0600, also where a file is written over; and it is not without being told."""
    path = tmp_path / "a.rec"
    path.write_text("before")
    path.chmod(0o644)
    recording = parse_recording(ONE)
    with pytest.raises(FileExistsError):
        write_recording(path, recording)
    assert path.read_text() == "before"
    write_recording(path, recording, force=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    write_recording(tmp_path / "b.rec", recording)
    assert stat.S_IMODE((tmp_path / "b.rec").stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_what_is_no_file_keeps_its_mode(tmp_path: Path) -> None:
    """A device or a pipe is not the recorder's to close to others."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o644)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    open_recording(pipe, force=True).close()
    os.close(reader)
    assert stat.S_IMODE(pipe.stat().st_mode) == 0o644
