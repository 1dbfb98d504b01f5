"""Where an SDK and untorn say different things of the same bytes, and why untorn's are right."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from dialects.captures import FOLDER

from .answer import Call

FOX = "🦊"


class Kind(enum.Enum):
    """What a deviation does to the caller; the value is a title of the page."""

    LOOKS_WHOLE = "An answer that is cut or failed looks whole"
    REFUSED = "A whole answer is refused"
    CHANGED = "A whole answer is changed"
    MISNAMED = "An answer that is cut or failed is refused for another reason"


@dataclass(frozen=True)
class Deviation:
    """One kind of stream that an SDK misreads.

    `sent` completes "What was sent: ..."; `wire` is the bytes, or the name of a capture. `sdk` and
    `untorn` are what each of them is told to make of it (`told_by_sdk`, `told_by_untorn`).
    """

    call: Call
    sent: str
    wire: bytes | str
    sdk: str
    untorn: str

    @property
    def id(self) -> str:
        return f"{self.call.id}: {self.sent}"

    @property
    def kind(self) -> Kind:
        """Follows from what both say."""
        whole, raises = self.untorn.startswith("Completed"), self.sdk.startswith("raises")
        if whole:
            return Kind.REFUSED if raises else Kind.CHANGED
        return Kind.MISNAMED if raises else Kind.LOOKS_WHOLE

    @property
    def bytes(self) -> bytes:
        return self.wire if isinstance(self.wire, bytes) else (FOLDER / self.wire).read_bytes()


def in_character(wire: bytes) -> bytes:
    """Cut a wire in its first fox."""
    return wire[: wire.index(FOX.encode()) + 2]


def in_frame(wire: bytes) -> bytes:
    """Cut a wire behind its first fox."""
    return wire[: wire.index(FOX.encode()) + 4]


def in_message(wire: bytes, blank: bytes = b"\n\n") -> bytes:
    """Cut a wire in front of the frame with its first fox."""
    return wire[: wire.rindex(blank, 0, wire.index(FOX.encode())) + len(blank)]


def raw(wire: bytes) -> bytes:
    """Return a wire with its fox as UTF-8, and not as the escape that `json.dumps` makes of it."""
    return wire.replace(rb"\ud83e\udd8a", FOX.encode())
