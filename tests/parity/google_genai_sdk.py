"""The streaming call of `google-genai`; the SDK does not accumulate."""

from __future__ import annotations

from typing import Any

from untorn.dialects.gemini import Gemini

from .answer import Answer, Call
from .transport import client


def sdk(wire: bytes) -> Any:
    import httpx2
    from google.genai import Client

    options = {"base_url": "http://test", "httpx_client": client(httpx2, wire)}
    return Client(api_key="key", http_options=options)


def chunks(wire: bytes) -> Answer:
    """Join the parts of the first candidate by hand."""
    texts = {False: "", True: ""}
    calls: list[tuple[Any, Any, Any]] = []
    reason = counts = None
    for chunk in sdk(wire).models.generate_content_stream(model="m", contents="Hello"):
        counts = usage(chunk.usage_metadata) or counts
        for candidate in (chunk.candidates or ())[:1]:
            reason = (candidate.finish_reason and candidate.finish_reason.value) or reason
            for part in (candidate.content and candidate.content.parts) or ():
                texts[bool(part.thought)] += part.text or ""
                if part.function_call:
                    call = part.function_call
                    calls.append((call.id, call.name, call.args or {}))
    return Answer(texts[False], tuple(calls), reason, counts, texts[True])


def usage(said: Any) -> dict[str, Any] | None:
    return said.model_dump(mode="json", by_alias=True, exclude_none=True) if said else None


CHUNKS = Call(
    "google-genai",
    "google.genai",
    "models.generate_content_stream",
    chunks,
    Gemini(),
    ("gemini",),
)
