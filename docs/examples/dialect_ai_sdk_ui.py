from untorn import Completed, Failed, Interrupted, parse
from untorn.dialects import AiSdkUi

WIRE = b"""\
data: {"type": "start", "messageId": "m1"}

data: {"type": "start-step"}

data: {"type": "text-start", "id": "t"}

data: {"type": "text-delta", "id": "t", "delta": "Wrong"}

data: {"type": "reset-step"}

data: {"type": "text-start", "id": "t"}

data: {"type": "text-delta", "id": "t", "delta": "Right"}

data: {"type": "text-end", "id": "t"}

data: {"type": "data-weather", "id": "w", "data": {"oslo": "rain"}}

data: {"type": "finish-step"}

"""
FINISH = b'data: {"type": "finish", "finishReason": "stop"}\n\n'
ERROR = b'data: {"type": "error", "errorText": "Overloaded"}\n\n'
ABORT = b'data: {"type": "abort"}\n\n'
DONE = b"data: [DONE]\n\n"

stream = parse([WIRE + FINISH + DONE], AiSdkUi())
for event in stream:
    print(type(event).__name__, getattr(event, "text", ""), getattr(event, "name", ""))
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, repr(stream.value.text), stream.value.extra)

for end in (ERROR + FINISH + DONE, ABORT + DONE, DONE):
    stream = parse([WIRE + end], AiSdkUi())
    list(stream.events())
    if isinstance(stream.outcome, Failed):
        print("Failed:", stream.outcome.error)
    if isinstance(stream.outcome, Interrupted):
        print("Interrupted:", stream.outcome.cause.value)
