from untorn import Completed, Failed, parse
from untorn.dialects import Gemini

WIRE = b"""\
data: {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": true}]}}]}

data: {"candidates": [{"content": {"parts": [{"text": "See:"}]}}], "modelVersion": "g"}

"""
VERTEX_CALL = b"""\
data: {"candidates": [{"content": {"parts": [
data:  {"functionCall": {"name": "weather", "willContinue": true}}]}}]}

data: {"candidates": [{"content": {"parts": [{"functionCall": {"willContinue": true,
data:  "partialArgs": [{"jsonPath": "$.city", "stringValue": "Os", "willContinue": true}]}}]}}]}

data: {"candidates": [{"content": {"parts": [{"functionCall": {"willContinue": true,
data:  "partialArgs": [{"jsonPath": "$.city", "stringValue": "lo"}]}}]}}]}

data: {"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}

"""
STOP = b"""\
data: {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"totalTokenCount": 12}}

"""
BARE_ERROR = b"""\
{
  "error": {
    "code": 503,
    "message": "Overloaded",
    "status": "UNAVAILABLE"
  }
}
"""

stream = parse([WIRE + VERTEX_CALL + STOP], Gemini())
for event in stream:
    print(event)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, stream.value.extra)

stream = parse([WIRE + STOP + BARE_ERROR], Gemini())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)

stream = parse([WIRE], Gemini())
list(stream.events())
print(type(stream.outcome).__name__)

stream = parse([b'data: {"promptFeedback": {"blockReason": "SAFETY"}}\n\n'], Gemini())
list(stream)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, stream.value.disposition)
