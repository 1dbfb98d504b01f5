from untorn import Completed, Failed, Interrupted, parse
from untorn.dialects import OpenAIChat

BEGINNING = b"""\
data: {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant"}}]}

data: {"choices": [{"index": 0, "delta": {"content": "Let me see."}}]}

data: {"choices": [{"index": 0, "delta": {"tool_calls": [
data:   {"index": 0, "id": "call_1", "function": {"name": "weather", "arguments": ""}}]}}]}

data: {"choices": [{"index": 0, "delta": {"tool_calls": [
data:   {"index": 0, "function": {"arguments": "{\\"city\\": \\"Oslo\\"}"}}]}}]}

"""
REASON = b"""\
data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

"""
USAGE = b"""\
data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}

"""
DONE = b"data: [DONE]\n\n"
ERROR = b"""\
data: {"error": {"message": "Overloaded", "type": "server_error", "code": 503}}

"""


def how_it_ends(wire: bytes, dialect: OpenAIChat) -> str:
    stream = parse([wire], dialect)
    list(stream.events())
    match stream.outcome:
        case Completed(message, marker):
            return f"Completed by {marker}: {message.disposition}, usage {message.usage}"
        case Interrupted(_, torn, _, partial):
            return f"Interrupted, torn {torn.value}: {partial.text!r} {partial.tool_calls}"
        case Failed(error):
            return f"Failed: {error}"
    raise AssertionError


for event in parse([BEGINNING + REASON + USAGE + DONE], OpenAIChat()):
    print(event)
print(how_it_ends(BEGINNING + REASON + USAGE + DONE, OpenAIChat()))
print(how_it_ends(BEGINNING + REASON, OpenAIChat()))
print(how_it_ends(BEGINNING + REASON, OpenAIChat(done="required")))
print(how_it_ends(BEGINNING, OpenAIChat()))
print(how_it_ends(BEGINNING + REASON + ERROR + DONE, OpenAIChat()))
