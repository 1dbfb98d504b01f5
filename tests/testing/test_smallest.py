import pytest
from hypothesis import given
from hypothesis import strategies as st

from untorn.testing import Case
from untorn.testing.smallest import smallest

WIRE = b"id: 1\ndata: abc\n\ndata: x\xc3\xa9y\r\n\r\ndata: z\n\n"


def test_what_the_fault_does_not_need_is_left_out() -> None:
    case = Case(WIRE, boundaries=tuple(range(1, len(WIRE))))
    small = smallest(
        case, lambda case: b"\xc3\xa9" in case.wire and bool(case.boundaries), tries=999
    )
    assert small == Case("é".encode(), boundaries=(1,))


def test_whole_events_go_first() -> None:
    asked = []

    def fails(case: Case) -> bool:
        asked.append(case.wire)
        return b"x" in case.wire

    smallest(Case(WIRE), fails, tries=4)
    assert asked == [
        b"",
        WIRE[17:],
        b"data: z\n\n",
        b"data: x\xc3\xa9y\r\n\r\n",
    ]


def test_no_more_is_tried_than_allowed() -> None:
    assert smallest(Case(WIRE), lambda case: True, tries=0) == Case(WIRE)


def test_bytes_that_never_arrive_are_left_out_too() -> None:
    small = smallest(Case(b"abc", b"def"), lambda case: b"b" in case.wire, tries=99)
    assert small == Case(b"b", b"")


@given(st.binary(max_size=12), st.lists(st.integers(0, 12)), st.data())
def test_case_without_some_bytes_keeps_the_others_and_their_cuts(
    wire: bytes, cuts: list[int], data: st.DataObject
) -> None:
    case = Case(wire, b"rest", tuple(sorted(cut for cut in cuts if cut <= len(wire))))
    start = data.draw(st.integers(0, len(case.capture)))
    stop = data.draw(st.integers(start, len(case.capture)))
    fewer = case.without(start, stop)
    assert fewer.capture == case.capture[:start] + case.capture[stop:]
    assert b"".join(fewer.chunks) == fewer.wire
    assert case.has_empty_chunks or not fewer.has_empty_chunks


@pytest.mark.parametrize(
    ("start", "stop", "left"),
    [
        (0, 1, Case(b"bc", b"d", (1,))),
        (1, 3, Case(b"a", b"d")),
        (2, 4, Case(b"ab", b"", ())),
        (1, 2, Case(b"ac", b"d", (1,))),
    ],
)
def test_boundaries_move_with_the_bytes(start: int, stop: int, left: Case) -> None:
    assert Case(b"abc", b"d", (2,)).without(start, stop) == left
