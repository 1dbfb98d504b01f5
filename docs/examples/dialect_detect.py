from untorn import parse
from untorn.dialects import detect

body = b'data: {"type": "message_start", "message": {"id": "msg_1"}}\n\n'
dialect = detect("text/event-stream; charset=utf-8", body)
print(dialect)
stream = parse([body], dialect)
list(stream.events())
print(type(stream.outcome).__name__)

for content_type, first_frame in (
    ("text/event-stream", 'data: {"choices": []}'),
    ("text/event-stream", "event: response.created\ndata: {}"),
    ("text/event-stream", 'data: {"jsonrpc": "2.0", "method": "ping"}'),
    ("text/event-stream", "data: some text"),
    ("application/x-ndjson", '{"model": "m", "done": false}'),
    ("application/json", '{"type": "ADDED", "object": {}}'),
    (None, '{"row": 1}'),
    (None, ": a comment says nothing"),
):
    print(repr(first_frame), "->", type(detect(content_type, first_frame)).__name__)
