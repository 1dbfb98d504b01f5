from typing import Any

from untorn import Failed, parse
from untorn.dialects import JsonSse

WIRE = b"""\
id: 7
data: {"done": 1, "of": 2}

id: 8
data: {"done": 2, "of": 2}

"""


def all_done(progress: Any) -> bool:
    return bool(progress["done"] == progress["of"])


stream = parse([WIRE], JsonSse(complete_when=all_done))
for event in stream:
    print(event)
print(stream.outcome)

print("What is no JSON fails:")
stream = parse([b"data: {oops\n\n"], JsonSse())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print(stream.outcome.error.code, "at byte", stream.outcome.error.offset)
