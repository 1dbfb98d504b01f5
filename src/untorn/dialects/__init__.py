"""One wire each: what its payloads mean, what completes it, what fails it."""

from .json_lines import JsonLines
from .sse import JsonSse, Sse, SseState, TextSse
from .strict_sse import StrictSse

__all__ = ["JsonLines", "JsonSse", "Sse", "SseState", "StrictSse", "TextSse"]
