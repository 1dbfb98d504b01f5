"""Bedrock: Converse and its metadata behind the end, and other wires inside InvokeModel."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from untorn import (
    Boundary,
    Cause,
    Completed,
    Failed,
    Finish,
    Interrupted,
    InvalidJson,
    Limits,
    Other,
    ProtocolViolation,
    ReasoningDelta,
    ServiceError,
    TextDelta,
    ToolCallDelta,
    ToolCallDone,
    UsageUpdate,
    parse,
)
from untorn.dialects import (
    AnthropicMessages,
    Bedrock,
    Gemini,
    JsonLines,
    JsonSse,
    Mcp,
    OllamaChat,
    Sse,
    StrictSse,
    TextSse,
    TitanText,
)
from untorn.retext import StopAt

from .captures import (
    Capture,
    assert_as_recorded,
    assert_cuts_do_not_matter,
    captures,
    message_of,
    read,
)
from .fuzz import assert_no_internal_error, assert_prefixes_are_torn, mangled

CAPTURES = captures("aws-eventstream")
CONVERSE = Bedrock()
TITAN = Bedrock(inner=TitanText())


def frame(payload: bytes, **headers: str) -> bytes:
    """Return one message; `event_type` is the header `:event-type`."""
    head = b""
    for key, said in headers.items():
        name = b":" + key.replace("_", "-").encode()
        head += bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(said)) + said.encode()
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return body + struct.pack(">I", zlib.crc32(body))


def event(type: str, payload: Any) -> bytes:
    data = json.dumps(payload).encode()
    return frame(data, event_type=type, content_type="application/json", message_type="event")


def chunk(payload: Any) -> bytes:
    data = json.dumps(payload).encode()
    return event("chunk", {"bytes": base64.b64encode(data).decode(), "p": "abc"})


def delta(index: int, **said: Any) -> tuple[str, Any]:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": said, "p": "abcdef"}


def stop(index: int) -> tuple[str, Any]:
    return "contentBlockStop", {"contentBlockIndex": index}


TOOL = {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}}
END = ("messageStop", {"stopReason": "tool_use"})
METADATA = ("metadata", {"usage": {"totalTokens": 9}, "metrics": {"latencyMs": 1}})
EVERYTHING: list[tuple[str, Any]] = [
    ("messageStart", {"role": "assistant", "p": "ab"}),
    delta(0, reasoningContent={"text": "hm"}),
    delta(0, reasoningContent={"signature": "sig"}),
    stop(0),
    delta(1, text="Hi"),
    delta(1, citation={"title": "t"}),
    stop(1),
    ("contentBlockStart", TOOL),
    delta(2, toolUse={"input": '{"a"'}),
    delta(2, toolUse={"input": ": 1}"}),
    stop(2),
    ("newEvent", {"x": 1}),
    END,
    METADATA,
]


def wire_of(events: Iterable[tuple[str, Any]]) -> bytes:
    return b"".join(event(*each) for each in events)


WIRE = wire_of(EVERYTHING)
STOPPED = len(WIRE) - len(event(*METADATA))


def dialect_of(capture: Capture) -> Bedrock:
    return TITAN if "titan" in capture.file else CONVERSE


@pytest.mark.parametrize("capture", CAPTURES)
def test_it_reads_as_recorded(capture: Capture) -> None:
    """Outcome, marker, texts, usage and finish reason are those of the index."""
    events, outcome = read([capture.wire], dialect_of(capture))
    expected = capture.expected
    if "titan" in capture.file:  # the index does not read Titan's counts, which are there
        expected = {
            **expected,
            "usage": {"inputTextTokenCount": 28, "totalOutputTextTokenCount": 188},
        }
    assert_as_recorded(outcome, replace(capture, expected=expected))
    assert isinstance(events[-1], Finish)


@pytest.mark.parametrize("capture", CAPTURES)
def test_cuts_do_not_matter(capture: Capture) -> None:
    """Events and outcome are the same however the bytes are cut."""
    assert_cuts_do_not_matter(capture.wire, dialect_of(capture))


def assert_torn(wire: bytes, dialect: Bedrock, complete_at: set[int], step: int = 1) -> None:
    """Check prefixes: Completed at these lengths only; its events begin the whole's."""
    whole, _ = read([wire], dialect)
    for length in sorted({*range(0, len(wire), step), *complete_at}):
        events, early = read([wire[:length]], dialect)
        assert isinstance(early, Completed) is (length in complete_at), length
        told = events[:-1] if length in complete_at else events
        assert told == whole[: len(told)], length
        assert not isinstance(early, Failed)


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_prefix_is_torn(capture: Capture) -> None:
    """No prefix is Completed but the one that ends between `messageStop` and what follows it."""
    if "titan" in capture.file:
        assert_prefixes_are_torn(capture.wire, TITAN, iter(range(0, len(capture.wire), 3)))
        return
    (last,) = struct.unpack_from(">I", capture.wire, capture.wire.rindex(b":event-type") - 13)
    # Every prefix of a stream with all kinds of events is tried below; of these, every third.
    assert_torn(capture.wire, CONVERSE, {len(capture.wire) - last}, 3)


