"""The gateway's page, in a real browser, says of every answer whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

import httpx2
from browser.chromium import chromium, need_chromium
from relay.servers import serve

from .programs import functions, until

APP = Path(__file__).with_name("gateway_page_app.py")
WORDS = functions("gateway")["DEMO_ANSWER"].split()


def test_the_page_shows_what_came_and_how_it_ended(tmp_path: Path) -> None:
    """A whole answer, a cut one and a refusal; and none of them is asked for twice."""
    need_chromium()
    env = {"GATEWAY_DB": str(tmp_path / "db")}
    with serve("uvicorn", APP, tmp_path, env=env) as server:
        with chromium(f"{server.url}/test", tmp_path):
            (shown,) = until(lambda: httpx2.get(f"{server.url}/results").json())
        rows = httpx2.get(f"{server.url}/answers").json()
    assert shown == {
        "whole": {"answer": text(WORDS), "cut": False, "status": "That was all of it."},
        "cut": {"answer": text(WORDS[:7]), "cut": True, "status": "Not whole: transport."},
        "refused": {"answer": "", "cut": False, "status": "No answer; /answers says why."},
    }
    assert [row["question"] for row in rows] == ["whole? & ü", "cut? & ü", "refused? & ü"]


def text(words: list[Any]) -> str:
    return "".join(f"{word} " for word in words)
