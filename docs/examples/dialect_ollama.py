from untorn import Completed, Failed, parse
from untorn.dialects import OllamaChat

WIRE = b"""\
{"model": "m", "message": {"role": "assistant", "thinking": "Hm."}, "done": false}
{"model": "m", "message": {"role": "assistant", "content": "See:", "tool_calls": \
[{"function": {"name": "weather", "arguments": {"city": "Oslo"}}}]}, "done": false}
"""
LAST = b"""\
{"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, \
"done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4, "load_duration": 5}
"""

stream = parse([WIRE + LAST], OllamaChat())
for event in stream:
    print(event)
assert isinstance(stream.outcome, Completed)
print("Completed by", stream.outcome.marker, stream.value.extra)

stream = parse([WIRE + b'{"error": "the runner stopped"}\n'], OllamaChat())
list(stream.events())
assert isinstance(stream.outcome, Failed)
print("Failed:", stream.outcome.error)

stream = parse([WIRE + LAST[:-1]], OllamaChat())
list(stream.events())
print(type(stream.outcome).__name__, repr(stream.value.text))
