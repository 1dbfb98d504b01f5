r"""Hypothesis strategies: wires made to cause trouble, and ways to cut them. Needs hypothesis.

Everything shrinks towards what is plain: few short events, `\n` for a line end, no cuts.
"""

from __future__ import annotations

import json

from .cuts import Cutting, cuts_at

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ImportError as missing:
    raise ImportError(
        "untorn.testing.strategies needs hypothesis: pip install 'untorn[testing]'"
    ) from missing

__all__ = [
    "ILL_FORMED",
    "TROUBLE",
    "cuttings",
    "damaged",
    "line_ends",
    "ndjson_wires",
    "sse_wires",
    "texts",
]

BOM = b"\xef\xbb\xbf"

TROUBLE = [
    *"a0: ",  # first, as what everything shrinks to
    *'{"\\,',
    *"éж€🙂",  # characters of two, two, three and four bytes
    *"\t\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029",  # what str.splitlines and str.strip mistake
    *"\0\ufeff\ufffd\xa0\u200d\u0301",
]
"""Characters that parsers trip over. None is a line end of SSE or NDJSON."""

ILL_FORMED = [
    b"\xff",  # in no character
    b"\x80",  # a continuation of nothing
    b"\xc3",  # the first byte of two
    b"\xe2\x82",  # the first two of three
    b"\xf0\x9f\x99",  # the first three of four
    b"\xc0\xaf",  # an overlong form
    b"\xed\xa0\x80",  # a surrogate
    b"\xf4\x90\x80\x80",  # beyond the last code point
]
"""Byte sequences that are not UTF-8, each in its own way."""


def cuttings(wire: bytes) -> SearchStrategy[Cutting]:
    """Cuttings of `wire`: few cuts first; bytewise in a third of the cases."""
    if len(wire) < 2:
        return st.just(cuts_at(wire, []))
    some = st.lists(st.integers(1, len(wire) - 1), unique=True)
    # Hypothesis takes what needs fewer choices to be simpler. Ten that mean nothing make it
    # prefer a few cuts to all of them.
    everywhere = st.tuples(*[st.booleans()] * 10).map(lambda _: range(1, len(wire)))
    return (st.just([]) | some | everywhere).map(lambda offsets: cuts_at(wire, offsets))


def sse_wires(*, damaged: bool | None = None) -> SearchStrategy[bytes]:
    """Event streams: well-formed and complete, `damaged`, or (`None`) either."""
    return _valid_or_damaged(_joined(_sse_blocks(), max_size=6), damaged)


def ndjson_wires(*, damaged: bool | None = None) -> SearchStrategy[bytes]:
    """Newline-delimited JSON: well-formed and complete, `damaged`, or (`None`) either."""
    return _valid_or_damaged(_joined(_json_lines() | _blank_lines(), max_size=8), damaged)


def damaged(wires: SearchStrategy[bytes]) -> SearchStrategy[bytes]:
    """Return `wires` with harm done to each: cut short, overwritten, ill-formed UTF-8 put in."""
    return wires.flatmap(_harmed)


def texts(*, max_size: int = 8) -> SearchStrategy[str]:
    """Short texts of troublesome characters, without line ends."""
    return st.text(st.sampled_from(TROUBLE), max_size=max_size)


def line_ends() -> SearchStrategy[bytes]:
    """Return one of the three line ends of an event stream."""
    return st.sampled_from([b"\n", b"\r\n", b"\r"])


def _valid_or_damaged(wires: SearchStrategy[bytes], harm: bool | None) -> SearchStrategy[bytes]:
    if harm is None:
        return wires | damaged(wires)
    return damaged(wires) if harm else wires


def _joined(parts: SearchStrategy[bytes], *, max_size: int) -> SearchStrategy[bytes]:
    boms = st.sampled_from([b"", b"", b"", BOM, BOM + BOM])
    return st.tuples(boms, st.lists(parts, max_size=max_size).map(b"".join)).map(b"".join)


