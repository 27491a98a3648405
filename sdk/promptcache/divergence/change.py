"""`Change`: two versions of a text, cut down to the part that differs, so that long texts stay cheap."""

from __future__ import annotations

import re
from dataclasses import dataclass

from promptcache.divergence.evidence import common_prefix, common_suffix

__all__ = ["Change"]

_MARGIN = 400
_VALUE_CHARS, _PLAIN_WORDS, _LABELLED_WORDS = 80, 2, 6
_LABEL_ENDS = (":", "=")
_PIECE = re.compile(r"[^\n.!?;]{8,}[\n.!?;]")


@dataclass(frozen=True, slots=True)
class Change:
    """How ``before`` became ``after``.

    ``offset`` characters are shared at the start and ``tail`` at the end. ``old`` and ``new`` are what
    differs with the rest of its lines (at most 400 characters on each side).
    """

    before: str
    after: str
    offset: int
    tail: int
    old: str
    new: str

    @classmethod
    def between(cls, before: str, after: str) -> Change:
        """Compare two texts."""
        offset = common_prefix(before, after)
        tail = common_suffix(before, after, after=offset)
        start = max(before.rfind("\n", 0, offset) + 1, offset - _MARGIN)
        ending = before.find("\n", len(before) - tail) if tail else -1
        kept = tail - (ending - len(before) + tail) if ending >= 0 else 0
        kept = max(kept, tail - _MARGIN)
        return cls(
            before, after, offset, tail, before[start : len(before) - kept], after[start : len(after) - kept]
        )

    @property
    def start(self) -> int:
        """Where ``new`` begins in ``after``; it begins at the same place in ``before``."""
        return max(self.before.rfind("\n", 0, self.offset) + 1, self.offset - _MARGIN)

    @property
    def gone(self) -> str:
        """Exactly what only ``before`` has."""
        return self.before[self.offset : len(self.before) - self.tail]

    @property
    def came(self) -> str:
        """Exactly what only ``after`` has."""
        return self.after[self.offset : len(self.after) - self.tail]

    @property
    def is_value(self) -> bool:
        """Whether one value stands in another's place, in a line that is otherwise the same.

        That is a word or two that begin a line or hold a figure, a few words behind a label (``Mood: very
        happy``), or such as are written like a name or a number inside a sentence. Anything else that is read
        otherwise, a word of a sentence too, is an edit of what the line says.
        """
        start, gone, came = self._whole_words()
        if not self.gone.strip() and len(came.split()) > 1:
            return False  # something was added to what stands there
        if not gone or not came or any("\n" in side or len(side) > _VALUE_CHARS for side in (gone, came)):
            return False
        line = self.before[self.before.rfind("\n", 0, start) + 1 : start].rstrip()
        words = max(len(gone.split()), len(came.split()))
        named = all(side[0].isupper() or side[0].isdigit() for side in (gone, came)) and line[-1:].isalpha()
        if named or line[-1:] in _LABEL_ENDS:
            return words <= (_LABELLED_WORDS if line else _PLAIN_WORDS)
        figures = all(any(map(str.isdigit, side)) for side in (gone, came))
        return words <= _PLAIN_WORDS and (figures or not line)

    def _whole_words(self) -> tuple[int, str, str]:
        """What differs, with the rest of the words at its ends, and where it starts."""
        start, end = self.offset, len(self.before) - self.tail
        while start and not self.before[start - 1].isspace():
            start -= 1
        while end < len(self.before) and not self.before[end].isspace():
            end += 1
        gone = self.before[start:end]
        return start, gone.strip(), self.after[start : len(self.after) - (len(self.before) - end)].strip()

    @property
    def recurring(self) -> int:
        """Characters of whole lines or sentences behind the first difference that stand on both sides."""
        pieces = set(_PIECE.findall(self.before[self.offset :]))
        return sum(len(piece) for piece in _PIECE.findall(self.after[self.offset :]) if piece in pieces)

    @property
    def stranded(self) -> int:
        """Characters that are equal on both sides, in the lines behind the change."""
        ending = self.before.find("\n", len(self.before) - self.tail)
        return self.tail if ending < 0 else len(self.before) - ending - 1