def test_the_end_and_what_follows_it() -> None:
    """Complete at `metadata`, or at a clean end before it; torn inside of it, and on a reset."""
    assert_torn(WIRE, CONVERSE, {STOPPED})
    assert isinstance(read([event(*METADATA)], CONVERSE)[1], Interrupted)
    events, outcome = read([WIRE[:STOPPED]], CONVERSE)
    assert isinstance(outcome, Completed) and outcome.value.usage is None
    assert events[-1] == Finish("tool_use", "tool")
    _, outcome = read([WIRE[: STOPPED + 20]], CONVERSE)
    assert isinstance(outcome, Interrupted) and outcome.torn is Boundary.FRAME
    assert outcome.partial.finish_reason == "tool_use"

    def broken() -> Any:
        yield WIRE[:STOPPED]
        raise ConnectionResetError

    _, outcome = read(broken(), CONVERSE)
    assert isinstance(outcome, Interrupted) and outcome.cause is Cause.TRANSPORT


def test_every_event_in_order() -> None:
    """Each block's pieces as what they are; padding is none of them."""
    events, outcome = read([WIRE], CONVERSE)
    message = message_of(outcome)
    assert events == [
        Other("messageStart", {"role": "assistant"}),
        ReasoningDelta("hm"), Other("reasoningContent", {"signature": "sig"}),
        TextDelta("Hi"), Other("citation", {"title": "t"}),
        ToolCallDelta(0, "t", "f", ""), ToolCallDelta(0, "t", "f", '{"a"'),
        ToolCallDelta(0, "t", "f", ": 1}"), ToolCallDone(0, message.tool_calls[0]),
        Other("newEvent", {"x": 1}), Other("messageStop", {"stopReason": "tool_use"}),
        Other("metrics", {"latencyMs": 1}), UsageUpdate({"totalTokens": 9}),
        Finish("tool_use", "tool"),
    ]  # fmt: skip
    assert message.tool_calls[0].valid
    assert message.extra == {
        "reasoning": [{"contentBlockIndex": 0, "signature": "sig"}],
        "citations": [{"title": "t"}], "metrics": {"latencyMs": 1},
    }  # fmt: skip


@pytest.mark.parametrize("last", [len(WIRE), STOPPED])
def test_the_last_event_completes(last: int) -> None:
    """Whoever stops at `Finish` has a completed stream."""
    stream = parse([WIRE[:last]], CONVERSE)
    for each in stream:
        if isinstance(each, Finish):
            break
        assert stream.outcome is None
    assert isinstance(stream.outcome, Completed) and stream.outcome.marker == "messageStop"


@pytest.mark.parametrize(
    ("reason", "disposition"),
    [
        ("end_turn", "complete"), ("max_tokens", "truncated"), ("content_filtered", "filtered"),
        ("guardrail_intervened", "filtered"), ("new", "unknown"),
    ],
)  # fmt: skip
def test_dispositions(reason: str, disposition: str) -> None:
    """What the answer is good for."""
    events, _ = read([event("messageStop", {"stopReason": reason})], CONVERSE)
    assert events[-1] == Finish(reason, disposition)


def test_what_the_end_says_beside_its_reason_is_kept() -> None:
    """Fields of the model's own; and a `metadata` without a usage is the last event, too."""
    said = {"stopReason": "end_turn", "additionalModelResponseFields": {"x": 1}}
    events, outcome = read([wire_of([("messageStop", said), ("metadata", {})])], CONVERSE)
    assert events == [Other("messageStop", said), Finish("end_turn", "complete")]
    assert isinstance(outcome, Completed) and outcome.value.usage is None
    assert outcome.value.extra == {"additionalModelResponseFields": {"x": 1}}