def _harmed(wire: bytes) -> SearchStrategy[bytes]:
    offsets = st.integers(0, len(wire))
    ill_formed = st.sampled_from(ILL_FORMED)
    cut_short = offsets.map(lambda size: wire[:size])
    put_in = st.builds(lambda at, bad: wire[:at] + bad + wire[at:], offsets, ill_formed)
    overwritten = st.builds(
        lambda at, bad: wire[:at] + bad + wire[at + len(bad) :], offsets, st.binary(max_size=3)
    )
    left_out = st.builds(lambda at, size: wire[:at] + wire[at + size :], offsets, st.integers(1, 3))
    return cut_short | put_in | overwritten | left_out


def _sse_blocks() -> SearchStrategy[bytes]:
    """Lines up to a blank one. Half of the streams in the wild keep to one line end."""
    return st.one_of(
        st.builds(_block, st.lists(_sse_lines(), max_size=4), st.just([b"\n"])),
        st.builds(_block, st.lists(_sse_lines(), max_size=4), st.lists(line_ends(), min_size=1)),
    )


def _block(lines: list[bytes], ends: list[bytes]) -> bytes:
    *given, last = (ends[index % len(ends)] for index in range(len(lines) + 1))
    # A CR and the LF of a blank line would be one line end, and the block would go on.
    blank = b"\r\n" if given[-1:] == [b"\r"] else last
    return b"".join(map(bytes.__add__, lines, given)) + blank


def _sse_lines() -> SearchStrategy[bytes]:
    return _data_lines() | _field_lines() | _ids() | _retries() | _comments() | _long_lines()


def _data_lines() -> SearchStrategy[bytes]:
    return _field(st.just("data"), texts())


def _field_lines() -> SearchStrategy[bytes]:
    names = st.sampled_from(
        ["event", "id", "retry", "Data", " data", "data ", "datum", "\ufeffdata"]
    )
    return _field(names | texts(max_size=3), texts())


def _ids() -> SearchStrategy[bytes]:
    return _field(st.just("id"), st.sampled_from(["", "1", "2", "a b", "é", "1\0", "\0", " "]))


def _retries() -> SearchStrategy[bytes]:
    odd = ["", "0", "007", "1.5", "-1", "+1", "1e3", " 5", "5 ", "٣", "x", "9" * 20]
    return _field(st.just("retry"), st.integers(0, 9999).map(str) | st.sampled_from(odd))


def _comments() -> SearchStrategy[bytes]:
    return texts().map(lambda text: f":{text}".encode())


def _long_lines() -> SearchStrategy[bytes]:
    return st.builds(
        lambda letter, times: f"data: {letter * times}".encode(),
        st.sampled_from(TROUBLE),
        st.integers(1, 70),
    )


def _field(names: SearchStrategy[str], values: SearchStrategy[str]) -> SearchStrategy[bytes]:
    separators = st.sampled_from([": ", ":", ":  ", ""])
    return st.tuples(names, separators, values).map(lambda parts: "".join(parts).encode())


def _json_lines() -> SearchStrategy[bytes]:
    values = st.recursive(_json_scalars(), _json_containers, max_leaves=4)
    ends = st.sampled_from([b"\n", b"\r\n"])
    return st.builds(_json_line, values, st.booleans(), st.sampled_from(["", " ", "\t"]), ends)


def _json_line(value: object, escaped: bool, space: str, end: bytes) -> bytes:
    return f"{space}{json.dumps(value, ensure_ascii=escaped)}{space}".encode() + end


def _json_scalars() -> SearchStrategy[object]:
    numbers = st.integers(-99, 99) | st.floats(allow_nan=False, allow_infinity=False, width=16)
    return st.none() | st.booleans() | numbers | texts()


def _json_containers(values: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.lists(values, max_size=3) | st.dictionaries(texts(max_size=3), values, max_size=3)


def _blank_lines() -> SearchStrategy[bytes]:
    return st.sampled_from([b"\n", b"\r\n"])
