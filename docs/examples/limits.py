from untorn import Failed, LimitExceeded, Limits, parse
from untorn.dialects import TextSse

wire = b"data: short\n\ndata: " + b"long " * 100 + b"\n\n"

stream = parse([wire], TextSse(), limits=Limits(frame_bytes=100))
print(list(stream.events()))

outcome = stream.outcome
assert isinstance(outcome, Failed)
assert isinstance(outcome.error, LimitExceeded)
print(outcome.error.limit, outcome.error.value, outcome.error.offset)
print(outcome.error)
