from untorn import Completed, Failed, parse
from untorn.dialects import LangGraph

WIRE = b"""\
id: 1
event: metadata
data: {"run_id": "r1", "attempt": 1}

id: 2
event: messages
data: [{"id": "m", "type": "AIMessageChunk", "content": "It "}, {"langgraph_node": "agent"}]

id: 3
event: messages
data: [{"id": "m", "type": "AIMessageChunk", "content": "rains."}, {"langgraph_node": "agent"}]

id: 4
event: updates|research:6e5c
data: {"agent": {"done": true}}

id: 5
event: values
data: {"weather": "rain"}

"""
END = b"event: end\ndata:\n\n"
ERROR = b"""\
event: error
data: {"error": "ValueError", "message": "no such city"}

"""

stream = parse([WIRE + END], LangGraph())
for event in stream:
    print(event)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, repr(stream.value.text), stream.value.extra)

stream = parse([WIRE], LangGraph())
list(stream.events())
print(type(stream.outcome).__name__)

stream = parse([WIRE], LangGraph(eof="completes"))
list(stream)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker)

stream = parse([WIRE + ERROR], LangGraph())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)
