"""Texts, values and errors without what a request keeps secret.

Clients quote a header they refuse to send, errors carry the request along when they
are pickled, and servers repeat what they were sent, in bodies and inside streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final

from .secrets import SHORTEST, secrets_of

__all__ = ["forget_secrets", "hide_begun", "hide_secrets"]

_HIDDEN: Final = "[hidden]"
_CUT: Final = "..."
"""What a sentence has where it leaves something out."""
_SENTENCE: Final = 4096
"""Characters; what is longer is a payload, and nobody has cut it."""


def hide_secrets(text: str, request: Any) -> str:
    """Return `text` without the secrets of a request (of httpx2, httpx or aiohttp)."""
    return _without(text, secrets_of(request))


def hide_begun(text: str, request: Any) -> str:
    """Return `text` without the beginning of a secret at its end, where it was cut off."""
    return _without_begun(text, secrets_of(request))


def forget_secrets(error: BaseException | None, *requests: Any) -> None:
    """Take what requests keep secret out of an error, and of all behind it.

    What programs go by, the `code` of a fault, stays as it is.
    """
    found = {secret for request in requests for secret in secrets_of(request)}
    secrets = sorted(found, key=len, reverse=True)
    for each in _chain(error):
        for carrier in [each, getattr(each, "response", None)]:  # of clients' errors
            if isinstance(getattr(type(carrier), "request", None), property):
                setattr(carrier, "request", None)  # noqa: B010 - of a type nobody imports here
        each.args = tuple(_hidden(list(each.args), secrets))
        for name in _attributes(each) if secrets else ():
            with suppress(Exception):  # not every one can be read, or set
                setattr(each, name, _hidden(getattr(each, name), secrets))


def _attributes(error: BaseException) -> Iterator[str]:
    """Yield the names of what an error holds beside its `args`, in its dictionary or not."""
    yield from (name for name in list(vars(error)) if name != "code")
    for kind in type(error).__mro__:
        for name, member in vars(kind).items():
            held = isinstance(member, (MemberDescriptorType, GetSetDescriptorType))
            if held and name != "args" and not name.startswith("__"):
                yield name


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, those behind it, and those in it, each once."""
    seen: set[int] = set()
    errors: list[BaseException | None] = [error]
    while errors:
        each = errors.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        errors += [each.__cause__, each.__context__]
        errors += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text


def _without_begun(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        for size in range(len(secret) - 1, SHORTEST - 1, -1):
            if text.endswith(secret[:size]):
                return text[:-size] + _HIDDEN
    return text


def _sentence(text: str, secrets: list[str]) -> str:
    """Return a text without secrets, and without what is left of one where it was cut."""
    text = _without(text, secrets)
    if len(text) > _SENTENCE:
        return text
    *cut, last = text.split(_CUT)
    return _CUT.join([*(_without_begun(part, secrets) for part in cut), last])


def _hidden(value: Any, secrets: list[str]) -> Any:
    """Return a value as JSON has it, or what else an error may hold, without secrets.

    Not by recursion: how deep it nests is for the service to say.
    """
    root = [value]
    todo: list[tuple[Any, Any]] = [(root, 0)]
    while todo:
        holder, key = todo.pop()
        old = holder[key]
        if type(old) is dict:
            new: Any = {_leaf(name, secrets): item for name, item in old.items()}
            todo += [(new, name) for name in new]
        elif type(old) is list:
            new = list(old)
            todo += [(new, number) for number in range(len(new))]
        else:
            new = _leaf(old, secrets)
        holder[key] = new
    return root[0]


def _leaf(value: Any, secrets: list[str]) -> Any:
    if value is None or isinstance(value, (int, float, BaseException)):
        return value
    if isinstance(value, bytes):
        text = value.decode("utf-8", "surrogateescape")
        return _sentence(text, secrets).encode("utf-8", "surrogateescape")
    try:
        shown = value if isinstance(value, str) else repr(value)
    except Exception:  # then nobody will see it
        return value
    hidden = _sentence(shown, secrets)
    return value if hidden == shown else hidden
