from untorn import Failed, Interrupted, parse
from untorn.dialects import KubernetesWatch

WIRE = b"""\
{"type": "ADDED", "object": {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "41"}}}
{"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "42"}}}
"""
EXPIRED = b"""\
{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", \
"message": "too old resource version"}}
"""

stream = parse([WIRE], KubernetesWatch())
for event in stream.events():
    print(event)
assert isinstance(stream.outcome, Interrupted)
print("Interrupted, go on from", stream.outcome.partial)

stream = parse([WIRE + EXPIRED], KubernetesWatch())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)
print(stream.outcome.partial)
