from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from untorn import Dialect, JsonReducer, Limits, ServiceError, parse
from untorn.ndjson import LineFramer


@dataclass(frozen=True)
class Move:
    piece: str
    to: str


class _Moves(JsonReducer[Move, list[Move]]):
    sentinel = "[GAME OVER]"

    def __init__(self) -> None:
        self._moves: list[Move] = []

    @property
    def value(self) -> list[Move]:
        return list(self._moves)

    def on_json(self, data: Any) -> Iterable[Move]:
        match data:
            case {"error": str(message)}:
                raise ServiceError(message, raw=data)
            case {"piece": str(piece), "to": str(to)}:
                self._moves.append(Move(piece, to))
                yield self._moves[-1]


class Chess(Dialect[Move, list[Move]]):
    def reducer(self, limits: Limits) -> _Moves:
        return _Moves()


class ChessLines(Chess):
    def framer(self, limits: Limits) -> LineFramer:
        return LineFramer(limits.frame_bytes)


WIRE = b'data: {"piece": "pawn", "to": "e4"}\n\ndata: [GAME OVER]\n\n'

game = parse([WIRE], Chess())
print(list(game))
print(game.outcome)

cut = parse([WIRE[:-1]], Chess())
print(list(cut.events()))
print(cut.outcome)

failed = parse([b'data: {"error": "illegal move"}\n\n'], Chess())
print(list(failed.events()))
print(failed.outcome)

lines = parse([b'{"piece": "knight", "to": "f3"}\n{"clock": 290}\n[GAME OVER]\n'], ChessLines())
print(list(lines))
