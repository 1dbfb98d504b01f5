from untorn import Completed, Failed, Interrupted, parse
from untorn.dialects import Mcp

BEGINNING = b"""\
id: 1
retry: 250
data:

id: 2
data: {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}

"""
RESULT = b"""\
id: 3
data: {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "rain"}]}}

"""
ERROR = b"""\
id: 3
data: {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "Unknown tool"}}

"""

stream = parse([BEGINNING + RESULT], Mcp(request_id=7))
for event in stream:
    print(event)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, repr(stream.outcome.value.text))

stream = parse([BEGINNING + ERROR], Mcp(request_id=7))
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)

stream = parse([BEGINNING + RESULT[:-1]], Mcp(request_id=7))
list(stream.events())
assert isinstance(stream.outcome, Interrupted)
state = stream.outcome.partial
print("Interrupted:", state, "resumable:", state.resumable)
