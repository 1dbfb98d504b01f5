"""The tables of `docs/explanation/sdk_parity.rst`, made from what the tests assert."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .deviation import Kind
from .records import DEVIATIONS, VERSIONS, pairs

FILE = Path(__file__).parents[2] / "docs" / "explanation" / "sdk_parity_tables.inc"
HEADER = ".. Written by `python -m parity`; a test compares it with what the tests assert.\n"


def tables() -> str:
    """Return the content of the file."""
    return "\n".join([HEADER, *_versions(), *_agreements(), *_deviations()])


def _versions() -> Iterator[str]:
    yield from _title("Measured with")
    yield from _table(("SDK", "version"), VERSIONS.items(), "30 70")


def _agreements() -> Iterator[str]:
    calls: dict[str, list[str]] = {}
    for call, capture in pairs():
        calls.setdefault(capture.file, []).append(call.id)
    rows = [(f"``{file}``", ", ".join(f"``{id}``" for id in ids)) for file, ids in calls.items()]
    yield from _title(f"Where they agree: {sum(map(len, calls.values()))} readings")
    yield from _table(("capture", "read by"), rows, "45 55")


def _deviations() -> Iterator[str]:
    for kind in Kind:
        rows = [
            (f"``{each.call.id}``", each.sent, f"``{each.sdk}``", f"``{each.untorn}``")
            for each in DEVIATIONS
            if each.kind == kind
        ]
        yield from _title(f"{kind.value}: {len(rows)}")
        yield from _table(("call", "what was sent", "SDK", "untorn"), rows, "22 28 25 25")


def _title(text: str) -> Iterator[str]:
    yield from (text, "-" * len(text), "")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], widths: str) -> Iterator[str]:
    yield from (".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", "")
    for row in (head, *rows):
        yield f"   * - {row[0]}"
        yield from (f"     - {cell}" for cell in row[1:])
    yield ""
