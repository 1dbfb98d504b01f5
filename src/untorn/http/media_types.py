"""The media types a stream may be served as, and whether one of them is what came.

RFC 9110, section 8.3.1: types are compared without regard to case; parameters are
left out, for none of them changes what the bytes of a stream mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..dialects.detect import media_type
from ..reduce import Dialect

__all__ = ["accepts", "as_media_types", "media_type", "media_types_of"]

_ANY: Final = frozenset({"*/*"})


def media_types_of(dialect: Dialect[Any, Any]) -> frozenset[str]:
    """Return the media types of a dialect's streams: its own, or those of its framer.

    A framer of yours that says nothing may be served as anything: `*/*`.
    """
    if dialect.media_types is not None:
        return as_media_types(dialect.media_types)
    of_framer: frozenset[str] = getattr(dialect.framer(dialect.limits), "media_types", _ANY)
    return of_framer


def as_media_types(given: Iterable[str]) -> frozenset[str]:
    """Return the types in lower case and without parameters; raises `TypeError`, `ValueError`."""
    if isinstance(given, str):
        raise TypeError(f"media_types={given!r} is one string; write media_types=[{given!r}]")
    named = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(each, str) for each in named):
        raise TypeError(
            f"media_types={given!r} names what is no text; give strings: ['text/event-stream']"
        )
    kinds = frozenset(each.partition(";")[0].strip().lower() for each in named) - {""}
    if not kinds:
        raise ValueError(f"media_types={given!r} names no type; write ['*/*'] for any")
    return kinds


def accepts(accepted: frozenset[str], kind: str) -> bool:
    """Say whether a type is among those accepted; `*/*` and `text/*` are ranges."""
    return not accepted.isdisjoint((kind, f"{kind.partition('/')[0]}/*", "*/*"))
