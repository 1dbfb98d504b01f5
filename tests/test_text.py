"""The decoder alone: cut anywhere, it gives the text that the Encoding Standard gives."""

import logging
import tracemalloc
from typing import Any

import pytest
from fixture import TEXT
from hypothesis import example, given
from hypothesis import strategies as st
from references import utf8_decode
from wires import BOM, EOF, ILL_FORMED, bytewise, cut, cuttings, every_cut

from untorn import Boundary, InvalidUtf8, LimitExceeded
from untorn.frame import Text, size_of
from untorn.stage import Done
from untorn.text import Utf8Decoder

parts = st.sampled_from(
    [b"a", b"\n", "é漢🙂".encode(), "🙂".encode(), BOM, b"\xef\xbf\xbd", *ILL_FORMED]
)
wires = st.lists(parts | st.binary(max_size=5), max_size=8).map(b"".join)


def decode(chunks: list[bytes], **settings: Any) -> tuple[list[Text], Any, Utf8Decoder]:
    """Return the pieces, the fault or the ending, and the decoder."""
    decoder = Utf8Decoder(**settings)
    pieces: list[Text] = []
    try:
        for chunk in chunks:
            pieces += decoder.feed(chunk)  # keeps those before a fault
    except (InvalidUtf8, LimitExceeded) as fault:
        return pieces, fault, decoder
    rest, ending = decoder.end(EOF)
    return pieces + rest, ending, decoder


def text_of(pieces: list[Text]) -> str:
    return "".join(piece[0] for piece in pieces)


def test_the_fixture_survives_every_cut() -> None:
    """Text is the same whatever byte it is cut at, and nothing is replaced."""
    for chunks in [*every_cut(TEXT.encode()), bytewise(TEXT.encode())]:
        pieces, ending, decoder = decode(chunks)
        assert text_of(pieces) == TEXT
        assert ending == EOF
        assert (decoder.replacements, decoder.literal_replacements) == (0, 0)


def test_a_stateless_decoder_breaks_on_the_fixture() -> None:
    """What the cut test is for: each read decoded alone tears characters."""
    torn = [
        chunks
        for chunks in every_cut(TEXT.encode())
        if "".join(chunk.decode(errors="replace") for chunk in chunks) != TEXT
    ]
    assert len(torn) == sum(len(char.encode()) - 1 for char in TEXT)


@given(st.data())
def test_replace_is_the_standard(data: st.DataObject) -> None:
    """Any bytes, cut anywhere: the standard's text, as many replacements, each where it stands."""
    wire = data.draw(wires)
    chunks = data.draw(cuttings(wire))
    expected = utf8_decode(wire)
    pieces, _, decoder = decode(chunks, errors="replace")
    chars = [
        (char, piece[1] + size_of(piece, 0, k), piece[1] + size_of(piece, 0, k + 1), bool(piece[4]))
        for piece in pieces
        for k, char in enumerate(piece[0])
    ]
    assert chars == expected.chars
    made = sum(char.made for char in expected.chars)
    assert decoder.replacements == sum(made for *_, made in pieces) == made
    assert decoder.literal_replacements == text_of(pieces).count("\ufffd") - made


@given(st.data())
def test_strict_stops_where_the_standard_replaces(data: st.DataObject) -> None:
    """Any bytes, cut anywhere: the text before the first ill-formed sequence, and its offset."""
    wire = data.draw(wires)
    chunks = data.draw(cuttings(wire))
    expected = utf8_decode(wire)
    pieces, fault, _ = decode(chunks)
    if expected.fault is None:
        assert text_of(pieces) == expected.text
    else:
        before = [char.char for char in expected.chars if char.end <= expected.fault]
        assert isinstance(fault, InvalidUtf8)
        assert fault.offset == expected.fault
        assert wire[fault.offset :].startswith(fault.sequence)
        assert text_of(pieces) == "".join(before)


