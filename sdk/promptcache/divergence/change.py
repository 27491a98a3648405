"""`Change`: two versions of a text, cut down to the part that differs, so that long texts stay cheap."""

from __future__ import annotations

from dataclasses import dataclass

from promptcache.divergence.evidence import common_prefix, common_suffix

__all__ = ["Change"]

_MARGIN = 400


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
    def gone(self) -> str:
        """Exactly what only ``before`` has."""
        return self.before[self.offset : len(self.before) - self.tail]

    @property
    def came(self) -> str:
        """Exactly what only ``after`` has."""
        return self.after[self.offset : len(self.after) - self.tail]

    @property
    def stranded(self) -> int:
        """Characters that are equal on both sides, in the lines behind the change."""
        ending = self.before.find("\n", len(self.before) - self.tail)
        return self.tail if ending < 0 else len(self.before) - ending - 1
