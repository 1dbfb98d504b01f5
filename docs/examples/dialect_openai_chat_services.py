from untorn import Completed, Failed, parse
from untorn.dialects import Mistral, OpenAIChat

MISTRAL = rb"""
data: {"choices": [{"delta": {"content": [
data:   {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}}]}

data: {"choices": [{"delta": {"content": "Yes."}}]}

data: {"choices": [{"delta": {"tool_calls": [
data:   {"id": "null", "function": {"name": "clock", "arguments": {"zone": "UTC"}}}]}}]}

data: {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}

data: [DONE]

"""
AZURE = rb"""
data: {"id": "", "model": "", "choices": [], "prompt_filter_results": []}

data: {"id": "c1", "model": "m", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}

data: {"choices": [{"content_filter_offsets": {}, "finish_reason": null}]}

data: [DONE]

"""
OPENROUTER = rb"""
: OPENROUTER PROCESSING

data: {"provider": "P", "choices": [{"delta": {"role": "assistant", "reasoning": "Hm.",
data:   "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "Hm."}]}}]}

data: {"choices": [{"delta": {"content": "Hal"}, "finish_reason": "error"}],
data:  "error": {"code": 502, "message": "Upstream is gone"}}

"""
DEEPSEEK = rb"""
: keep-alive

data: {"choices": [{"delta": {"reasoning_content": "Hm."}}]}

data: {"choices": [{"delta": {}, "finish_reason": "insufficient_system_resource"}]}

data: [DONE]

"""
VLLM = rb"""
data: {"choices": [{"delta": {"content": "H"}}], "usage": {"completion_tokens": 1}}

data: {"choices": [{"delta": {"content": "i"}, "finish_reason": "stop", "stop_reason": 151643}],
data:  "usage": {"completion_tokens": 2}}

data: [DONE]

"""
GROQ = rb"""
data: {"choices": [{"delta": {"content": "Hal"}}], "x_groq": {"id": "req_1"}}

event: error
data: {"error": {"message": "Failed to call a function", "status_code": 400}}

"""

for name, wire, dialect in (
    ("Mistral", MISTRAL, Mistral()),
    ("Azure", AZURE, OpenAIChat()),
    ("OpenRouter", OPENROUTER, OpenAIChat()),
    ("DeepSeek", DEEPSEEK, OpenAIChat()),
    ("vLLM", VLLM, OpenAIChat()),
    ("Groq", GROQ, OpenAIChat()),
):
    stream = parse([wire], dialect)
    list(stream.events())
    message = stream.value
    print(name, f"{message.text!r}, reasoning {message.reasoning!r}", message.extra)
    for call in message.tool_calls:
        print("   ", call)
    if isinstance(stream.outcome, Completed):
        print("    Completed:", message.finish_reason, message.disposition, message.usage)
    if isinstance(stream.outcome, Failed):
        print("    Failed:", stream.outcome.error)
