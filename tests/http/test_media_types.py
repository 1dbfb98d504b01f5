"""The media types of every dialect: its own, or those of its framer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

import untorn.dialects
from untorn import Dialect, Limits, Reducer
from untorn.arguments import growing_arguments
from untorn.dialects import (
    AnthropicMessages,
    Bedrock,
    JsonLines,
    KubernetesWatch,
    OllamaChat,
    OpenAIChat,
    StrictSse,
)
from untorn.http.media_types import accepts, as_media_types, media_type, media_types_of
from untorn.ndjson import LineFramer
from untorn.retext import StopAt, by_word

SSE = frozenset({"text/event-stream"})
LINES = LineFramer.media_types
EXCEPTIONS = {
    "Bedrock": frozenset({"application/vnd.amazon.eventstream"}),
    "JsonLines": LINES,
    "KubernetesWatch": frozenset({"application/json"}),
    "OllamaChat": LINES,
}
DIALECTS = [
    name
    for name in untorn.dialects.__all__
    if isinstance(found := getattr(untorn.dialects, name), type) and issubclass(found, Dialect)
]


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_has_its_types(name: str) -> None:
    dialect = getattr(untorn.dialects, name)()
    assert media_types_of(dialect) == EXCEPTIONS.get(name, SSE)


def test_lines_have_many_names() -> None:
    """And none of them is that of one answer, or of an error."""
    assert {"application/x-ndjson", "application/jsonl"} < LINES
    assert "application/json" not in LINES


@pytest.mark.parametrize("around", [StopAt(["x"]), by_word, growing_arguments])
@pytest.mark.parametrize("inner", [OpenAIChat(), OllamaChat(), Bedrock(AnthropicMessages())])
def test_dialects_around_another_have_its_types(around: Any, inner: Dialect[Any, Any]) -> None:
    assert media_types_of(around(inner)) == media_types_of(inner)


def test_dialect_around_one_with_types_of_its_own() -> None:
    """They are forwarded, though the framer says something else."""
    assert media_types_of(growing_arguments(Own())) == frozenset({"text/x-own"})  # type: ignore[arg-type]
    assert media_types_of(growing_arguments(KubernetesWatch())) == {"application/json"}  # type: ignore[arg-type]


class Plain(Dialect[str, None]):
    """One that declares nothing, as people wrote them before there was anything to declare."""

    def reducer(self, limits: Limits) -> Reducer[str, None]:
        raise NotImplementedError


class Lined(Plain):
    def framer(self, limits: Limits) -> LineFramer:
        return LineFramer(limits.frame_bytes)


class Own(Lined):
    media_types = frozenset({"Text/X-Own; version=1"})


class OwnFramer(Plain):
    def framer(self, limits: Limits) -> Any:
        return object()


@dataclass(frozen=True, slots=True)
class Given(Plain):
    media_types: frozenset[str] | None = frozenset({"text/given"})


@pytest.mark.parametrize(
    ("dialect", "types"),
    [
        (Plain(), SSE),
        (Lined(), LINES),
        (Own(), {"text/x-own"}),
        (OwnFramer(), {"*/*"}),
        (Given(), {"text/given"}),
        (Given(frozenset({"text/other"})), {"text/other"}),
        (StrictSse(), SSE),
        (JsonLines(eof="completes"), LINES),
    ],
)
def test_dialects_of_users_need_declare_nothing(
    dialect: Dialect[Any, Any], types: Iterable[str]
) -> None:
    """What the framer reads decides; a framer that nobody knows may be served as anything."""
    assert media_types_of(dialect) == types


@pytest.mark.parametrize(
    ("accepted", "kind", "fits"),
    [
        ("text/event-stream", "text/event-stream", True),
        ("text/event-stream", "text/event-stream2", False),
        ("text/event-stream", "text", False),
        ("text/*", "text/plain", True),
        ("text/*", "textual/plain", False),
        ("*/*", "anything", True),
    ],
)
def test_ranges(accepted: str, kind: str, fits: bool) -> None:
    assert accepts(as_media_types([accepted]), kind) is fits


def test_no_type_at_all_accepts_nothing() -> None:
    assert not accepts(frozenset(), "text/plain")


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ("text/plain", TypeError, r"one string; write media_types=\['text/plain'\]"),
        (b"text/plain", TypeError, "give strings"),
        (5, TypeError, "give strings"),
        ([None], TypeError, "give strings"),
        (["text/plain", 5], TypeError, "give strings"),
        ([], ValueError, r"names no type; write \['\*/\*'\]"),
        ([""], ValueError, "names no type"),
        (["; charset=utf-8"], ValueError, "names no type"),
    ],
)
def test_what_names_no_types_is_refused(wrong: Any, error: Any, sentence: str) -> None:
    """Else everything that comes would be refused, and nobody would know why."""
    with pytest.raises(error, match=sentence):
        as_media_types(wrong)


def test_types_may_come_from_a_generator() -> None:
    assert as_media_types(kind for kind in ["Text/A;b=c", "", "text/a"]) == {"text/a"}


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        (None, None),
        (" , ", None),
        ("Text/Event-Stream ; charset=UTF-8", "text/event-stream"),
        ("text/event-stream, text/event-stream", "text/event-stream"),
        ("text/event-stream,", "text/event-stream"),
        ("text/html, text/event-stream;charset=utf-8", "text/event-stream"),
        ("text/event-stream, nonsense", "text/event-stream"),
        ("text/event-stream, */*", "text/event-stream"),
        ('text/event-stream;a="b, text/html"', "text/event-stream"),
        ('text/event-stream;a="b\\", text/html', "text/event-stream"),
        ("nonsense, more", "nonsense"),
        (";charset=utf-8", None),
    ],
)
def test_last_valid_type_of_a_header_counts(header: str | None, kind: str | None) -> None:
    """Fetch Standard, "extract a MIME type"; commas inside quotes part nothing."""
    assert media_type(header) == kind
