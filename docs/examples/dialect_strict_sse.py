from untorn import Failed, parse
from untorn.dialects import StrictSse

WIRE = b"""\
id: a-1
data: {"type": "text", "text": "Hi"}

: comments are allowed

id: a-2
data: {"type": "finish"}

"""

stream = parse([WIRE], StrictSse())
for event in stream:
    print(event)
print(stream.outcome)

for wrong in (
    b'data: {"type": "text"}\n\n',
    b"event: text\n",
    b"id: a-1\ndata: NaN\n\n",
    b'id: a-1\ndata: {"type": "error", "message": "overloaded"}\n\n',
    b'id: a-1\ndata: "' + b"x" * 1024 + b'"\n\n',
):
    stream = parse([wrong], StrictSse())
    list(stream.events())
    assert isinstance(stream.outcome, Failed)
    print(stream.outcome.error.code, "at byte", stream.outcome.error.offset)
