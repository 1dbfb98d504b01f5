"""Verdicts: the endings of an answer that a client notices, and those that it does not.

Each answer is torn in four places, and the torn answer ended in six ways, on real sockets
(`chaos_server`). All of these endings are bad: the answer is not whole, however properly its
transport closes. The control is the whole answer, properly ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from inspect import iscoroutinefunction
from threading import Thread
from typing import Any, Final

import anyio
from anyio.from_thread import BlockingPortal

from .chaos import chaos_server
from .chat_wires import ChatWire, Torn
from .clients import Read
from .response import Ending

__all__ = [
    "AMPLE",
    "BAD_TRIALS",
    "CONTROL",
    "QUIET",
    "SHORT",
    "Judgement",
    "Patience",
    "Trial",
    "Verdict",
    "client_of",
    "judgements",
    "unnoticed",
]

QUIET: Final = (Ending.SILENCE, Ending.COMMENTS)
"""The endings that only a clock can notice."""


class Verdict(Enum):
    """What a client made of an ending."""

    NOTICED = "noticed"
    """It raised an exception."""
    TAKEN_FOR_SUCCESS = "taken for success"
    """It returned."""
    HANGS = "hangs"
    """It still waited when the patience ended."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, in real seconds."""

    timeout: float
    """What the client's own timeout is set to, where it has one."""
    wait: float
    """After how long the client is said to hang."""


AMPLE: Final = Patience(timeout=5.0, wait=10.0)
"""Where the transport ends: no clock is to be taken for the client's notice of that."""
SHORT: Final = Patience(timeout=0.5, wait=2.0)
"""Where nothing comes any more."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One way for an answer to end."""

    torn: Torn
    ending: Ending


CONTROL: Final = Trial(Torn.NOTHING, Ending.LAST_CHUNK)
BAD_TRIALS: Final = tuple(
    Trial(torn, ending) for torn in Torn if torn is not Torn.NOTHING for ending in Ending
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a client made of one trial."""

    trial: Trial
    verdict: Verdict
    error: str | None = None
    """What it raised, as the last line of a traceback has it."""

    @property
    def is_right(self) -> bool:
        """Whether the client noticed a bad ending, or took the control for a success."""
        right = Verdict.TAKEN_FOR_SUCCESS if self.trial == CONTROL else Verdict.NOTICED
        return self.verdict is right


async def judgements(
    read: Read, wire: ChatWire, *, ample: Patience = AMPLE, short: Patience = SHORT
) -> list[Judgement]:
    """Return what `read` makes of the control and of each bad trial, in this order.

    The control comes first and alone, so that whatever a client does once (importing, mostly)
    is done when the others run, all at the same time. `ample` is for the endings that close
    the connection, `short` for the `QUIET` ones.
    """

    async def judge(index: int, trial: Trial) -> None:
        patience = short if trial.ending in QUIET else ample
        found[index] = await _judge(read, wire, trial, patience)

    found: dict[int, Judgement] = {}
    await judge(0, CONTROL)
    async with anyio.create_task_group() as tasks:
        for index, trial in enumerate(BAD_TRIALS, start=1):
            tasks.start_soon(judge, index, trial)
    return [found[index] for index in sorted(found)]


async def _judge(read: Read, wire: ChatWire, trial: Trial, patience: Patience) -> Judgement:
    served, cuts = wire.until(trial.torn), wire.cuts(trial.torn)
    error = None
    async with chaos_server(served, cuts=cuts, ending=trial.ending) as server:
        with anyio.move_on_after(patience.wait) as waiting:
            try:
                await read(server.url, patience.timeout)
            except Exception as raised:
                error = raised
    # A client may swallow the cancellation, or make another exception of it.
    if waiting.cancel_called:
        return Judgement(trial, Verdict.HANGS)
    if error is not None:
        return Judgement(trial, Verdict.NOTICED, _said(error))
    return Judgement(trial, Verdict.TAKEN_FOR_SUCCESS)


def _said(error: Exception) -> str:
    said = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def client_of(function: Callable[[str], Any]) -> Read:
    """Return a client that calls `function(url)`, a plain or a coroutine function.

    The function returns, or raises if it notices that the answer is not whole. A plain one runs
    in a thread of its own, which is left behind if it hangs.
    """

    async def read(url: str, timeout: float) -> None:  # noqa: ASYNC109 - it has its own, if any
        if iscoroutinefunction(function):
            await function(url)
        else:
            await _in_thread(function, url)

    return read


async def _in_thread(function: Callable[[str], object], url: str) -> None:
    # No worker thread of anyio: the interpreter waits for those, and this one may never end.
    done = anyio.Event()
    raised: list[Exception] = []

    def run() -> None:
        try:
            function(url)
        except Exception as error:
            raised.append(error)
        with suppress(RuntimeError):  # nobody waits any more
            portal.start_task_soon(done.set)

    async with BlockingPortal() as portal:
        Thread(target=run, daemon=True).start()
        await done.wait()
    if raised:
        raise raised[0]


def unnoticed(found: Sequence[Judgement]) -> list[Judgement]:
    """Return those in which the client is wrong."""
    return [judgement for judgement in found if not judgement.is_right]
