"""Secrets as they are spelled: as they are, in JSON, in Python, in a URL, in HTML, in base64.

Letters, digits and `-_.~` stand for themselves. Every other character has many spellings,
each of which may stand in the place of each one: writers differ in what they escape.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from html.entities import codepoint2name
from typing import Final, TypeAlias

__all__ = ["Spelled"]

_Atom: TypeAlias = "str | _Alternatives"
"""A pattern for a character that is written; or, of a character that came of another, all."""
_Alternatives: TypeAlias = list[Sequence[_Atom]]
"""All spellings of a character, of two that begin alike the longer one first."""
_Piece: TypeAlias = str | _Alternatives
"""Characters that have but one spelling, or one that has more."""

_PLAIN: Final = "[A-Za-z0-9_.~-]+"
_PIECES: Final = re.compile(rf"{_PLAIN}|\\+|.", re.DOTALL)
_SHORT: Final = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}
_NAMES: Final = codepoint2name | {ord("'"): "apos"}
# What was escaped is escaped again where it is quoted: so there may be several.
_SOME: Final = r"\\{1,8}+"
_ANY: Final = r"\\{0,8}+"
_IN_URLS: Final[dict[str, _Alternatives]] = {"+": [["-"]], "/": [["_"]]}
"""What base64 has instead where it is made for URLs."""
_END: Final = r"\Z"
_ASCII: Final = 0x80
_BYTE: Final = 0x100
_MOST: Final = 64
"""Characters of a spelling."""
_DOCUMENT: Final = 512
"""Pieces; what has more is no key but a document, and is looked for as a whole alone."""


class Spelled:
    """Some secrets, to be found in a text whatever their spelling is."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._patterns = [_Pattern(form) for secret in secrets for form in _forms(secret)]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where each secret begins and ends; those that overlap, too."""
        for pattern in self._patterns:
            if pattern.anchor in text:
                yield from pattern.spans(text)

    def begun(self, text: str) -> int:
        """Return where the text ends in the beginning of a secret, or else its length."""
        return min((pattern.begun(text) for pattern in self._patterns), default=len(text))


class _Pattern:
    """One secret, in pieces."""

    def __init__(self, pieces: list[_Piece]) -> None:
        plain = [piece if isinstance(piece, str) else "" for piece in pieces]
        self.anchor = max(plain, key=len)
        """What stands in every spelling, and is searched for first: that is fast."""
        self._head = plain[0]
        self._pieces = pieces
        self._longest = sum(map(len, plain)) + _MOST * plain.count("")

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        found = self._whole.search(text)
        while found is not None:
            yield found.span()
            found = self._whole.search(text, found.start() + 1)

    def begun(self, text: str) -> int:
        if len(self._pieces) > _DOCUMENT:
            return len(text)
        start = max(0, len(text) - self._longest)
        if not self._head:
            found = self._unfinished.search(text, start)
            return len(text) if found is None else found.start()
        while (start := text.find(self._head[0], start)) >= 0:
            piece = text[start : start + len(self._head)]
            if piece == self._head:
                if self._unfinished.match(text, start):
                    return start
            elif self._head.startswith(piece):  # so it is the last one
                return start
            start += 1
        return len(text)

    @cached_property
    def _whole(self) -> re.Pattern[str]:
        pieces = (
            re.escape(each) if isinstance(each, str) else _whole(each) for each in self._pieces
        )
        return re.compile("".join(pieces))

    @cached_property
    def _unfinished(self) -> re.Pattern[str]:
        """Match what a text ends in, if with more of it that would be this secret.

        From where the text ends on, each character that would follow is at the end as well.
        """
        *some, last = [character for piece in self._pieces for character in _characters(piece)]
        begun, going_on = map(_begun, some[:1]), map(_going_on, some[1:])
        return re.compile("".join([*begun, *going_on, _unfinished(last)]))


# --- the patterns -------------------------------------------------------------------


def _characters(piece: _Piece) -> list[_Alternatives]:
    return [[[char]] for char in map(re.escape, piece)] if isinstance(piece, str) else [piece]


def _one_of(alternatives: Iterable[Iterable[str]]) -> str:
    return f"(?:{'|'.join(map(''.join, alternatives))})"


