"""Keys of texts with their volatile values masked, remembered piece by piece.

Finding volatile values is the SDK's work and the costly part of seeing a request. A text is therefore
handled in pieces of a fixed number of lines: in a prompt of 200 KB whose clock has moved only the
piece with the clock is looked at again. Lines, because a volatile value that grows by a character
must not move every later piece. Memory is bounded: the least recently used pieces are forgotten.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import TypeVar

from promptcache.detectors import mask_volatile

Value = TypeVar("Value")

_LINES_A_PIECE = 8
_MAX_PIECES = 32_768
_MAX_TEXTS = 8_192


class Masker:
    """Turns texts into keys that volatile values do not change. Safe to share between threads."""

    def __init__(self, *, max_pieces: int = _MAX_PIECES, max_texts: int = _MAX_TEXTS) -> None:
        self._pieces: OrderedDict[int, int] = OrderedDict()
        self._texts: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self._max_pieces = max_pieces
        self._max_texts = max_texts
        self._lock = Lock()

    def key(self, text: str) -> int:
        """A key equal for two texts that differ only in volatile values. Valid in this process only."""
        return hash(self.digests(text))

    def digests(self, text: str) -> tuple[int, ...]:
        """One 64-bit number for each piece, the same in every process."""
        key = hash(text)
        with self._lock:
            known = self._texts.get(key)
            if known is not None:
                self._texts.move_to_end(key)
                return known
        digests = tuple(self._digest(piece) for piece in pieces_of(text))
        with self._lock:
            self._texts[key] = digests
            _trim(self._texts, self._max_texts)
        return digests

    def _digest(self, piece: str) -> int:
        key = hash(piece)
        with self._lock:
            known = self._pieces.get(key)
            if known is not None:
                self._pieces.move_to_end(key)
                return known
        digest = stable_digest(mask_volatile(piece))
        with self._lock:
            self._pieces[key] = digest
            _trim(self._pieces, self._max_pieces)
        return digest


def pieces_of(text: str) -> list[str]:
    """Cut a text after every few lines."""
    lines = text.split("\n")
    if len(lines) <= _LINES_A_PIECE:
        return [text]
    return ["\n".join(lines[i : i + _LINES_A_PIECE]) for i in range(0, len(lines), _LINES_A_PIECE)]


def stable_digest(text: str) -> int:
    """A 64-bit number for a text, the same in every process."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def _trim(memory: OrderedDict[int, Value], limit: int) -> None:
    while len(memory) > limit:
        memory.popitem(last=False)
