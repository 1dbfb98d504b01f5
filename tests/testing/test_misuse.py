"""What the kit cannot be told is refused by name, in a sentence, before anything is tried."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from io import BytesIO
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from untorn.testing import (
    ChaosServer,
    Chunks,
    Corrupt,
    Drip,
    Ending,
    Eof,
    Fault,
    FaultySource,
    Hang,
    Piece,
    Raise,
    RecordedEnd,
    RecordedResponse,
    Recorder,
    Response,
    Send,
    Stall,
    answer_of,
    assert_untorn,
    chaos_server,
    cuts_at,
    replay,
)

anything: Any = None  # whatever a type checker would not let pass


def read(chunks: Iterable[bytes]) -> list[bytes]:
    return [b"".join(chunks)]


def refused(made: Callable[[], object], said: str, kind: type[Exception] = ValueError) -> None:
    """A call is refused with these words, which end as no sentence of ours does: without a stop."""
    with pytest.raises(kind, match=re.escape(said)) as found:
        made()
    assert not str(found.value).endswith(".")


ENDINGS = "last-chunk, missing-last-chunk, close, reset, silence, comments"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"ending": "bogus"}, f"Not an ending: 'bogus'; give one of {ENDINGS}"),
        ({"ending": None}, "Not an ending: None"),
        ({"content_encoding": "br"}, "content_encoding='br': give 'gzip', 'deflate' or None"),
        ({"content_encoding": "identity"}, "content_encoding='identity'"),
        ({"status": 99}, "status=99: give a whole number from 100 to 999"),
        ({"status": 1000}, "status=1000"),
        ({"status": "200"}, "status='200'"),
        ({"status": True}, "status=True"),
        ({"headers": {"x": 1}}, "headers: 'x' cannot be sent with the value 1"),
        ({"headers": {"x": "a\r\nb: c"}}, r"'x' cannot be sent with the value 'a\r\nb: c'"),
        ({"headers": {"x": "京"}}, "'x' cannot be sent with the value '京'"),
        ({"headers": {"x y": "1"}}, "'x y' is not the name of a header"),
        ({"headers": {"": "1"}}, "'' is not the name of a header"),
        ({"delays": -1}, "delays: give numbers of seconds, 0 or more, not -1"),
        ({"delays": [0, nan]}, "delays: give numbers of seconds, 0 or more, not nan"),
        ({"delays": "1"}, "delays: give numbers of seconds, 0 or more, not '1'"),
        ({"ping_seconds": -0.1}, "ping_seconds: give a number of seconds, 0 or more, not -0.1"),
        ({"ping_seconds": None}, "ping_seconds: give a number of seconds, 0 or more, not None"),
        ({"port": -1}, "port=-1: give a whole number from 0 to 65535"),
        ({"port": "80"}, "port='80'"),
    ],
)
def test_chaos_server_refuses(told: dict[str, Any], said: str) -> None:
    """No misspelt option makes a server that misbehaves in another way than it was told."""
    refused(lambda: chaos_server(b"a", **told), said)


@pytest.mark.parametrize("ending", Ending)
def test_ending_may_be_given_by_its_value(ending: Ending) -> None:
    """The value of an ending stands for it; it serves the same bytes."""
    by_name, by_itself = (chaos_server(b"ab", ending=told) for told in (ending.value, ending))
    assert by_name._response == by_itself._response


@pytest.mark.parametrize(
    "made",
    [
        lambda wire: chaos_server(wire),
        lambda wire: chaos_server(wire, cuts=["a"]),
        lambda wire: FaultySource(wire),
        lambda wire: FaultySource(wire, ["a"]),
        lambda wire: cuts_at(wire, [1]),
        lambda wire: assert_untorn(read, wire),
        lambda wire: Send(wire),
        lambda wire: Corrupt(wire, at=0),
    ],
)
def test_text_is_no_wire(made: Callable[[Any], object]) -> None:
    """Bytes are asked for wherever bytes are served."""
    refused(lambda: made("ab"), "Not bytes: 'ab'", TypeError)


def test_response_takes_no_name_for_an_ending() -> None:
    """A response is made of an ending, and of nothing that merely looks like one."""
    refused(lambda: Response([b"a"], ending=anything), "Not an ending: None")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Stall(-1), "Stall(seconds=-1, at=None): give a number of seconds, 0 or more"),
        (lambda: Stall(nan), "Stall(seconds=nan, at=None): give a number"),
        (lambda: Stall(anything), "Stall(seconds=None, at=None): give a number"),
        (lambda: Stall(True), "Stall(seconds=True, at=None): give a number"),
        (lambda: Drip(-0.5), "Drip(seconds=-0.5, at=0, until=None, size=1): give a number"),
        (lambda: Drip(1, size=0), "size=0): a drop has at least one byte"),
        (lambda: Drip(1, at=3, until=2), "until=2, size=1): it ends before it begins"),
    ],
)
def test_faults_are_refused(made: Callable[[], object], said: str) -> None:
    """A fault that cannot happen cannot be made."""
    refused(made, said)


def test_stall_may_be_for_ever_or_for_no_time() -> None:
    """Both are numbers of seconds."""
    assert [fault.seconds for fault in (Stall(0), Stall(inf))] == [0, inf]


@pytest.mark.parametrize(
    "fault",
    [
        Corrupt(b"xy", at=1),
        Corrupt(b"xyz", at=0),
        Corrupt(b"", at=3),
        Corrupt(b"x", at=-1),
        Drip(1, until=3),
        Drip(1, at=3),
        Stall(1, at=3),
        Eof(at=-1),
    ],
)
def test_faults_lie_within_the_wire(fault: Fault) -> None:
    """None is cut off silently where the wire ends."""
    refused(lambda: FaultySource(b"ab", None, [fault]), "outside the wire, which has 2 bytes")


@pytest.mark.parametrize("fault", [Stall, "stall", None])
def test_only_faults_are_faults(fault: Any) -> None:
    """What is no fault is named."""
    refused(lambda: FaultySource(b"ab", None, [fault]), f"Not a fault: {fault!r}", TypeError)


@pytest.mark.parametrize("told", [Eof(), 3, "hang"])
def test_closing_stalls_hangs_or_raises(told: Any) -> None:
    """It can do nothing else, and the source says so before it is closed."""
    said = f"on_close={told!r}: give a Stall, a Hang or a Raise"
    refused(lambda: FaultySource(b"ab", on_close=told), said, TypeError)
    for each in (Stall(1), Hang(), Raise(ValueError())):
        FaultySource(b"ab", on_close=each)


def test_only_exceptions_are_raised() -> None:
    """An error that cannot be raised is refused when the fault is made."""
    refused(lambda: Raise(anything), "Raise(error=None, at=None): give an exception", TypeError)


@pytest.mark.parametrize(
    "made",
    [
        lambda end: assert_untorn(read, b"ab", end=end),
        lambda end: answer_of(read, [b"ab"], end=end),
        lambda end: Chunks([b"ab"], end),
    ],
)
def test_end_is_one_of_three(made: Callable[[Any], object]) -> None:
    """An end of another name is not taken for a proper one."""
    refused(lambda: made("bad"), "end='bad': give 'eof', 'reset' or 'silence'")


@pytest.mark.parametrize("name", ["exhaustive", "samples", "tries"])
@pytest.mark.parametrize("count", [-1, 1.5, None, True])
def test_effort_is_counted_in_whole_numbers(name: str, count: Any) -> None:
    """No effort is less than none."""
    said = f"{name}={count!r}: give a whole number, 0 or more"
    refused(lambda: assert_untorn(read, b"ab", **{name: count}), said)


def test_parser_can_be_called() -> None:
    """What cannot be called is not taken for a parser that always raises the same."""
    refused(lambda: assert_untorn(anything, b"ab"), "Not a parser: None", TypeError)


def test_expected_holds_events() -> None:
    """What holds no events and gives none is no expectation."""
    refused(lambda: assert_untorn(read, b"ab", anything or 3), "expected=3: give", TypeError)


def test_expected_may_be_the_third_argument() -> None:
    """As in `assert_untorn(parse, wire, expected)`."""
    assert assert_untorn(read, b"ab", lambda wire: [wire], prefixes=False).events


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: RecordedEnd(0.0, anything), "'end' is not one of eof, error, interrupted"),
        (lambda: RecordedEnd(0.0, "error"), "'type' is not the name of a class"),
        (lambda: RecordedResponse(99), "'status' is not one of HTTP"),
        (lambda: Piece(0.0, b""), "a read has at least one byte"),
    ],
)
def test_recordings_hold_what_can_be_read_again(made: Callable[[], object], said: str) -> None:
    """What a reader of recordings refuses cannot be recorded."""
    refused(made, said)


def test_recorder_writes_no_end_that_cannot_be_read() -> None:
    """A misspelt end is refused, and the file gets the end that it has without one."""
    file = BytesIO()
    written = []
    file.close = lambda: written.append(file.getvalue())  # type: ignore[method-assign]
    with Recorder(file, "GET", "http://a/") as recorder, pytest.raises(ValueError):
        recorder.end(anything)
    assert b'"end": "interrupted"' in written[0]


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('"law": "cuts"', '"law": "cats"', "its law is 'cats'"),
        ('"end": "eof"', '"end": "bad"', "its end is 'bad'"),
        ('"relation": "equal"', '"relation": "like"', "its relation is 'like'"),
    ],
)
def test_reproducers_are_refused_by_name(tmp_path: Path, was: str, becomes: str, said: str) -> None:
    """What a reproducer cannot say is named with the file."""
    with pytest.raises(AssertionError):
        assert_untorn(lambda chunks: list(chunks), b"ab", reproducers=tmp_path)
    (path,) = tmp_path.iterdir()
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, becomes))
    refused(lambda: replay(path, read), f"{path} is not a reproducer: {said}")


@pytest.mark.parametrize(
    ("package", "code", "said"),
    [
        (
            "hypothesis",
            "import untorn.testing.strategies",
            "untorn.testing.strategies needs hypothesis: pip install 'untorn[testing]'",
        ),
        (
            "trio",
            "import untorn.testing as kit; kit.run_virtual(print, backend='trio')",
            "virtual time on trio needs trio: pip install 'untorn[trio]'",
        ),
    ],
)
def test_missing_extra_is_named(package: str, code: str, said: str) -> None:
    """Where a package is missing, the sentence says what to install."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules[{package!r}] = None; {code}"],
        capture_output=True,
        text=True,
    )
    assert run.stderr.splitlines()[-1] == f"ImportError: {said}"


def test_headers_are_the_same_in_any_case() -> None:
    """A name in capitals takes the place of the one in small letters."""
    head = Response([b"a"], headers={"Content-Type": "text/plain"}).head()
    assert head.count(b"ontent-") == 1 and b"content-type: text/plain" in head


def test_server_is_made_of_what_is_right() -> None:
    """All that is allowed, at once."""
    server = chaos_server(
        b"ab",
        cuts=[1],
        delays=[0, 0.5],
        status=418,
        headers={"x-y": "é"},
        content_encoding="deflate",
        ending="reset",
        ping_seconds=0,
        port=0,
    )
    assert isinstance(server, ChaosServer)
