"""Wrong code: each ignore is needed, by mypy and by pyright, or the check fails. Never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import AsyncIterator
from typing import assert_never

import untorn
from untorn import Clocks, Completed, Failed, Interrupted, Limits, Outcome, TextDelta
from untorn.dialects import JsonLines, Sse, TextSse


async def chunks() -> AsyncIterator[bytes]:
    yield b""


def a_case_is_missing(outcome: Outcome[str]) -> str:
    match outcome:
        case Completed(value):
            return value
        case Failed():
            return ""
        case _:
            assert_never(outcome)  # type: ignore[arg-type]


def an_outcome_may_hold_no_value(outcome: Outcome[str]) -> str:
    return outcome.value  # type: ignore[union-attr]


def a_whole_value_is_not_partial(outcome: Completed[str]) -> None:
    outcome.partial  # type: ignore[attr-defined]


def outcomes_do_not_change(outcome: Interrupted[str]) -> None:
    outcome.partial = ""  # type: ignore[misc]


def nor_do_events(event: TextDelta) -> None:
    event.text = ""  # type: ignore[misc]


def there_is_no_outcome_yet() -> Outcome[str]:
    return untorn.parse([b""], TextSse()).outcome  # type: ignore[return-value]


def the_value_is_the_dialects() -> Outcome[str] | None:
    return untorn.parse([b""], JsonLines()).outcome  # type: ignore[return-value]


def a_dialect_is_an_object() -> None:
    untorn.parse([b""], TextSse)  # type: ignore[arg-type]


def text_is_not_bytes() -> None:
    untorn.parse(["data: text"], TextSse())  # type: ignore[list-item]


def what_is_here_already_is_no_stream() -> None:
    untorn.open_stream(b"data: text", TextSse())  # type: ignore[arg-type]


def nor_is_a_function() -> None:
    untorn.open_stream(chunks, TextSse())  # type: ignore[arg-type]


def a_misspelt_choice() -> None:
    Sse(eof="complete")  # type: ignore[arg-type]


def limits_are_named() -> None:
    Limits(1024)  # type: ignore[call-arg]


def clocks_are_seconds() -> None:
    Clocks(idle="5s")  # type: ignore[arg-type]


async def a_stream_is_entered_first() -> None:
    async for _ in untorn.open_stream(chunks(), TextSse()):  # type: ignore[attr-defined]
        pass


async def and_entered_asynchronously() -> None:
    with untorn.open_stream(chunks(), TextSse()):  # type: ignore[attr-defined]
        pass


async def a_policy_is_one_of_three() -> None:
    async with untorn.open_stream(chunks(), TextSse()) as stream:
        untorn.tee(stream, 2, slow="drop")  # type: ignore[arg-type]


def what_is_not_entered_is_not_shared() -> None:
    untorn.broadcast(untorn.open_stream(chunks(), TextSse()))  # type: ignore[arg-type]