def _whole(character: _Alternatives) -> str:
    """Match a character in any spelling."""
    return _one_of(
        (atom if isinstance(atom, str) else _whole(atom) for atom in atoms) for atoms in character
    )


def _begun(character: _Alternatives) -> str:
    """The same, or a beginning of it at the end of the text."""
    return _one_of(
        [first if isinstance(first, str) else _begun(first), *map(_or_end, others)]
        for first, *others in character
    )


def _going_on(character: _Alternatives) -> str:
    """The same, or nothing of it, there."""
    return _one_of([*(map(_or_end, atoms) for atoms in character), [_END]])


def _unfinished(character: _Alternatives) -> str:
    """Match a beginning of it or nothing, at the end of the text, but not all of it."""
    return _one_of(
        [*map(_or_end, atoms), _END if isinstance(last, str) else _unfinished(last)]
        for *atoms, last in character
    )


def _or_end(atom: _Atom) -> str:
    return rf"(?:{atom}|\Z)" if isinstance(atom, str) else _going_on(atom)


# --- the spellings ------------------------------------------------------------------


def _forms(secret: str) -> Iterator[list[_Piece]]:
    """Yield a secret, and what of its base64 does not depend on what stands around it."""
    yield [*_spellings(secret)]
    raw = secret.encode("utf-8", "surrogatepass")
    for before, mixed in ((0, 0), (1, 2), (2, 3)):
        encoded = b64encode(bytes(before) + raw)[mixed : (before + len(raw)) * 8 // 6].decode()
        chars = _PIECES.findall(encoded)
        yield [
            piece if isinstance(piece, str) else [*piece, *_IN_URLS[char]]
            for char, piece in zip(chars, _spellings(encoded), strict=True)
        ]


def _spellings(text: str) -> Iterator[_Piece]:
    """Yield the spellings of each character; of several backslashes, those of all together."""
    escape = _SOME
    for piece in _PIECES.findall(text):
        if re.match(_PLAIN, piece):
            yield str(piece)
        elif piece[0] == "\\":
            number = len(piece)
            several: list[_Atom] = [r"\\"] * number
            escaped_too = rf"\\{{0,{7 * number}}}+"
            words = [[*atoms] * number for atoms in _in_other_words("\\", escape)]
            yield [*words, [*several, escaped_too]]
        else:
            yield [*_in_other_words(piece, escape), *_itself(piece)]
        # What a backslash has before it may have taken those of what follows.
        escape = _ANY if piece[0] == "\\" else _SOME


def _itself(char: str) -> _Alternatives:
    """Return a character as it is, or as its UTF-8 is where that is read as Latin-1."""
    itself: _Alternatives = [[_ANY, re.escape(char)]]
    if ord(char) < _ASCII:
        return itself
    octets = char.encode("utf-8", "surrogatepass").decode("latin-1")
    return [*itself, [[*_in_other_words(octet, _SOME), [octet]] for octet in octets]]


def _in_other_words(char: str, escape: str) -> _Alternatives:
    """Return what stands for a character; what was written twice comes first."""
    point = ord(char)
    first, *second = char.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    found: _Alternatives = [[r"\+"]] if char == " " else []
    pair = [atom for unit in second for atom in (_SOME, "u", *_hex(unit))]
    found.append([escape, "u", *_hex(first), *pair])
    if point < _BYTE:
        found += [[escape, "x", *_hex(f"{point:02x}")], [escape, *f"{point:03o}"]]
    if char in _SHORT:
        found.append([escape, _SHORT[char]])
    names: list[list[str]] = [
        ["#", "0{0,5}", *str(point)],
        ["#", "[xX]", "0{0,5}", *_hex(f"{point:x}")],
    ]
    if point in _NAMES:
        names.append([*_NAMES[point]])
    found += [["&", *again, *name, ";"] for name in names for again in ("amp;", "")]
    for encoding in ("utf-8", "latin-1") if _ASCII <= point < _BYTE else ("utf-8",):
        octets = [
            [*_hex(octet)] for octet in char.encode(encoding, "surrogatepass").hex(" ").split()
        ]
        for again in ("25", ""):
            found.append([atom for octet in octets for atom in ("%", *again, *octet)])
    return found


def _hex(digits: str) -> Iterator[str]:
    """Yield patterns of digits in either case."""
    return (digit if digit.isdigit() else f"[{digit}{digit.upper()}]" for digit in digits)
