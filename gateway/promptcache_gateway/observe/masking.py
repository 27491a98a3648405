"""Keys of texts with their volatile values masked, remembered piece by piece.

Finding volatile values is the SDK's work and the costly part of seeing a request. A text is therefore
handled in pieces of a few lines: in a prompt of 200 KB whose clock has moved only the piece with the
clock is looked at again. Lines, because a volatile value that grows by a character must not move
every later piece. Of a long text only the beginning and the end are masked, the rest counts as it
stands: a volatile value there makes another key, and the comparison still finds it. Memory is
bounded: what was seen first is forgotten first, and found again at its next sight.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from promptcache.detectors import mask_volatile

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = TypeVar("Value")

HEAD_BUDGET = (24_000, 8_000)
"""Characters masked at the beginning and at the end of a tool or an instruction."""

MESSAGE_BUDGET = (600, 0)
"""The same for a message: its own volatile values matter less, and there are many."""

_LINES_A_PIECE = 8
_LONG_PIECE = 4_096
_MAX_PIECES = 8_192
_MAX_TEXTS = 8_192


class Masker:
    """Turns texts into keys that volatile values do not change. Safe to share between threads."""

    def __init__(self, *, max_pieces: int = _MAX_PIECES, max_texts: int = _MAX_TEXTS) -> None:
        self._pieces: OrderedDict[int, _Piece] = OrderedDict()
        self._texts: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self._keys: OrderedDict[int, int] = OrderedDict()
        self._max_pieces = max_pieces
        self._max_texts = max_texts
        self._lock = Lock()

    def key(self, text: str, budget: tuple[int, int] = HEAD_BUDGET) -> int:
        """A key equal for two texts that differ only in volatile values. Valid in this process only.

        Of a text that has none it is the same whatever the budget.
        """
        at = hash((text, budget))
        known = self._keys.get(at)
        if known is None:
            known = hash(
                tuple([look.key if look else hash(piece) for piece, look in self._looks(text, *budget)])
            )
            with self._lock:
                _put(self._keys, at, known, self._max_texts)
        return known

    def digests(self, text: str, budget: tuple[int, int] = HEAD_BUDGET) -> tuple[int, ...]:
        """One 64-bit number for each piece, the same in every process."""
        key = hash((text, budget))
        known = self._texts.get(key)
        if known is None:
            looks = self._looks(text, *budget)
            known = tuple([look.digest if look else stable_digest(piece) for piece, look in looks])
            with self._lock:
                _put(self._texts, key, known, self._max_texts)
        return known

    def _looks(self, text: str, start: int, end: int) -> Iterator[tuple[str, _Piece | None]]:
        """The pieces of a text, each with a look at it where it is near enough to an end to be masked."""
        before, total, most = 0, len(text), min(max(start, end), _LONG_PIECE)
        for piece in pieces_of(text):
            near = before < start or total - before - len(piece) < end
            yield piece, self._look(piece, most) if near else None
            before += len(piece) + 1

    def masked(self, text: str, limit: int) -> str:
        """The first ``limit`` characters of a text, about, with volatile values masked.

        What stands between two pieces is kept: where a text is cut depends on how much is in front.
        """
        parts: list[str] = []
        place = 0
        for piece in pieces_of(text):
            if place >= limit:
                break
            end = place + len(piece)
            between = "\n" if text.startswith("\n", end) else text[end : end + 2]
            parts += (self._look(piece, _LONG_PIECE).masked, between)
            place = end + len(between)
        return "".join(parts)

    def clear(self) -> None:
        """Remember no text any more; keys stay what they are."""
        with self._lock:
            self._pieces.clear()
            self._texts.clear()
            self._keys.clear()

    def _look(self, piece: str, most: int) -> _Piece:
        """A piece with its first ``most`` characters masked."""
        key = hash(piece if len(piece) <= most else (piece, most))
        known = self._pieces.get(key)
        if known is None:
            masked = mask_volatile(piece[:most])
            known = _Piece(masked, masked if len(piece) <= most else masked + piece[most:])
            with self._lock:
                _put(self._pieces, key, known, self._max_pieces)
        return known


class _Piece:
    """A masked piece: its key in this process, its text (of an endless one, the beginning)."""

    __slots__ = ("_digest", "key", "masked")

    def __init__(self, masked: str, whole: str) -> None:
        self.masked = masked
        self.key = hash(whole)
        self._digest = None if whole is masked else stable_digest(whole)  # of an endless one no more is kept

    @property
    def digest(self) -> int:
        """Its digest. Most pieces are questions, whose digests nobody asks for."""
        if self._digest is None:
            self._digest = stable_digest(self.masked)
        return self._digest


def pieces_of(text: str) -> list[str]:
    """Cut a text after every few lines, and a long line after every few sentences."""
    if len(text) <= _LONG_PIECE and text.count("\n") < _LINES_A_PIECE:
        return [text]
    pieces: list[str] = []
    for piece in _groups(text, "\n"):
        pieces += _groups(piece, ". ") if len(piece) > _LONG_PIECE else [piece]
    return pieces


def stable_digest(text: str) -> int:
    """A 64-bit number for a text, the same in every process."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def _groups(text: str, separator: str) -> list[str]:
    parts = text.split(separator)
    if len(parts) <= _LINES_A_PIECE:
        return [text]
    return [separator.join(parts[i : i + _LINES_A_PIECE]) for i in range(0, len(parts), _LINES_A_PIECE)]


def _put(memory: OrderedDict[int, Value], key: int, value: Value, limit: int) -> None:
    """Remember a value; what was seen first is forgotten first."""
    memory[key] = value
    while len(memory) > limit:
        memory.popitem(last=False)
