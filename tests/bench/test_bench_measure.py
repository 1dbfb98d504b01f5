"""How the benchmark computes: ratios, spreads, exponents, verdicts."""

from __future__ import annotations

import pytest

from bench import fairness, many
from bench.__main__ import cases
from bench.measure import FULL, QUICK, Row, exponent, grown, growth, interleaved
from bench.table import Table, number
from bench.targets import TARGETS, Target, Verdict, judged

ROW = Row("framing", "chat", "ns/event", {"untorn": [100.0, 200, 100], "peer": [250.0, 300, 260]})


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    """What a busy machine does in one round, it does to both."""
    assert ROW.ratio("peer") == 2.5
    assert ROW.ratios() == {"peer": 2.5}
    assert ROW.median() == 100


def test_the_spread_is_between_the_quartiles() -> None:
    """One slow round in three does not make it."""
    assert ROW.spread() == pytest.approx(0.5)
    assert Row("a", "b", "ms", {"untorn": [5.0]}).spread() == 0


def test_a_row_is_kept_and_found_again() -> None:
    """What the JSON file has of a row is all of it."""
    assert Row.from_json(ROW.as_json()) == ROW


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_the_exponent_is_the_power_by_which_a_cost_grows(power: float) -> None:
    """Whatever the unit, and with some noise on it."""
    sizes = (10, 100, 1000, 10_000)
    noise = (1.05, 0.95, 1.05, 0.95)
    points = [(size, 3e-7 * size**power * off) for size, off in zip(sizes, noise, strict=True)]
    assert exponent(points) == pytest.approx(power, abs=0.03)


def test_one_point_makes_no_line() -> None:
    """And points must be in order of length."""
    for points in ([], [(10, 1.0)], [(10, 1.0), (10, 2.0)]):
        with pytest.raises(ValueError, match="two points or more"):
            exponent(points)


def test_what_outgrows_the_patience_is_not_run() -> None:
    """The sizes stop in front of the first that would take too long."""
    run: list[int] = []
    points = growth(run.append, (1, 10, 10**9, 10**18), 1, 0.01)
    assert [size for size, _ in points] == sorted(set(run))
    assert 10**18 not in run


def test_contenders_take_turns_and_warm_up() -> None:
    """One round that does not count, then each once a round; who knows its seconds is believed."""
    turns: list[str] = []

    def contender(name: str) -> float:
        turns.append(name)
        return 0.5

    runs = {"untorn": lambda: contender("untorn"), "peer": lambda: contender("peer")}
    row = interleaved("group", "subject", runs, 2, 1000, "us/event")
    assert turns == ["untorn", "peer"] * 3
    assert row.values == {"untorn": [500.0, 500.0], "peer": [500.0, 500.0]}


def test_a_very_slow_contender_is_run_once() -> None:
    """Its warm-up is its measurement."""
    runs = {"untorn": lambda: 1.0, "peer": lambda: 3.0}
    row = interleaved("group", "subject", runs, 2, 1, "s")
    assert row.values == {"untorn": [1.0, 1.0], "peer": [3.0]}
    assert row.ratio("peer") == 3


def test_work_grows_until_it_takes_long_enough() -> None:
    """And not beyond what is reasonable."""
    assert grown(lambda count: count * 0.001, 0.5, 3) in range(250, 5000)


@pytest.mark.parametrize(
    ("measured", "most", "verdict"),
    [
        (3.0, False, "aim"),
        (2.0, False, "met"),
        (1.0, False, "missed by 50%"),
        (1.999, False, "missed by 0.05%"),
        (2.5, True, "missed by 25%"),
        (2.0, True, "met"),
        (None, False, "not measured"),
    ],
)
def test_a_verdict_says_by_how_much(measured: float | None, most: bool, verdict: str) -> None:
    """Bounds are part of what they allow."""
    target = Target("a", "framing: chat", 2.0, 3.0 if not most else 1.0, "peer", most)
    assert Verdict(target, measured).verdict == verdict


def test_a_missed_aim_is_said_where_there_is_nothing_else() -> None:
    """An aim alone is still judged."""
    assert Verdict(Target("a", "b", None, 2.0), 1.0).verdict == "aim missed by 50%"


def test_targets_find_their_rows() -> None:
    """A target takes the ratio to its peer, or untorn's own median."""
    (name,) = {target.name for target in TARGETS if target.row == "framing: 16 KiB @ 64 KiB"}
    row = Row("framing", "16 KiB @ 64 KiB", "ns/event", {"untorn": [1.0], "httpx-sse": [1.2]})
    found = {each.target.name: each.measured for each in judged([row])}
    assert found.pop(name) == 1.2
    assert set(found.values()) == {None}


def test_every_target_is_of_a_row_that_is_measured() -> None:
    """No target waits for a row that a full run does not have."""
    names = {case.name for case in cases(FULL, None)}
    names |= {f"{case.group}: {what}" for case in many.cases(FULL) for what in many._UNITS}
    names |= {f"{case.name}: reads" for case in fairness.cases(FULL) if "ahead" in case.name}
    assert {target.row for target in TARGETS} <= names
    assert len({target.name for target in TARGETS}) == len(TARGETS)


def test_a_quick_run_has_every_kind_of_row() -> None:
    """It has less of each, not fewer kinds; a pattern chooses among them."""
    full, quick = ({case.group for case in cases(effort, None)} for effort in (FULL, QUICK))
    assert {group for group in full if "slow streams" not in group} <= quick
    assert any("slow streams" in group for group in quick)
    assert {case.group for case in cases(QUICK, "fram*JSON")} == {"framing + JSON"}


def test_the_table_has_a_heading_where_the_columns_change() -> None:
    """A line for each row, and one for what stands above it."""
    table = Table()
    first, second = list(table.lines(ROW)), list(table.lines(ROW))
    assert "peer" in first[0] and first[1:] == second
    assert "x2.50" in second[0] and "±50%" in second[0]


def test_numbers_have_three_digits() -> None:
    """Or all those in front of the point."""
    assert [number(n) for n in (0, 0.01234, 1.234, 123.4, 12345.6)] == [
        "0",
        "0.0123",
        "1.23",
        "123",
        "12,346",
    ]
