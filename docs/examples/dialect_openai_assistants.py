from untorn import Completed, Failed, parse
from untorn.dialects import OpenAIAssistants

WIRE = rb"""
event: thread.run.created
data: {"id": "run_1", "status": "queued"}

event: thread.message.delta
data: {"id": "msg_1", "delta": {"content": [
data:  {"index": 0, "type": "text", "text": {"value": "See:"}}]}}

event: thread.run.step.delta
data: {"id": "step_1", "delta": {"step_details": {"type": "tool_calls", "tool_calls": [
data:  {"index": 0, "id": "call_1", "type": "function",
data:   "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]}}}

"""
ACTION = rb"""
event: thread.run.requires_action
data: {"id": "run_1", "required_action": {"submit_tool_outputs": {"tool_calls": [
data:  {"id": "call_1", "type": "function",
data:   "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]}}}

"""
DONE = b"event: done\ndata: [DONE]\n\n"
EXPIRED = b"""\
event: thread.run.expired
data: {"id": "run_1", "last_error": null}

"""

stream = parse([WIRE + ACTION + DONE], OpenAIAssistants())
for event in stream:
    print(event)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, stream.value.extra["run"]["id"])

stream = parse([WIRE + EXPIRED + DONE], OpenAIAssistants())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)

stream = parse([WIRE + ACTION], OpenAIAssistants())
list(stream.events())
print(type(stream.outcome).__name__, "with", stream.value.finish_reason)
