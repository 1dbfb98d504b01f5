"""User code that must type-check: outcomes under `match`. Never run."""

from typing import NoReturn, assert_never, assert_type

from untorn import (
    Boundary,
    Cause,
    ChatEvent,
    Completed,
    Failed,
    Finish,
    Interrupted,
    LimitExceeded,
    Other,
    Outcome,
    Position,
    ReasoningDelta,
    RefusalDelta,
    ServiceError,
    Snapshot,
    StreamError,
    StreamFailed,
    StreamFault,
    StreamInterrupted,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
)


def three_cases_are_all(outcome: Outcome[str]) -> str:
    match outcome:
        case Completed(value, marker, position):
            assert_type(value, str)
            assert_type(marker, str)
            assert_type(position, Position)
            return value
        case Failed(error, partial):
            assert_type(error, StreamFault)
            return partial
        case Interrupted(cause, torn, broken, partial):
            assert_type(cause, Cause)
            assert_type(torn, Boundary)
            assert_type(broken, BaseException | None)
            return partial
        case _:
            assert_never(outcome)


def what_all_three_have(outcome: Outcome[int]) -> None:
    assert_type(outcome.position, Position)
    assert_type(outcome.retry_safe, bool)
    assert_type(outcome.unwrap(), int)


def a_bad_end_unwraps_to_an_exception(outcome: Failed[int] | Interrupted[int]) -> NoReturn:
    outcome.unwrap()


def exceptions_carry_the_outcome(error: StreamError) -> None:
    match error:
        case StreamFailed(outcome=failed):
            assert_type(failed.error, StreamFault)
        case StreamInterrupted(outcome=interrupted):
            assert_type(interrupted.cause, Cause)
        case _:
            pass


def faults_are_told_apart(fault: StreamFault) -> str | int | None:
    match fault:
        case LimitExceeded(limit=limit):
            return limit
        case ServiceError(service_code=code):
            return code
        case _:
            return fault.code


def a_chat_event_is_one_of_nine(event: ChatEvent) -> str:
    match event:
        case TextDelta(text) | ReasoningDelta(text) | RefusalDelta(text):
            return text
        case ToolCallDelta(_, id, name, arguments):
            assert_type(id, str | None)
            assert_type(name, str | None)
            return arguments
        case ToolCallDone(_, call):
            assert_type(call, ToolCall)
            return call.arguments
        case Finish(reason, disposition):
            return reason or disposition
        case Other(name):
            return name
        case UsageUpdate() | Snapshot():
            return ""
        case _:
            assert_never(event)