def test_a_call_is_not_finished_before_its_block() -> None:
    """One that the limit cut stays open, and is no call to run; a closed one does not grow."""
    opened = [("contentBlockStart", TOOL), delta(2, toolUse={"input": '{"a"'})]
    _, outcome = read([wire_of([*opened, ("messageStop", {"stopReason": "max_tokens"})])], CONVERSE)
    (call,) = message_of(outcome).tool_calls
    assert isinstance(outcome, Completed) and not call.finished and not call.valid
    _, outcome = read([wire_of([*opened, stop(2), opened[1]])], CONVERSE)
    assert isinstance(outcome, Failed) and outcome.error.code == "protocol"


THROTTLED = frame(
    b'{"message": "slow down"}', message_type="exception", exception_type="throttlingException",
    content_type="application/json",
)  # fmt: skip


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (THROTTLED, ("throttlingException", "slow down")),
        (frame(b"oops", message_type="exception", exception_type="x"), ("x", "oops")),
        (frame(b"", message_type="error", error_code="c", error_message="no"), ("c", "no")),
    ],
)
@pytest.mark.parametrize("dialect", [CONVERSE, TITAN])
def test_an_exception_or_error_fails(last: bytes, said: tuple[str, str], dialect: Bedrock) -> None:
    """In its own words, whatever the stream carries; also behind the end of the answer."""
    before = event(*END) if dialect is CONVERSE else chunk({"outputText": "a"})
    _, outcome = read([before, last], dialect)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.type, outcome.error.message) == said
    assert outcome.error.offset == len(before)


def test_a_reason_that_is_a_failure() -> None:
    """It fails at once, its metadata unread."""
    last = event("messageStop", {"stopReason": "malformed_tool_use"})
    _, outcome = read([event(*delta(0, text="a")), last, event(*METADATA)], CONVERSE)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ServiceError)
    assert (outcome.error.type, outcome.partial.text) == ("malformed_tool_use", "a")


def test_a_damaged_message_fails() -> None:
    """Behind the events that came before it, also where the end of the answer is among them."""
    wire = bytearray(WIRE)
    wire[-1] ^= 1
    events, outcome = read([bytes(wire)], CONVERSE)
    assert isinstance(outcome, Failed) and isinstance(outcome.error, ProtocolViolation)
    assert outcome.error.offset == STOPPED
    assert events == read([WIRE], CONVERSE)[0][: len(events)]


@pytest.mark.parametrize(
    ("wire", "fault"),
    [
        (event("messageStart", [1]), ProtocolViolation),
        (wire_of([delta(0, toolUse={"input": "{}"})]), ProtocolViolation),
        (frame(b"{", content_type="application/json", event_type="x"), InvalidJson),
        (frame(b"\xff", content_type="application/json", event_type="x"), ProtocolViolation),
        (chunk({}), ProtocolViolation),
    ],
)
def test_payloads_that_fail(wire: bytes, fault: type[Exception]) -> None:
    """No object, no JSON, no UTF-8, a piece of a call that has no beginning, a chunk of a model."""
    _, outcome = read([wire], CONVERSE)
    assert isinstance(outcome, Failed) and type(outcome.error) is fault


def test_a_payload_of_another_type_passes_through() -> None:
    """It is not ours to read."""
    wire = frame(b"\x01", event_type="audio", content_type="application/octet-stream")
    assert read([wire], CONVERSE)[0] == [Other("audio", b"\x01")]


def test_a_block_of_a_new_kind_passes_through() -> None:
    """Its start as its delta: neither is guessed at, nor taken for text."""
    begun = {"contentBlockIndex": 0, "start": {"image": {"format": "png"}}}
    grown = {"contentBlockIndex": 0, "delta": {"image": {"bytes": "AA"}}}
    wire = wire_of([("contentBlockStart", begun), ("contentBlockDelta", grown)])
    events, outcome = read([wire], CONVERSE)
    assert events == [Other("contentBlockStart", begun), Other("image", grown)]
    assert message_of(outcome).text == ""


