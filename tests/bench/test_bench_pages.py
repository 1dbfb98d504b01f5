"""What is made of a run: the table, the file, the picture, the page."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import __main__ as run_of_all
from bench import page, plot
from bench.measure import Case, Row

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"

kept_run = pytest.mark.skipif(not plot.LATEST.exists(), reason="no run is kept")


@pytest.fixture
def result() -> dict[str, Any]:
    """A made-up run with every row that the picture shows."""
    values = {
        "untorn": [1000.0],
        **{name: [500.0 + 700 * n] for n, name in enumerate(plot.COLOURS)},
    }
    keys = [key.partition(": ") for panel in plot.PANELS.values() for key, _ in panel]
    rows = [Row(group, subject, "ns/event", values).as_json() for group, _, subject in keys]
    versions = dict.fromkeys(("untorn", "node", *plot.COLOURS), "1.2 & <3>")
    return {
        "python": "3.13",
        "quick": False,
        "machine": "a machine",
        "versions": versions,
        "rows": rows,
        "targets": [],
        "left_out": {"a-peer": "it is not here"},
    }


def texts(picture: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_the_picture_has_every_row_and_every_peer(result: dict[str, Any]) -> None:
    """It is well-formed XML, whatever the versions are called."""
    found = texts(plot.svg(result))
    labels = [label for panel in plot.PANELS.values() for _, label in panel]
    assert {*labels, *plot.PANELS} <= set(found)
    assert all(any(text.startswith(name) for text in found) for name in plot.COLOURS)


def test_no_bar_lies_on_another_and_all_lie_on_the_paper(result: dict[str, Any]) -> None:
    """Rows, bars and what is written at their ends keep apart."""
    picture = ElementTree.fromstring(plot.svg(result))
    paper, *rects = [rect.attrib for rect in picture.iter(f"{SVG}rect")]
    bars = [rect for rect in rects if rect["height"] == str(plot.BAR)]
    tops = [int(bar["y"]) for bar in bars]
    assert all(later - top >= plot.BAR for top, later in pairwise(tops))
    assert len(bars) == len(plot.COLOURS) * sum(map(len, plot.PANELS.values()))
    for text in picture.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) < float(paper["width"])
        assert 0 < float(text.attrib["y"]) < float(paper["height"])


def test_the_longer_bar_is_of_who_takes_longer(result: dict[str, Any]) -> None:
    """To the right of the line takes more, to the left takes less."""
    scale = plot.Scale(0.5, 8)
    assert scale.x(0.5) < scale.x(1) < scale.x(2)
    assert scale.x(2) - scale.x(1) == pytest.approx(scale.x(4) - scale.x(2))
    assert scale.ticks() == [0.5, 1, 2, 5]


def test_a_run_without_a_peer_is_drawn_without_it(result: dict[str, Any]) -> None:
    """A part of the rows, and a part of the peers, make a picture as well."""
    row = result["rows"][0]
    del row["values"]["openai"]
    assert not any(
        text.startswith("openai")
        for text in texts(plot.svg(result | {"rows": [row], "versions": {}}))
    )


def test_the_tables_have_every_row(result: dict[str, Any]) -> None:
    """Each group has a title, each row its subject, and who was left out is said."""
    found = page.tables(result)
    for row in result["rows"]:
        assert f"   * - {row['subject']}" in found
    assert "Framing and JSON\n~~~~" in found
    assert found.index("Cost against length") < found.index("What it should reach")
    assert "``a-peer`` did not take part: it is not here." in found
    assert "rough" not in found and "rough" in page.tables(result | {"quick": True})


@kept_run
def test_the_page_shows_the_run_that_is_kept() -> None:
    """Tables and picture are what would be written now."""
    result = json.loads(plot.LATEST.read_text("utf-8"))
    assert page.TABLES.read_text("utf-8") == page.tables(result), "Run `python -m bench.page`."
    assert page.PICTURE.read_text("utf-8") == plot.svg(result), "Run `python -m bench.page`."
    assert not result["quick"], "Keep a full run."


def test_one_command_prints_the_table_and_writes_the_file(tmp_path: Path) -> None:
    """`python -m bench` does, for the part that is asked for."""
    pytest.importorskip("httpx_sse")
    out = tmp_path / "bench.json"
    only = "framing: pair @ 1 event"
    command = [sys.executable, "-m", "bench", "--quick", "--only", only, "--out", str(out)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert "pair @ 1 event" in run.stdout and "httpx-sse" in run.stdout
    result = json.loads(out.read_text("utf-8"))
    assert [row["group"] for row in result["rows"]] == ["framing"]
    assert result["rows"][0]["ratio"].keys() >= {"httpx-sse", "floor: bytes.split"}
    assert [each["target"]["row"] for each in result["targets"]] == [only]


def test_a_case_that_fails_does_not_take_the_run_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told, the rows of the others are kept, and the command fails."""

    def broken() -> list[Row]:
        raise ValueError("It broke")

    row = Row("framing", "chat @ 1460", "ns/event", {"untorn": [1.0], "httpx-sse": [2.0]})
    section = SimpleNamespace(
        cases=lambda effort: [
            Case("framing", "tiny @ 1460", broken),
            Case(row.group, row.subject, lambda: [row]),
        ]
    )
    out = tmp_path / "bench.json"
    monkeypatch.setattr(run_of_all, "SECTIONS", (section,))
    monkeypatch.setattr(sys, "argv", ["bench", "--quick", "--out", str(out)])
    with pytest.raises(SystemExit, match="framing: tiny @ 1460: ValueError"):
        run_of_all.main()
    assert "tiny @ 1460" in capsys.readouterr().out
    result = json.loads(out.read_text("utf-8"))
    assert [kept["subject"] for kept in result["rows"]] == ["chat @ 1460"]
    verdicts = {each["target"]["row"]: each["verdict"] for each in result["targets"]}
    assert verdicts[row.name] == "met" and verdicts["framing: pair @ 1 event"] == "not measured"
