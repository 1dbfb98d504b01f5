"""What can be wrong with a stream: one class per kind, each with a stable code.

    StreamFault
    ├── InvalidUtf8         invalid-utf8
    ├── LimitExceeded       frame-limit, total-limit, value-limit
    ├── InvalidJson         invalid-json
    ├── ProtocolViolation   protocol, invalid-id, unsupported-field
    ├── ServiceError        service-error
    ├── UnexpectedResponse  http-status, content-type, content-encoding
    └── StageError          stage-error

A fault is a value before it is an exception: it travels behind the events that
came before it, and is raised (inside `StreamFailed`) only where they end.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "InvalidJson",
    "InvalidUtf8",
    "LimitExceeded",
    "ProtocolViolation",
    "ServiceError",
    "StageError",
    "StreamFault",
    "UnexpectedResponse",
    "shortened",
]


def shortened(text: str) -> str:
    """Return a text as a sentence has it: its beginning, and dots where it is long."""
    return text if len(text) <= 80 else text[:77] + "..."


class StreamFault(Exception):
    """The stream is wrong from byte `offset` on.

    `code` is stable and meant for programs; `str(fault)` is a plain sentence
    meant for people. `offset` counts bytes from the start of the stream. Faults
    of bytes (ill-formed text, limits) name the byte itself; faults of meaning
    (a bad payload, an error the service reports) name the first byte of the
    frame that carried them.
    """

    code: str = "fault"
    offset: int

    def __init__(self, sentence: str, *, offset: int = 0) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.sentence} [{self.code}, byte {self.offset}]"

    def __eq__(self, other: object) -> bool:
        """Compare what is wrong and where: the same bytes give equal faults."""
        if not isinstance(other, StreamFault):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[type[StreamFault], str, int, str]:
        return type(self), self.code, self.offset, self.sentence

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with `args`, which are not the
        # arguments of most subclasses.
        return (_restore, (type(self), self.args, self.__dict__))


def _restore(kind: type[StreamFault], args: tuple[Any, ...], state: dict[str, Any]) -> StreamFault:
    fault = kind.__new__(kind, *args)
    fault.__dict__.update(state)
    return fault


class InvalidUtf8(StreamFault):
    """The bytes are not UTF-8; `offset` is where the ill-formed sequence begins.

    A sequence merely unfinished at the end of the stream is not invalid: it is
    torn, and the outcome says so.
    """

    code = "invalid-utf8"

    def __init__(self, sequence: bytes, *, offset: int = 0) -> None:
        shown = sequence.hex(" ").upper()
        super().__init__(
            f"The bytes {shown} are not UTF-8; find out which hop re-encodes the stream, "
            'or read it with errors="replace" if it carries no message you must trust',
            offset=offset,
        )
        self.sequence = sequence


class LimitExceeded(StreamFault):
    """A limit was passed; `offset` is the first byte beyond it.

    `limit` is the name of the field of `Limits`, `value` its number of bytes.
    """

    CODES: ClassVar[dict[str, str]] = {
        "frame_bytes": "frame-limit",
        "total_bytes": "total-limit",
        "value_bytes": "value-limit",
    }
    _WHAT: ClassVar[dict[str, str]] = {
        "frame_bytes": "One frame is longer than",
        "total_bytes": "The stream is longer than",
        "value_bytes": "The folded value is larger than",
    }

    def __init__(self, limit: str, value: int, *, offset: int = 0) -> None:
        super().__init__(
            f"{self._WHAT[limit]} {value:,} bytes; raise Limits({limit}=...) "
            "if you expect this, or ask the service for less",
            offset=offset,
        )
        self.code = self.CODES[limit]
        self.limit = limit
        self.value = value


class InvalidJson(StreamFault):
    """A whole frame arrived, but its payload is not the JSON its dialect promises."""

    code = "invalid-json"

    def __init__(self, payload: str, reason: str, *, offset: int = 0) -> None:
        super().__init__(
            f"The payload {shortened(payload)!r} is not valid JSON ({reason}); "
            "check that the dialect fits the service",
            offset=offset,
        )
        self.payload = payload
        self.reason = reason


class ProtocolViolation(StreamFault):
    """The frames are well formed but break the rules of the dialect."""

    def __init__(self, sentence: str, *, code: str = "protocol", offset: int = 0) -> None:
        super().__init__(sentence, offset=offset)
        self.code = code


class ServiceError(StreamFault):
    """The service reported an error inside the stream.

    `type`, `message`, `service_code` and `request_id` are the service's own
    words (`None` where it gave none); `raw` is the payload as it was parsed.
    """

    code = "service-error"

    def __init__(
        self,
        message: str | None,
        *,
        type: str | None = None,
        service_code: str | int | None = None,
        request_id: str | None = None,
        raw: Any = None,
        offset: int = 0,
    ) -> None:
        said = message or "no message"
        super().__init__(
            f"The service reported an error: {said}" + (f" ({type})" if type else ""),
            offset=offset,
        )
        self.type = type
        self.message = message
        self.service_code = service_code
        self.request_id = request_id
        self.raw = raw


class UnexpectedResponse(StreamFault):
    """The HTTP response is not a stream: wrong `status`, wrong `media_type`, or undecodable.

    `body` is the beginning of what came instead, decoded and capped; `message` what
    it says, if that could be told. `retry_after` is the number of seconds after which
    the server wants to be asked again, `request_id` its own name for the request
    (`None` where it gave none).
    """

    def __init__(
        self,
        sentence: str,
        *,
        code: str,
        status: int,
        media_type: str | None,
        body: bytes = b"",
        message: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        offset: int = 0,
    ) -> None:
        super().__init__(sentence, offset=offset)
        self.code = code
        self.status = status
        self.media_type = media_type
        self.body = body
        self.message = message
        self.retry_after = retry_after
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.sentence} [{self.code}]"  # of its bytes none was read as a stream


class StageError(StreamFault):
    """A dialect (or one of our stages) raised something that is not a fault: a bug.

    The exception itself is `__cause__`, which is not pickled along.
    """

    code = "stage-error"

    def __init__(self, where: str, bug: Exception, *, offset: int = 0) -> None:
        super().__init__(
            f"{where} raised {bug!r}; this is a bug in that code, not in the stream",
            offset=offset,
        )
        self.__cause__ = bug

    @classmethod
    def in_stage(cls, stage: object, bug: Exception) -> StageError:
        """Return the error for what a stage raised."""
        return cls(f"The stage {type(stage).__name__}", bug)
