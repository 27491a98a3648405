"""Measures a prompt in tokens: how many stand before a place, at least and at most, and as the best guess.

A provider counts whole prompts. What lies before a place inside one is bounded from every side: by the
length of the whole less what follows, and by all that is known without it (`bearings`). Where a request ended
at that very place, its count is exact. What a length means for a diagnosis is `tokens`' business.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from promptcache_gateway.observe.bearing import charge
from promptcache_gateway.observe.bearings import bearings_of
from promptcache_gateway.observe.extents import Extent, exactly
from promptcache_gateway.observe.plausible import is_whole
from promptcache_gateway.observe.tape import bounds_behind

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.exchange import Outcome
    from promptcache_gateway.observe.bearing import Bounds
    from promptcache_gateway.observe.bearings import Bearings
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.row import Entry

_SHORT_BYTES = 8_192  # a longer rest says little about what stands before it, and is not remembered

_GUESSES = frozenset({"guess", "likely"})


class Length:
    """Tokens before a place: at least, at most, and guesses between the two.

    Attributes:
        least: there are no fewer.
        most: there are no more.
        guess: what may be charged: as many as that kind of text has as a rule, and no more than its share of
            the whole; of nearly the whole prompt, its share.
        likely: its share of the whole, by what each kind of text has as a rule.
    """

    __slots__ = ("_guesses", "guess", "least", "likely", "most")
    guess: float
    likely: float

    def __init__(self, least: float, most: float, guesses: Callable[[], tuple[float, float]]) -> None:
        """``guesses`` makes both guesses when one is asked for."""
        self.least = least
        self.most = most
        self._guesses = guesses

    def __getattr__(self, name: str) -> float:
        """Either guess, as long as nobody has asked for one."""
        if name not in _GUESSES:
            raise AttributeError(name)
        self.guess, self.likely = guess, likely = self._guesses()
        return likely if name == "likely" else guess

    @property
    def exact(self) -> bool:
        """Whether it was counted."""
        return self.least == self.most

    def unassured(self) -> Length:
        """The same length of which not one token is certain."""
        return Length(0.0, self.most, lambda: (self.guess, self.likely))


class Ruler:
    """Measures one request's prompt.

    Attributes:
        bearings: of its places.
        total: tokens of the whole prompt.
        worth: so many tokens that were read, and whether they leave unmarked history that is worth a
            breakpoint.
    """

    __slots__ = ("_known", "_otherwise", "_told", "bearings", "total", "worth")

    def __init__(self, bearings: Bearings, total: int, told: int = 0) -> None:
        """``told``: tokens before the place of which the bearings are told."""
        self.worth: tuple[int, bool] | None = None
        self.bearings = bearings
        self._told = told
        self._otherwise = bearings.least_otherwise(total)
        self._known: dict[int, Length] = {}
        self.total = total

    def at(self, place: int) -> Length:
        """Tokens before a place, which is given in bytes."""
        known = self._known.get(place)
        if known is not None:
            return known
        bearings, total, told = self.bearings, self.total, self._told
        least, most = bearings.bounds(place, total, self._otherwise, told)
        least = min(least, total)
        most = min(max(most, least), total)
        guesses = partial(guess_at, bearings, place, total, (least, most), told)
        found = self._known[place] = Length(least, most, guesses)
        return found

    def stretch(self, start: int, end: int, place: int, known: float) -> float:
        """Tokens between two places that may be charged; ``known`` are known to stand before a third."""
        usual, share, trust = self.bearings.stretch(start, end, place)
        return charge(usual, share, trust, self.total - known)

    def least_behind(self, place: int) -> float:
        """Tokens behind a place, at least."""
        return self.bearings.least_behind(place)


def ruler_of(evidence: Evidence, total: int) -> Ruler:
    """The ruler of a request of so many tokens: the last one, where that goes by the same."""
    bearings = bearings_of(evidence)
    last: Ruler | None = evidence.found.get(Ruler)
    if last is not None and last.total == total and last.bearings is bearings:
        return last
    made = evidence.found[Ruler] = Ruler(bearings, total)
    return made


def guess_at(
    bearings: Bearings, place: int, total: int, bounds: Bounds, told: int = 0
) -> tuple[float, float]:
    """What may be charged between those bounds, and the share of the whole: a `Length`'s guesses."""
    least, most = bounds
    if least == most:  # it was counted
        return least, least
    usual, share = bearings.guesses(place, total, told)
    likely = min(max(share, least), most)
    return min(max(usual, least), most, likely), likely


def lengths_told(entry: Entry, outcome: Outcome, *, marked_only: bool) -> list[tuple[int, Extent]]:
    """What the counts of a request tell about the lengths of its prefixes, by their number of segments.

    Where only what is marked is kept, what was read and written is what stands before its last mark. The
    built-in engine is not asked: it knows its places itself.
    """
    prompt, usage, tokens = entry.prompt, outcome.usage, outcome.usage.total_input
    if tokens is None or outcome.engine is not None or not is_whole(prompt):
        return []
    size, offsets = len(prompt.segments), prompt.offsets
    found = [(size, exactly(tokens))]
    for depth in (prompt.head,) if prompt.head == prompt.turn else (prompt.head, prompt.turn):
        if 0 < depth < size and prompt.total_bytes - offsets[depth] <= _SHORT_BYTES:
            least, most = bounds_behind(prompt, depth)
            found.append((depth, Extent(max(0.0, tokens - most), max(0.0, tokens - least))))
    kept = (usage.cache_read or 0) + (usage.cache_write or 0)
    if marked_only and kept:
        marks = [at for at, segment in enumerate(prompt.segments, 1) if segment.breakpoint is not None]
        if marks and marks[-1] < size:
            found.append((marks[-1], exactly(min(kept, tokens))))
    return found
