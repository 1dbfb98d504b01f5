from untorn import Completed, Failed, parse
from untorn.dialects import OpenAIResponses

WIRE = b"""\
event: response.created
data: {"type": "response.created", "sequence_number": 0, "response": {"id": "r1"}}

event: response.output_text.delta
data: {"type": "response.output_text.delta", "sequence_number": 1, "output_index": 0,
data:  "content_index": 0, "delta": "One "}

event: response.output_text.delta
data: {"type": "response.output_text.delta", "sequence_number": 2, "output_index": 0,
data:  "content_index": 0, "delta": "moment."}

event: response.output_item.added
data: {"type": "response.output_item.added", "sequence_number": 3, "output_index": 1,
data:  "item": {"type": "function_call", "call_id": "call_1", "name": "clock"}}

event: response.function_call_arguments.done
data: {"type": "response.function_call_arguments.done", "sequence_number": 4,
data:  "output_index": 1, "arguments": "{}"}

"""
MARKER = b"""\
event: response.completed
data: {"type": "response.completed", "sequence_number": 5,
data:  "response": {"id": "r1", "status": "completed", "output": [], "usage": {"total_tokens": 12}}}

"""
INCOMPLETE = b"""\
data: {"type": "response.incomplete", "response": {"id": "r1", "status": "incomplete",
data:  "incomplete_details": {"reason": "max_output_tokens"}}}

"""
ERROR = b"""\
data: {"type": "error", "error": {"type": "server_error", "code": "busy", "message": "Try later"}}

"""

stream = parse([WIRE + MARKER], OpenAIResponses())
for event in stream:
    print(event)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, stream.value.extra["response"])

stream = parse([WIRE + INCOMPLETE], OpenAIResponses())
list(stream)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, stream.value.finish_reason, stream.value.disposition)

stream = parse([WIRE + ERROR], OpenAIResponses())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)

stream = parse([WIRE], OpenAIResponses())
list(stream.events())
print(type(stream.outcome).__name__, "behind", stream.value.extra["sequence_number"])
