from untorn import Interrupted, ToolCallDone, parse
from untorn.arguments import ToolArguments, growing_arguments
from untorn.dialects import OpenAIChat

READS = [
    rb"""
data: {"choices": [{"delta": {"tool_calls": [
data:  {"index": 0, "id": "c", "function": {"name": "book", "arguments": ""}}]}}]}

""",
    rb"""
data: {"choices": [{"delta": {"tool_calls": [
data:  {"index": 0, "function": {"arguments": "{\"city\": \"Os"}}]}}]}

""",
    rb"""
data: {"choices": [{"delta": {"tool_calls": [
data:  {"index": 0, "function": {"arguments": "lo\", \"beds\": [1, 2"}}]}}]}

""",
    rb"""
data: {"choices": [{"delta": {"tool_calls": [
data:  {"index": 0, "function": {"arguments": "1]}"}}]}}]}

""",
]
DONE = b"data: [DONE]\n\n"

for event in parse([*READS, DONE], growing_arguments(OpenAIChat())):
    match event:
        case ToolArguments():
            print("so far:", event.value, "closed:", event.closed)
        case ToolCallDone(_, call):
            print("run it:", call.name, call.arguments)

print("Cut before the marker:")
stream = parse(READS, growing_arguments(OpenAIChat()))
*_, last = stream.events()
assert isinstance(last, ToolArguments)
assert isinstance(stream.outcome, Interrupted)
print(last.value, "closed:", last.closed)
print(stream.outcome.partial.tool_calls[0])
