"""Errors without what requests keep secret.

They may be pickled, logged and shown: with a request that they carry along, with a key
that a service repeated to them, and with whatever else they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final, TypeVar, cast

from .faults import StageError, StreamFault
from .hidden import Hiding, in_octets
from .secrets import credentials_of, requests_of

__all__ = ["StandIn", "forget_secrets"]

F = TypeVar("F", bound=BaseException)

_MISSING: Final = object()
_CONTAINERS: Final = (list, tuple, set, frozenset, dict)


class StandIn(Exception):
    """What is left of an exception that could not be freed of a secret: its type and its words."""


def forget_secrets(error: F, *requests: Any, unsent: bool = False) -> F:
    """Take what requests keep secret out of an error and of all behind it and in it.

    Returns the error to hand on: the same one, or where it cannot be changed another one
    that says the same without the secret, a `StreamFault` for a `StreamFault`. Nothing is
    raised. What an error itself knows of requests is secret, too; and it is handed on
    without them. What programs go by, numbers and the `code` of a fault, stays as it is.

    unsent
        Whether it came before the response: then a text that could not be encoded is a
        header that nobody has seen yet.
    """
    try:
        return _forgetful(error, requests, unsent)
    except Exception:  # nobody knows what is in it, or behind it
        unknown = f"{type(error).__name__}, which cannot be searched for secrets"
        if isinstance(error, StreamFault):
            return cast(F, _fault(unknown, error))
        return cast(F, StandIn(unknown) if isinstance(error, Exception) else error)


def _forgetful(error: F, requests: tuple[Any, ...], unsent: bool) -> F:
    errors = _reachable(error)
    known = [*requests, *_requests_in(errors)]
    texts = [each.object for each in errors if unsent and isinstance(each, UnicodeEncodeError)]
    hiding = Hiding(*known, secrets=[part for text in texts for part in credentials_of(text)])
    for each in errors:
        _let_go(each)
    stand_ins: dict[int, BaseException] = {}
    for each in reversed(errors) if hiding else ():  # those inside come before those around
        _clean(each, hiding, stand_ins)
        if isinstance(each, Exception) and _still_tells(each, hiding, stand_ins):
            stand_ins[id(each)] = _stand_in(each, _words(each, hiding), stand_ins)
    if stand_ins:
        for each in [*errors, *stand_ins.values()]:
            _clean(each, hiding, stand_ins)
            _link(each, stand_ins)
    return cast(F, stand_ins.get(id(error), error))


# --- what there is ------------------------------------------------------------------


def _reachable(error: BaseException) -> list[BaseException]:
    """Return an error, those behind it, and those that it holds, each once."""
    found: dict[int, BaseException] = {}
    seen: dict[int, Any] = {}
    todo: list[Any] = [error]
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        if isinstance(each, BaseException):
            seen[id(each)] = found[id(each)] = each
            todo += [each.__context__, each.__cause__, each.args, *_held(each).values()]
        elif isinstance(each, _CONTAINERS):
            seen[id(each)] = each
            todo += each.values() if isinstance(each, dict) else each
    return [*found.values()]


def _held(error: BaseException) -> dict[str, Any]:
    """Return what an error holds beside its `args`, in its dictionary or not, by its names."""
    names = [*vars(error)]
    for kind in type(error).__mro__:
        for name, member in vars(kind).items():
            if isinstance(member, (MemberDescriptorType, GetSetDescriptorType)):
                names.append(name)
    ours = "code" if isinstance(error, StreamFault) else ""
    return {
        name: value
        for name in names
        if (name not in ("args", ours) and not name.startswith("__")) or name == "__notes__"
        if (value := _get(error, name)) is not _MISSING
    }


def _get(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, _MISSING)
    except Exception:  # of a property
        return _MISSING


def _requests_in(errors: Iterable[BaseException]) -> Iterator[Any]:
    """Yield the requests that errors carry along, as those of clients do."""
    for each in errors:
        for carrier in (each, _get(each, "response")):
            with suppress(Exception):
                yield from requests_of(carrier)


def _is_request(value: Any) -> bool:
    has = [_get(value, name) is not _MISSING for name in ("method", "headers", "status")]
    return has == [True, True, False]


# --- without secrets ----------------------------------------------------------------


def _let_go(error: BaseException) -> None:
    """Take requests out of the errors of clients, and out of the responses in those."""
    response = _get(error, "response")
    for carrier in (error, response, *(getattr(response, "history", None) or ())):
        if isinstance(getattr(type(carrier), "request", None), property):
            with suppress(Exception):  # it may be for reading only
                setattr(carrier, "request", None)  # noqa: B010 - of a type nobody imports here


def _clean(error: BaseException, hiding: Hiding, stand_ins: dict[int, BaseException]) -> None:
    """Set what has changed; what cannot be set is seen to afterwards."""
    [*given] = error.args
    if (args := _hidden(given, hiding, stand_ins)) is not given:
        _set(error, "args", tuple(args))
    for name, value in _held(error).items():
        if (hidden := _hidden(value, hiding, stand_ins)) is not value:
            with suppress(Exception):
                _set(error, name, hidden)


def _hidden(value: Any, hiding: Hiding, stand_ins: dict[int, BaseException]) -> Any:
    """Return a value as JSON has it, or what else an error may hold, without secrets.

    It is the same one if there are none in it. Not by recursion: how deep it nests is for
    the service to say, and it may hold itself.
    """
    root, changed = [value], False
    todo: list[tuple[Any, Any]] = [(root, 0)]
    copies: dict[int, Any] = {}
    while todo:
        holder, key = todo.pop()
        old = new = holder[key]
        if type(old) is not dict and type(old) is not list:
            new = _leaf(old, hiding, stand_ins)
            changed = changed or new is not old
        elif (new := copies.get(id(old))) is None:
            new = [*old]
            if type(old) is dict:
                names = [_leaf(name, hiding, stand_ins) for name in old]
                changed = changed or any(a is not b for a, b in zip(names, old, strict=True))
                new = dict(zip(names, old.values(), strict=True))
            copies[id(old)] = new
            todo += [(new, each) for each in (new if type(old) is dict else range(len(new)))]
        holder[key] = new
    return root[0] if changed else value


def _leaf(value: Any, hiding: Hiding, stand_ins: dict[int, BaseException]) -> Any:
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, BaseException):
        return stand_ins.get(id(value), value)
    if isinstance(value, bytes):
        return in_octets(value, hiding.sentence)
    try:
        shown = value if isinstance(value, str) else repr(value)
    except Exception:  # what it holds cannot be seen to
        return f"<{type(value).__name__}>"
    hidden = hiding.sentence(shown)
    return value if hidden == shown and not _is_request(value) else hidden


# --- in the place of an error -------------------------------------------------------


def _still_tells(error: BaseException, hiding: Hiding, stand_ins: dict[int, BaseException]) -> bool:
    """Say whether a secret is left in an error, or in what it says."""
    if isinstance(error, BaseExceptionGroup) and any(id(e) in stand_ins for e in error.exceptions):
        return True
    for say in (str, repr):
        with suppress(Exception):  # then it says nothing
            said = say(error)
            if hiding.sentence(said) != said:
                return True
    held = [[*error.args], *_held(error).values(), _get(error, "request")]
    return any(_hidden(value, hiding, stand_ins) is not value for value in held)


def _words(error: BaseException, hiding: Hiding) -> str:
    """Return what an error says, without secrets."""
    with suppress(Exception):
        given = _get(error, "message" if isinstance(error, BaseExceptionGroup) else "sentence")
        return hiding.sentence(given if isinstance(given, str) else str(error))
    return ""


def _stand_in(error: Exception, words: str, stand_ins: dict[int, BaseException]) -> Exception:
    """Return what stands for an error, which has the same place and the same errors behind it."""
    new: Exception = StandIn(": ".join(filter(None, (type(error).__name__, words))))
    if isinstance(error, StreamFault):
        new = _fault(words, error)
    elif isinstance(error, ExceptionGroup):
        members = [cast(Exception, stand_ins.get(id(e), e)) for e in error.exceptions]
        new = ExceptionGroup(words, members)
    new.__cause__, new.__context__ = error.__cause__, error.__context__
    new.__suppress_context__ = error.__suppress_context__
    return new.with_traceback(error.__traceback__)


def _fault(words: str, error: StreamFault) -> StreamFault:
    offset, code = _get(error, "offset"), _get(error, "code")
    new = StreamFault(words, offset=offset if isinstance(offset, int) else 0)
    new.code = code if isinstance(code, str) else StageError.code
    return new


def _link(error: BaseException, stand_ins: dict[int, BaseException]) -> None:
    """Put what stands for the errors behind an error in their place."""
    hushed = error.__suppress_context__
    for name in ("__cause__", "__context__"):
        behind = getattr(error, name)
        if id(behind) in stand_ins:
            _set(error, name, stand_ins[id(behind)])
    _set(error, "__suppress_context__", hushed)


def _set(error: BaseException, name: str, value: Any) -> None:
    object.__setattr__(error, name, value)  # of a frozen dataclass as well