@given(wires)
@example(BOM + BOM)
@example(b"\xef\xbb\xbe")
@example(b"\xed\xa0\x80")
def test_every_prefix_has_its_text_out(wire: bytes) -> None:
    """A character comes with its last byte, and `held` counts the bytes of an unfinished one."""
    decoder, text = Utf8Decoder("replace"), ""
    for end, byte in enumerate(bytewise(wire), 1):
        pieces = list(decoder.feed(byte))
        text += text_of(pieces)
        expected = utf8_decode(wire[:end])
        assert text == expected.text
        _, _, last, held, _ = pieces[-1]
        assert held == expected.held
        if expected.held or expected.chars:
            assert last + held == end


@given(wires)
@example(b"\xff\xe6\xbc")
def test_pieces_join_without_gaps(wire: bytes) -> None:
    """Each piece begins where the one before ends; a BOM is in none."""
    pieces, _, _ = decode([wire], errors="replace")
    bom = 3 if wire.startswith(BOM) else 0
    starts = [start for _, start, *_ in pieces]
    ends = [end for _, _, end, *_ in pieces]
    assert starts == [bom, *ends[:-1]][: len(starts)]


@pytest.mark.parametrize("chunks", [*every_cut(BOM + BOM + b"x"), bytewise(BOM + BOM + b"x")])
def test_exactly_one_bom_is_dropped(chunks: list[bytes]) -> None:
    """Also when it is split; a second one is text."""
    pieces, _, _ = decode(chunks)
    assert text_of(pieces) == "\ufeffx"


def test_a_bom_behind_a_replacement_is_text() -> None:
    """Only the very first bytes can be a BOM."""
    pieces, _, _ = decode([b"\xff" + BOM], errors="replace")
    assert text_of(pieces) == "\ufffd\ufeff"


@pytest.mark.parametrize("held", [b"\xef", b"\xef\xbb", b"a\xc3", b"a\xe6\xbc", b"\xf0\x9f\x99"])
def test_a_cut_inside_a_character_is_torn_there(held: bytes) -> None:
    """A sequence merely unfinished is torn, not invalid, strict or not."""
    for errors in ("strict", "replace"):
        _, ending, _ = decode([held], errors=errors)
        assert ending == EOF.inside(Boundary.CHARACTER)


def test_only_a_cut_can_tear() -> None:
    """A completion or a fault passes through a decoder that holds half a character."""
    decoder = Utf8Decoder()
    list(decoder.feed(b"\xc3"))
    assert decoder.end(Done("[DONE]", 1)) == ([], Done("[DONE]", 1))


@given(st.data())
def test_the_total_limit_is_a_byte_not_a_read(data: st.DataObject) -> None:
    """The bytes within the limit are decoded, and the fault lies at the first beyond."""
    wire = data.draw(wires)
    total = data.draw(st.integers(0, len(wire) + 1))
    chunks = data.draw(cuttings(wire))
    pieces, ending, decoder = decode(chunks, errors="replace", total_bytes=total)
    assert text_of(pieces) == utf8_decode(wire[:total]).text
    assert decoder.offset == min(total, len(wire))
    if len(wire) > total:
        assert (ending.code, ending.offset, ending.value) == ("total-limit", total, total)
    else:
        assert not isinstance(ending, LimitExceeded)


def test_the_first_replacement_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """One line per stream, however many are made."""
    with caplog.at_level(logging.WARNING, "untorn"):
        decode([b"ab\xff", b"\xff\xff", b"c\xc3d"], errors="replace")
    assert [record.getMessage() for record in caplog.records] == [
        "ill-formed UTF-8 at byte 2 was replaced by U+FFFD"
    ]


def test_a_read_of_bad_bytes_costs_no_more_than_its_size() -> None:
    """A codec copies its input into each error; a run of them must not copy the read each time."""
    bad = b"\xff" * 16384
    tracemalloc.start()
    pieces, _, decoder = decode([bad], errors="replace")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert decoder.replacements == len(bad)
    assert len(pieces) == 1
    assert peak < 16 * len(bad)


def test_a_piece_says_where_its_characters_are() -> None:
    """Their sizes follow from the piece alone."""
    piece = ("aé🙂", 10, 17, 2, 0)
    assert [size_of(piece, 0, k) for k in range(4)] == [0, 1, 3, 7]
    assert size_of(piece, 1, 2) == 2
    assert cut(b"ab", [1]) == [b"a", b"b"]
