import json
from base64 import b64encode
from struct import pack
from typing import Any
from zlib import crc32

from untorn import Completed, Failed, parse
from untorn.dialects import Bedrock, TitanText


def message(payload: Any, **headers: str) -> bytes:
    """Write a message of the binary wire."""
    written = b""
    for name, value in {"content-type": "application/json", **headers}.items():
        name = ":" + name.replace("_", "-")
        written += pack(">B", len(name)) + name.encode()
        written += pack(">BH", 7, len(value)) + value.encode()
    body = json.dumps(payload).encode()
    prelude = pack(">II", len(written) + len(body) + 16, len(written))
    whole = prelude + pack(">I", crc32(prelude)) + written + body
    return whole + pack(">I", crc32(whole))


def event(kind: str, payload: Any) -> bytes:
    return message(payload, message_type="event", event_type=kind)


TEXT = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hi"}})
STOP = event("messageStop", {"stopReason": "end_turn"})
METADATA = event("metadata", {"usage": {"totalTokens": 9}, "metrics": {"latencyMs": 80}})
THROTTLED = message(
    {"message": "Slow down"}, message_type="exception", exception_type="throttlingException"
)

stream = parse([TEXT + STOP + METADATA], Bedrock())
for each in stream:
    print(each)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, stream.value.extra)

for wire in (TEXT + STOP, TEXT + STOP + METADATA[:-1], TEXT):
    stream = parse([wire], Bedrock())
    list(stream.events())
    print(type(stream.outcome).__name__, stream.value.finish_reason, stream.value.usage)

stream = parse([TEXT + THROTTLED], Bedrock())
list(stream.events())
assert isinstance(stream.outcome, Failed)
assert stream.outcome.error.offset == len(TEXT)
print("Failed:", stream.outcome.error)

print("InvokeModelWithResponseStream:")
titan = {"outputText": "Hi", "completionReason": "FINISH", "totalOutputTextTokenCount": 1}
chunk = event("chunk", {"bytes": b64encode(json.dumps(titan).encode()).decode(), "p": "abc"})
stream = parse([chunk], Bedrock(inner=TitanText()))
for each in stream:
    print(each)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker)
