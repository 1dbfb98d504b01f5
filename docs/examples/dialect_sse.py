from untorn import parse
from untorn.dialects import Sse

WIRE = b"""\
retry: 2000

id: 1
event: tick
data: two lines
data: of data

: a comment makes no event

id: 2
event: bye
data:

"""

stream = parse([WIRE], Sse(complete_when="bye"))
for event in stream:
    print(event)
print(stream.outcome)

print("No completion is named:")
stream = parse([WIRE], Sse())
print(len(list(stream.events())), "events,", stream.outcome)

print("Cut inside the last event:")
stream = parse([WIRE[:-1]], Sse(eof="completes"))
print(len(list(stream.events())), "event,", stream.outcome)
