from untorn import Completed, Failed, parse
from untorn.dialects import AnthropicMessages

WIRE = rb"""
event: message_start
data: {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 9}}}

event: content_block_start
data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "See:"}}

event: content_block_stop
data: {"type": "content_block_stop", "index": 0}

event: content_block_start
data: {"type": "content_block_start", "index": 1,
data:  "content_block": {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 1,
data:  "delta": {"type": "input_json_delta", "partial_json": "{\"city\": \"Oslo\"}"}}

event: content_block_stop
data: {"type": "content_block_stop", "index": 1}

event: message_delta
data: {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}}

"""
MARKER = b"""\
event: message_stop
data: {"type": "message_stop"}

"""
ERROR = b"""\
event: error
data: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

"""

stream = parse([WIRE + MARKER], AnthropicMessages())
for event in stream:
    print(event)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker)
for block in stream.value.extra["blocks"]:
    print("   ", block)

stream = parse([WIRE + ERROR], AnthropicMessages())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)

stream = parse([WIRE], AnthropicMessages())
list(stream.events())
print(type(stream.outcome).__name__, "with", stream.value.finish_reason)

stream = parse([WIRE], AnthropicMessages(eof="completes"))
list(stream.events())
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker)