def test_what_keeps_alive_is_for_the_inner_dialect_to_say() -> None:
    """A ping is one to Anthropic's Messages, and an event like any other to Titan."""
    for inner, keeps in ((AnthropicMessages(), True), (TitanText(), False)):
        dialect = Bedrock(inner=inner)
        assert dialect.reducer(dialect.limits).is_keepalive(Other("ping", {})) is keeps


def test_chunks_are_read_by_the_inner_dialect() -> None:
    """Its events, its marker, its faults; a chunk that is no base64, no text, no object fails."""
    titan = [{"outputText": "a", "inputTextTokenCount": 1}, {"completionReason": "LENGTH"}]
    events, outcome = read([*map(chunk, titan)], TITAN)
    usage = {"inputTextTokenCount": 1}
    assert events == [TextDelta("a"), UsageUpdate(usage), Finish("LENGTH", "truncated")]
    assert isinstance(outcome, Completed) and outcome.marker == "completionReason"
    assert (outcome.value.text, outcome.value.usage) == ("a", usage)
    assert isinstance(read([chunk({"outputText": "a"})], TITAN)[1], Interrupted)
    for payload in ({"bytes": "?"}, {"bytes": "/w=="}, {"bytes": "WzFd"}, {"bytes": 1}, {}):
        _, outcome = read([event("chunk", payload)], TITAN)
        assert isinstance(outcome, Failed) and outcome.error.code in ("protocol", "invalid-json")
    assert read([event("other", {"x": 1})], TITAN)[0] == [Other("other", {"x": 1})]


def test_an_inner_dialect_may_complete_at_the_end() -> None:
    """As it would by itself."""
    part = {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]}
    events, outcome = read([chunk(part)], Bedrock(inner=Gemini()))
    assert isinstance(outcome, Completed) and outcome.marker == "finishReason"
    assert events == [TextDelta("a"), Finish("STOP", "complete")]


@pytest.mark.parametrize(
    "inner", [Sse(), JsonSse(), TextSse(), StrictSse(), OllamaChat(), JsonLines(), Mcp(), CONVERSE]
)
def test_an_inner_dialect_that_cannot_read_chunks_is_refused(inner: Any) -> None:
    """One of lines, of frames of its own, or whose value is no message."""
    with pytest.raises(TypeError, match=f"{type(inner).__name__} does not read Server-Sent Events"):
        Bedrock(inner)


def test_what_is_no_dialect_is_refused_as_an_inner_one() -> None:
    """A class, above all; one that is wrapped is one."""
    with pytest.raises(TypeError, match=r"write AnthropicMessages\(\)"):
        Bedrock(AnthropicMessages)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="5 is none"):
        Bedrock(5)  # type: ignore[arg-type]
    wire = chunk({"outputText": "a#b", "completionReason": "FINISH"})
    assert read([wire], Bedrock(StopAt(["#"])(TitanText())))[1].unwrap().text == "a"


def test_limits() -> None:
    """A message may be as long as botocore takes; the value is bounded as any other."""
    assert CONVERSE.limits.frame_bytes > 24 * 1024 * 1024
    _, outcome = read([WIRE], CONVERSE, Limits(frame_bytes=100))
    assert isinstance(outcome, Failed) and outcome.error.code == "frame-limit"
    _, outcome = read([wire_of([delta(0, text="a" * 99)] * 3)], CONVERSE, Limits(value_bytes=200))
    assert isinstance(outcome, Failed) and outcome.error.code == "value-limit"


FIELDS = {"type", "payload"}


@given(mangled([{"type": type, "payload": payload} for type, payload in EVERYTHING]))
def test_no_payload_makes_an_internal_error(events: list[Any]) -> None:
    """Whatever stands in a field, the stream ends in one of our ways."""
    whole = [each for each in events if isinstance(each, dict) and each.keys() == FIELDS]
    known = [type for type, _ in EVERYTHING]
    types = [each["type"] if each["type"] in known else "x" for each in whole]
    wire = b"".join(map(event, types, [each["payload"] for each in whole]))
    assert_no_internal_error(wire, CONVERSE)


@given(mangled([{"outputText": "a", "index": 0}, {"completionReason": "FINISH"}]))
def test_no_chunk_makes_an_internal_error(payloads: list[Any]) -> None:
    """The same for what is inside of a chunk."""
    assert_no_internal_error(b"".join(map(chunk, payloads)), TITAN)
