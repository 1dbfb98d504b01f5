"""An error is handed on without a key, whatever it is; and the hiding raises nothing."""

from __future__ import annotations

import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import httpx
import httpx2
import pytest

from untorn import ServiceError, StageError, StreamFault
from untorn.discreet import StandIn, forget_secrets

KEY = "sk-Ab3dEf6h"
REQUEST = SimpleNamespace(headers={"authorization": f"Bearer {KEY}"}, url=None)


def everything(error: BaseException, seen: set[int] | None = None) -> Iterator[str]:
    """Yield all that an error, those behind it and those in it can be made to say."""
    seen = set() if seen is None else seen
    if id(error) in seen:
        return
    seen.add(id(error))
    yield from traceback.format_exception(error)
    for say in (str, repr, lambda error: repr(error.args), lambda error: repr(vars(error))):
        try:
            yield say(error)
        except Exception as broken:
            yield repr(broken)
    held = [*error.args, *vars(error).values(), error.__cause__, error.__context__]
    held += error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for each in held:
        for inner in each if isinstance(each, (list, tuple)) else [each]:
            if isinstance(inner, BaseException):
                yield from everything(inner, seen)
            elif hasattr(inner, "headers"):
                yield repr(inner.headers)


def raised(raise_it: Callable[[], object]) -> BaseException:
    """Return what a function raises, with its traceback."""
    with pytest.raises(BaseException) as caught:
        raise_it()
    return caught.value


class ReadOnly(Exception):
    """One whose request cannot be taken away."""

    @property
    def request(self) -> Any:
        return SimpleNamespace(method="GET", headers=REQUEST.headers, url=None)


@dataclass(frozen=True)
class Frozen(Exception):
    said: str


class Broken:
    """A thing that nobody can look at."""

    secret = KEY

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Fixed(Exception):
    """One that says what it was made of, wherever it keeps that."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.say = lambda: said

    def __str__(self) -> str:
        return self.say()


class Silent(Fixed):
    """One that says it in its `repr` alone."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        return self.say()


class Coded(Exception):
    code = KEY

    def __init__(self) -> None:
        super().__init__("no")
        self.code = KEY


class OwnFault(StreamFault):
    """A fault the sentence of which cannot be set."""

    code = "own"
    sentence = property(lambda self: f"no {KEY}", lambda self, value: None)  # type: ignore[assignment]


class Hostile(Exception):
    """One that breaks whoever looks at it."""

    said = KEY

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no")


def cyclic() -> Exception:
    error, loop = ValueError(KEY), {"key": [KEY]}
    loop["loop"], error.loop = [loop], loop  # type: ignore[attr-defined,list-item]
    return error


def nested() -> Exception:
    return ValueError([ValueError(KEY), (Fixed(KEY),)], {"a": {1: KeyError(KEY)}})


def behind() -> Exception:
    error = ValueError("no")
    error.__cause__, error.__context__ = Fixed(KEY), ExceptionGroup(f"bad {KEY}", [Fixed(KEY)])
    error.__cause__.__cause__ = error
    return error


def deep() -> Exception:
    parts: Any = (KEY,)
    for _ in range(100_000):
        parts = (parts,)
    return ValueError(parts)


ERRORS: list[Callable[[], Exception]] = [
    lambda: ReadOnly(KEY),
    lambda: Frozen(KEY),
    lambda: ValueError(KEY, Broken()),
    lambda: Fixed(KEY),
    lambda: Silent(KEY),
    Coded,
    lambda: OwnFault(KEY),
    lambda: Hostile(KEY),
    lambda: ExceptionGroup(f"bad {KEY}", [ValueError(KEY), ExceptionGroup(KEY, [Fixed(KEY)])]),
    lambda: StageError("A stage", Fixed(KEY)),
    lambda: UnicodeEncodeError("ascii", f"Bearer {KEY}", 0, 1, "no"),
    lambda: OSError(5, f"no {KEY}", KEY, None, KEY),
    cyclic,
    nested,
    behind,
    deep,
]


@pytest.mark.parametrize("make", ERRORS)
def test_whatever_an_error_is_it_has_no_key(make: Callable[[], Exception]) -> None:
    """Nor has anything that is behind it or in it."""
    error = forget_secrets(make(), REQUEST)
    assert KEY not in "".join(everything(error))
    for broken in (Broken, SimpleNamespace):
        assert not any(isinstance(arg, broken) for arg in error.args)


