"""The answer that the tests read: characters of one, two, three and four bytes, spaces that count.

Never tidy it down to ASCII: a reader that tears characters passes every test in ASCII.
"""

DELTAS = ("The", " quick", " brown", " naïve ", "，你好 ", " 🦊🙂", " ")
"""The pieces of the answer; their leading and trailing spaces belong to them."""

TEXT = "".join(DELTAS)
"""The answer."""

LINE_ENDS = {
    "LF": ("\n",),
    "CR": ("\r",),
    "CRLF": ("\r\n",),
    "mixed": ("\r\n", "\n", "\r", "\r", "\r\n", "\n", "\n"),
}
"""Line ends by name, each to be used in turn."""

SENTINEL = "[DONE]"
"""The last data, which is no JSON."""


def sse(line_ends: str = "LF") -> bytes:
    """Return the answer as Server-Sent Events, with a comment frame and a sentinel."""
    lines = [": ping ✓", ""]
    for delta in (*DELTAS, SENTINEL):
        lines += [f"data: {delta}", ""]
    kinds = LINE_ENDS[line_ends]
    return "".join(line + kinds[k % len(kinds)] for k, line in enumerate(lines)).encode()
