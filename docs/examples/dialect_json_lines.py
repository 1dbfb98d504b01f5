from untorn import parse
from untorn.dialects import JsonLines

WIRE = b"""\
{"row": 1}

{"row": 2}
[3]"""

for dialect in (
    JsonLines(eof="completes"),
    JsonLines(eof="completes", tail="accepts"),
    JsonLines(complete_when=lambda value: value == {"row": 2}),
):
    print(f"eof={dialect.eof!r}, tail={dialect.tail!r}")
    stream = parse([WIRE], dialect)
    for event in stream.events():
        print("   ", event)
    print("   ", stream.outcome)
