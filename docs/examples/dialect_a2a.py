from untorn import Completed, Failed, Interrupted, parse
from untorn.dialects import A2A

WIRE = b"""\
data: {"jsonrpc": "2.0", "id": 1, "result": {"task": {"id": "t", "contextId": "c",
data:  "status": {"state": "TASK_STATE_WORKING"}}}}

data: {"jsonrpc": "2.0", "id": 1, "result": {"artifactUpdate": {"taskId": "t",
data:  "artifact": {"artifactId": "a", "parts": [{"text": "It "}]}}}}

data: {"jsonrpc": "2.0", "id": 1, "result": {"artifactUpdate": {"taskId": "t", "append": true,
data:  "artifact": {"artifactId": "a", "parts": [{"text": "rains."}]}}}}

"""


def status(state: str) -> bytes:
    return b"""\
data: {"jsonrpc": "2.0", "id": 1, "result": {"statusUpdate": {"taskId": "t",
data:  "status": {"state": "TASK_STATE_%s"}}}}

""" % state.encode()


stream = parse([WIRE + status("COMPLETED")], A2A())
for event in stream:
    print(event)
print(repr(stream.value.text), stream.value.extra["artifacts"])

for state in ("COMPLETED", "INPUT_REQUIRED", "FAILED", "CANCELED", "WORKING"):
    stream = parse([WIRE + status(state)], A2A())
    list(stream.events())
    match stream.outcome:
        case Completed(message, marker):
            print("Completed by", marker, message.disposition)
        case Failed(error):
            print("Failed:", error)
        case Interrupted(cause):
            print("Interrupted:", cause.value)
