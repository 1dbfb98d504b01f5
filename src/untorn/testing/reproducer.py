"""Reproducers: a failing case as one JSON file, which can be played again to any parser.

The file, schema `untorn-reproducer/1`:

============  ====================================================================================
key           value
============  ====================================================================================
schema        `"untorn-reproducer/1"`; a reader refuses any other
law           the law that was broken: `cuts`, `expected`, `truncation` or `promptness`
says          the same as a sentence
wire          the bytes that arrive: `{"base64": ..., "text": ...}`; the text (as a Python bytes
              literal has it) is for people, and is not read
rest          the bytes that would have followed, in the same form; for people
boundaries    the offsets at which `wire` is cut, in bytes
end           how the transport ends: `eof`, `reset`, or `silence` (it stays open)
seed          the seed of the run that found it, or null
parameters    what the parser was told (dialect, limits, ...): any object; kept, not used
expected      `{"relation": "equal" | "beginning", "events": [...], "raised": ...}`: whether the
              events must be these, or a beginning of these. `raised` is null (the parser ends
              without an exception), `{"type", "message"}`, or `"anything"`
actual        `{"events": [...], "raised": ...}`: what the parser said when the file was written
============  ====================================================================================

An event is written as :func:`untorn.testing.event_text` has it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from .answer import Answer, End, Expectation, Parse, Raised, Relation, answer_of
from .case import Case
from .event_text import json_text, plain
from .finding import SENTENCES, Finding, Law
from .torn_parser import TornParserError

__all__ = ["Reproducer", "replay", "reproducer_folder"]

SCHEMA = "untorn-reproducer/1"

FOLDER_VARIABLE = "UNTORN_REPRODUCERS"
"""The environment variable that names the folder for new reproducers."""


def reproducer_folder() -> Path:
    """Return the folder for new reproducers: the variable's, or one in the working directory."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ".untorn-reproducers")


@dataclass(frozen=True, slots=True)
class Reproducer:
    """A finding, and what else one needs to know to find it again."""

    finding: Finding
    seed: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path, name: str) -> Path:
        """Write the file into `folder` and return its path.

        Its name begins with `name` and follows from the case, so that finding the same again
        writes the same file.
        """
        text = self.to_json()
        case = self.finding.case
        mark = hashlib.sha256(repr((case, self.finding.law)).encode()).hexdigest()[:8]
        path = folder / f"{name}-{self.finding.law}-{mark}.json"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
        return path

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Reproducer:
        """Read the file at `path`; a `ValueError` says what is wrong with it."""
        try:
            held = json.loads(Path(path).read_text(encoding="utf-8"))
            schema = held["schema"]
            if schema != SCHEMA:
                raise ValueError(f"its schema is {schema!r}, but this version reads {SCHEMA!r}")
            return cls(_finding(held), held["seed"], held["parameters"])
        except (KeyError, TypeError, ValueError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else error
            raise ValueError(f"{os.fspath(path)} is not a reproducer: {what}") from error

    def to_json(self) -> str:
        """Return the text of the file: ASCII, two spaces of indentation."""
        return json.dumps(self._as_object(), indent=2, allow_nan=False) + "\n"

    def _as_object(self) -> dict[str, Any]:
        found = self.finding
        return {
            "schema": SCHEMA,
            "law": found.law,
            "says": SENTENCES[found.law],
            "wire": _bytes_object(found.case.wire),
            "rest": _bytes_object(found.case.rest),
            "boundaries": list(found.case.boundaries),
            "end": found.case.end,
            "seed": self.seed,
            "parameters": plain(dict(self.parameters)),
            "expected": {"relation": found.expected.relation, **_answer_object(found.expected)},
            "actual": _answer_object(found.actual),
        }


def replay(path: str | os.PathLike[str], parse: Parse, *, backend: str = "asyncio") -> Answer:
    """Serve the case in the file at `path` to `parse` and return its answer.

    An answer that is not the expected one raises `TornParserError`, an `AssertionError`.
    """
    __tracebackhide__ = True  # pytest then points at the caller's line, not at ours
    found = Reproducer.read(path).finding
    case = found.case
    actual = answer_of(parse, case.chunks, end=case.end, backend=backend)
    if not found.expected.allows(actual):
        raise TornParserError(Finding(found.law, case, found.expected, actual), Path(path))
    return actual


def _bytes_object(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode("ascii"), "text": repr(data)[2:-1]}


def _answer_object(answer: Answer | Expectation) -> dict[str, Any]:
    raised = asdict(answer.raised) if isinstance(answer.raised, Raised) else answer.raised
    return {"events": [json.loads(event) for event in answer.events], "raised": raised}


def _finding(held: Mapping[str, Any]) -> Finding:
    wire, rest = (base64.b64decode(held[name]["base64"]) for name in ("wire", "rest"))
    case = Case(wire, rest, tuple(held["boundaries"]), _one_of(held, "end", End))
    actual = Answer(_event_texts(held["actual"]["events"]), _raised(held["actual"]["raised"]))
    return Finding(_one_of(held, "law", Law), case, _expectation(held["expected"]), actual)


def _expectation(held: Mapping[str, Any]) -> Expectation:
    raised = held["raised"]
    return Expectation(
        _event_texts(held["events"]),
        _one_of(held, "relation", Relation),
        "anything" if raised == "anything" else _raised(raised),
    )


def _one_of(held: Mapping[str, Any], name: str, known: Any) -> Any:
    value = held[name]
    if value not in get_args(known):
        raise ValueError(f"its {name} is {value!r}, not one of {', '.join(get_args(known))}")
    return value


def _event_texts(events: Iterable[Any]) -> tuple[str, ...]:
    return tuple(json_text(event) for event in events)


def _raised(held: Mapping[str, str] | None) -> Raised | None:
    return None if held is None else Raised(held["type"], held["message"])
