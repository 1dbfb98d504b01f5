import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from untorn.testing import (
    Answer,
    Case,
    Expectation,
    Finding,
    Raised,
    Reproducer,
    TornParserError,
    assert_untorn,
    replay,
    reproducer_folder,
)

FOUND = Finding(
    "cuts",
    Case(b"\xff\n", b"rest", (1, 1), "reset"),
    Expectation(('{"a": "\\u00e9"}',), raised=Raised("E", "m")),
    Answer(("1",), None),
)


@pytest.mark.parametrize(
    "found",
    [
        FOUND,
        Finding(
            "truncation", Case(b""), Expectation(("1",), "beginning"), Answer((), Raised("E", ""))
        ),
        Finding("expected", Case(b""), Expectation((), raised=None), Answer(("null",))),
    ],
)
def test_file_holds_all_there_is_to_know(found: Finding, tmp_path: Path) -> None:
    written = Reproducer(found, 7, {"dialect": "sse", "limits": {"frame_bytes": 10}})
    path = written.write(tmp_path / "new", "name")
    assert Reproducer.read(path) == written
    assert written.write(tmp_path / "new", "name") == path


def test_file_is_readable(tmp_path: Path) -> None:
    held = json.loads(Reproducer(FOUND, parameters={"key": b"x"}).to_json())
    assert held == {
        "schema": "untorn-reproducer/1",
        "law": "cuts",
        "says": "The answer depends on how the bytes were cut.",
        "wire": {"base64": "/wo=", "text": "\\xff\\n"},
        "rest": {"base64": "cmVzdA==", "text": "rest"},
        "boundaries": [1, 1],
        "end": "reset",
        "seed": None,
        "parameters": {"key": {"$bytes": "x"}},
        "expected": {
            "relation": "equal",
            "events": [{"a": "é"}],
            "raised": {"type": "E", "message": "m"},
        },
        "actual": {"events": [1], "raised": None},
    }


def broken(chunks: Iterable[bytes]) -> list[bytes]:
    return list(chunks)


def repaired(chunks: Iterable[bytes]) -> list[bytes]:
    return [bytes([byte]) for byte in b"".join(chunks)]


def test_replay_fails_until_the_parser_is_repaired(tmp_path: Path) -> None:
    with pytest.raises(TornParserError) as caught:
        assert_untorn(broken, b"ab", expected=lambda w: repaired([w]), reproducers=tmp_path)
    with pytest.raises(TornParserError, match="not the expected ones") as again:
        replay(caught.value.path, broken)
    assert again.value.finding == caught.value.finding
    assert len(replay(caught.value.path, repaired).events) == 2


def test_failure_points_at_the_callers_line(tmp_path: Path) -> None:
    path = Reproducer(FOUND).write(tmp_path, "x")
    with pytest.raises(TornParserError) as caught:
        replay(path, broken)
    assert (
        caught.traceback.filter(caught)[-1].frame.code.name
        == "test_failure_points_at_the_callers_line"
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "Expecting"),
        ("[]", "indices"),
        ("{}", "it has no 'schema'"),
        ('{"schema": "other/2"}', "its schema is 'other/2', but this version reads"),
        ('{"schema": "untorn-reproducer/1"}', "it has no 'wire'"),
    ],
)
def test_other_files_are_refused(text: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"x.json is not a reproducer: .*{what}"):
        Reproducer.read(path)


def test_folder_is_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTORN_REPRODUCERS", "elsewhere")
    assert reproducer_folder() == Path("elsewhere")


def test_objects_in_parameters_are_written_by_name(tmp_path: Path) -> None:
    class Dialect:
        def __init__(self) -> None:
            self.eof = "completes"

    parameters: dict[str, Any] = {"dialect": Dialect()}
    path = Reproducer(FOUND, parameters=parameters).write(tmp_path, "x")
    assert Reproducer.read(path).parameters == {"dialect": {"$type": "Dialect", "eof": "completes"}}
