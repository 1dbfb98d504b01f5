from untorn import parse
from untorn.dialects import TextSse

WIRE = b"""\
data: Once

data:  upon
data: a time

data: [DONE]

"""

stream = parse([WIRE], TextSse(sentinel="[DONE]"))
for event in stream:
    print(event)
print(stream.outcome)

print("Cut before the sentinel:")
stream = parse([WIRE[:-2]], TextSse(sentinel="[DONE]"))
list(stream.events())
print(stream.outcome)
