"""User code that must type-check: lists of faults, however they are written. Never run."""

from untorn.testing import Corrupt, Drip, Eof, Fault, FaultySource, Hang, Raise, Reset, Send, Stall


def faults_of_several_kinds_can_be_kept_in_a_variable() -> None:
    some = [Stall(3), Reset()]
    FaultySource(b"", faults=some)
    every = [Send(b""), Stall(1), Drip(1), Corrupt(b"", 0), Eof(), Hang(), Raise(OSError())]
    FaultySource(b"", faults=every)


def faults_of_one_kind_can_be_kept_in_a_variable() -> None:
    stalls = [Stall(3, at=1), Stall(3, at=2)]
    FaultySource(b"ab", faults=stalls)


def faults_can_be_added_to_a_list() -> None:
    faults: list[Fault] = [Stall(3)]
    faults.append(Reset())
    FaultySource(b"", [1], faults, on_close=Hang())
