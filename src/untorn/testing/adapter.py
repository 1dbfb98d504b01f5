"""Adapters: functions by name, each made of a package that may or may not be installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Generic, TypeVar

__all__ = ["Adapter", "NotThereError", "function_at", "installed", "made"]

F = TypeVar("F")


class NotThereError(ValueError):
    """What was named cannot be had; the message is a plain sentence that says why."""


@dataclass(frozen=True, slots=True)
class Adapter(Generic[F]):
    """A function made of some packages, and what to say of it."""

    says: str
    """What it is, in a few words."""
    packages: tuple[str, ...]
    """The distributions that it needs, as one asks pip for them."""
    make: Callable[[], F]
    """Imports them, and returns the function."""

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [package for package in self.packages if installed(package) is None]

    @property
    def versions(self) -> str:
        """The packages with their versions, for people."""
        return ", ".join(f"{name} {installed(name) or 'not installed'}" for name in self.packages)


def installed(package: str) -> str | None:
    """Return the version of a distribution, or `None` if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def made(kind: str, name: str, adapters: Mapping[str, Adapter[F]]) -> F:
    """Return the function of the adapter `name`; raises `NotThereError`.

    `kind` is what the adapters are ("parser"), for the sentence.
    """
    adapter = adapters.get(name)
    if adapter is None:
        known = ", ".join(adapters)
        raise NotThereError(
            f"There is no {kind} {name!r}: give one of {known}, or your own as module:function"
        )
    if missing := adapter.missing:
        needs = " and ".join(missing)
        raise NotThereError(
            f"The {kind} {name} needs {needs}, not installed: pip install {' '.join(missing)}"
        )
    return adapter.make()


def function_at(place: str) -> Callable[..., Any]:
    """Return the function at `module:function`; raises `NotThereError`."""
    module_name, _, path = place.partition(":")
    try:
        found: Any = import_module(module_name)
    except (ImportError, ValueError) as error:  # ValueError: no name at all
        raise NotThereError(f"The module {module_name!r} cannot be imported: {error}") from error
    for name in path.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise NotThereError(f"The module {module_name!r} has no function {path!r}")
    function: Callable[..., Any] = found
    return function