def test_what_stands_in_has_the_place_of_the_other() -> None:
    """It names the type, says the words, and has the traceback and what is behind."""

    def fail() -> None:
        try:
            raise KeyError(KEY)
        except KeyError as cause:
            raise Fixed(f"bad {KEY}") from cause

    error = raised(fail)
    hidden = forget_secrets(error, REQUEST)
    assert isinstance(hidden, StandIn)
    assert str(hidden) == "Fixed: bad [hidden]"
    assert hidden.__traceback__ is error.__traceback__
    assert repr(hidden.__cause__) == "KeyError('[hidden]')"
    assert "StandIn" in repr(pickle.loads(pickle.dumps(hidden)))


def test_a_fault_stands_in_for_a_fault() -> None:
    """With its code and where it lies; and a group for a group."""
    fault = forget_secrets(OwnFault("", offset=7), REQUEST)
    assert isinstance(fault, StreamFault)
    assert str(fault) == "no [hidden] [own, byte 7]"
    group = ExceptionGroup(KEY, [OSError(5, "no"), Fixed(KEY)])
    hidden = forget_secrets(group, REQUEST)
    assert repr(hidden) == (
        "ExceptionGroup('[hidden]', [OSError(5, 'no'), StandIn('Fixed: [hidden]')])"
    )


def test_only_what_changes_is_set() -> None:
    """An attribute of an `OSError` that is set to what it was changes what it says."""
    error = OSError("Connection lost")
    assert forget_secrets(error, REQUEST) is error
    assert (str(error), repr(error)) == ("Connection lost", "OSError('Connection lost')")
    other = OSError(2, "No such file", "name")
    other.note = note = [1, {"a": "b"}]  # type: ignore[attr-defined]
    assert forget_secrets(other, REQUEST) is other
    assert str(other) == "[Errno 2] No such file: 'name'"
    assert other.note is note  # type: ignore[attr-defined]


def test_a_cause_that_stays_hides_no_context() -> None:
    """To link a chain anew changes nothing about what a traceback shows."""
    error = ValueError("no")
    error.__context__ = Fixed(KEY)
    hidden = forget_secrets(error, REQUEST)
    assert (hidden.__cause__, hidden.__suppress_context__) == (None, False)
    assert isinstance(hidden.__context__, StandIn)


def test_an_error_that_breaks_whoever_looks_is_not_handed_on() -> None:
    """A fault is a fault still."""

    class HostileFault(Hostile, StreamFault):
        code = "own"

    assert "Hostile, which cannot be" in str(forget_secrets(Hostile(KEY), REQUEST))
    fault = forget_secrets(HostileFault(KEY, offset=7), REQUEST)
    assert type(fault) is StreamFault
    assert str(fault).startswith("HostileFault, which cannot be")


def test_an_exit_is_never_replaced() -> None:
    """A program goes by its type."""
    error = forget_secrets(SystemExit(KEY), REQUEST)
    assert (type(error), error.args) == (SystemExit, ("[hidden]",))


@pytest.mark.parametrize("client", [httpx, httpx2])
def test_the_requests_of_an_error_are_secret_too(client: Any) -> None:
    """That of its own (a flow of authentication made it), and those behind its response."""
    other, first = "sk-Other789", "sk-First123"
    request = client.Request("GET", "http://test", headers={"authorization": f"Bearer {KEY}"})
    before = client.Response(302, request=client.Request("GET", f"http://test/?token={first}"))
    response = client.Response(
        401,
        request=client.Request("GET", "http://test", headers={"x-api-key": other}),
        history=[before],
    )
    said = f"{KEY}, {other}, {first}"
    error = client.LocalProtocolError(said, request=request)
    error.__cause__ = client.HTTPStatusError(said, request=request, response=response)
    forget_secrets(error)
    assert str(error) == str(error.__cause__) == "[hidden], [hidden], [hidden]"
    for carrier in (error, error.__cause__, response, before):
        with pytest.raises(RuntimeError):
            _ = carrier.request


def test_a_header_that_could_not_be_encoded_is_a_secret() -> None:
    """Nobody has seen it yet: a hook has set it."""
    error = RuntimeError(f"cannot send {KEY}\u2026")
    error.__cause__ = UnicodeEncodeError("ascii", f"Bearer {KEY}\u2026", 18, 19, "no")
    forget_secrets(error, unsent=True)
    assert KEY not in "".join(everything(error)) + repr(error.__cause__.object)  # type: ignore[attr-defined]


def test_what_hides_looks_at_each_dot_once() -> None:
    """The work grows with the text, and not with the key and its forms as well."""
    request = SimpleNamespace(headers={"x-api-key": "eyJ" + "aB3_" * 500}, url=None)

    def work(dots: int) -> int:
        calls = 0

        def count(frame: object, event: str, arg: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        error = ServiceError("." * dots)
        sys.setprofile(count)
        try:
            forget_secrets(error, request)
        finally:
            sys.setprofile(None)
        return calls

    assert work(4000) - work(40) < 30 * 4000
