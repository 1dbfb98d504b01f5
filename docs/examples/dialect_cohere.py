from untorn import Completed, Failed, parse
from untorn.dialects import CohereChat

WIRE = rb"""
event: message-start
data: {"type": "message-start", "id": "c1"}

event: tool-plan-delta
data: {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I will look."}}}

event: tool-call-start
data: {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls":
data:  {"id": "t1", "function": {"name": "weather", "arguments": ""}}}}}

event: tool-call-delta
data: {"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls":
data:  {"function": {"arguments": "{\"city\": \"Oslo\"}"}}}}}

event: tool-call-end
data: {"type": "tool-call-end", "index": 0}

"""
END = b"""\
event: message-end
data: {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": 9}}}

"""
ERROR = b"""\
event: message-end
data: {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "Model is gone"}}

"""

stream = parse([WIRE + END], CohereChat())
for event in stream:
    print(event)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, stream.value.extra)

stream = parse([WIRE + ERROR], CohereChat())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)

stream = parse([WIRE + b"data: [DONE]\n\n"], CohereChat())
list(stream.events())
print(type(stream.outcome).__name__)
