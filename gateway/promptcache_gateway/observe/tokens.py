"""The counts of one request: how much could have been read, how much was, and what was lost.

What the built-in engine counted is exact, and so is the length of an earlier request that would have
matched as a whole. Everything else is bounded (`ruler`), and says that it is an estimate: less than the
least it can be was lost for certain, anything above may well be all there was. How they are come by is
`counting`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptcache.quick_values import changed, quick

if TYPE_CHECKING:
    from promptcache_gateway.observe.ruler import Ruler


@quick
@dataclass(frozen=True, slots=True)
class Tokens:
    """The counts of one request. None is unknown.

    Attributes:
        prompt: tokens of the whole prompt.
        cached: tokens read from the cache.
        written: tokens written to it.
        expected: what the bytes as sent allowed.
        reusable: what would have matched had the differing spans been equal.
        offset: tokens before the first difference.
        tolerance: how far ``cached`` may stay below ``expected`` and still be a hit.
        estimated: at least one of the counts rests on a ratio of bytes to tokens.
        uncertain: nothing was read, and it is not known whether anything could be.
        contradicted: more was read than is known to have been sent before.
        floor: 0 where another request than the predecessor must have left what was read; None: it need not.
        ruler: measures other places of the prompt, None where there is nothing to go by.
    """

    prompt: int | None = None
    cached: int | None = None
    written: int | None = None
    expected: int | None = None
    reusable: int | None = None
    offset: int | None = None
    tolerance: int = 0
    estimated: bool = False
    uncertain: bool = False
    contradicted: bool = False
    floor: int | None = None
    ruler: Ruler | None = field(default=None, repr=False, compare=False)

    def before(self, start: int) -> int | None:
        """Tokens before a place, given in bytes; None while the prompt is not counted."""
        return None if self.ruler is None else self.at_least(round(self.ruler.at(start).guess))

    def at_least(self, known: int | None) -> int | None:
        """A position or a number of tokens that could be read, no lower than what was: where it is estimated,
        what was counted corrects it."""
        return (
            known
            if known is None or not self.estimated
            else max(known, (self.cached or 0) if self.floor is None else self.floor)
        )

    @property
    def lost(self) -> int | None:
        """``max(0, reusable - cached)``, None while either is unknown."""
        if self.reusable is None or self.cached is None:
            return None
        return max(0, self.reusable - self.cached)

    @property
    def fell_short(self) -> bool:
        """Whether less was read than the bytes as sent allowed, or than would have matched."""
        if self.expected is None or self.cached is None:
            return False
        return max(self.expected, self.reusable or 0) - self.cached > self.tolerance

    def settled(self) -> Tokens:
        """The counts of a hit: what was read is what could be, to the step in which the provider counts."""
        if self.cached is None or self.expected is None:
            return self
        expected = self.cached if self.estimated else min(self.expected, self.cached)
        return changed(self, expected=expected, reusable=self.cached)
