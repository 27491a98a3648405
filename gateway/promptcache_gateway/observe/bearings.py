"""What is known of a prompt's places before the whole has been counted: all that a count need not be had for.

A place is bounded by prefixes whose length is known, by other requests with the same beginning, by the text
itself, and, once that is known, by the length of the whole (`ruler`). Everything but the last is found out
here, once for each place, so that with the upstream's count little more than arithmetic remains.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort_left
from operator import itemgetter
from typing import TYPE_CHECKING

from promptcache_gateway.observe.extents import OPENING_TOKENS, exactly
from promptcache_gateway.observe.plausible import is_edited_by_provider, is_whole
from promptcache_gateway.observe.prompt import pieces_of
from promptcache_gateway.observe.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe.evidence import Counts, Evidence
    from promptcache_gateway.observe.extents import Extent
    from promptcache_gateway.observe.history import Match
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry

_CLOSING_TOKENS = 3.0  # of the answer's opening, as a rule
_SOME_SHARE = 0.7  # of the tokens, up to which the whole says little of a stretch: the rest may be dense
_MOST_SHARE = 0.9  # and from which it says nearly all
_ALIKE = 0.9  # of another model's count, where the two count such text alike
_LEAST_ALIKE = 0.5  # of its tokens to a byte: a model with fewer counts otherwise
_LONG_BYTES = 65_536  # of a stretch of this length it is not worth the time to look at it

_place_of = itemgetter(0)

_Peer = tuple["Entry", int, "int | None"]
"""A request of the same model, the bytes that it shares with this one at its beginning, and its count."""

Bounds = tuple[float, float]
"""At least and at most so many tokens."""


class Bearing:
    """One place. What its length in tokens is follows from a count of the whole.

    Attributes:
        settled: its bounds, where no count changes them; else None.
        near: what the nearest places in front of it and behind say, which are known.
        rest: bounds of what stands behind it, to be taken from the whole; None: nothing can be.
        others: what other requests and the text itself say; None: nobody has asked yet.
        missing: tokens up to where an earlier request to another model ended, at most.
        known: tokens before the nearest place in front of it of which they are known.
        usual: tokens from there on, by what such text has as a rule; None: nobody has asked yet.
        share: the share that these are of all that is not known, by the same.
        trust: how much of a stretch of that share the whole says.
    """

    __slots__ = ("known", "missing", "near", "others", "rest", "settled", "share", "trust", "usual")

    def __init__(self) -> None:
        self.settled: Bounds | None = None
        self.near: Bounds = (0.0, math.inf)
        self.rest: Bounds | None = None
        self.others: list[Bounds] | None = None
        self.missing = 0.0
        self.known, self.share, self.trust = 0.0, 0.0, 0.0
        self.usual: float | None = None


class Bearings:
    """All places of one request's prompt.

    Args:
        evidence: the request and what it was compared with; it has a prompt.
        counts: the evidence's counts of earlier requests that this rests on: some may not be known yet.
        known: a place in bytes whose length in tokens is known besides, or None.
    """

    def __init__(self, evidence: Evidence, counts: Counts, known: tuple[int, int] | None = None) -> None:
        prompt, match = evidence.prompt, evidence.match
        assert prompt is not None
        self.counts = counts
        self._prompt = prompt
        self._tapes: dict[int, Tape] = evidence.found.setdefault(Tape, {})
        self._tape = self._tape_of(prompt)
        self._whole = is_whole(prompt)
        self._places: dict[int, Bearing] = {}
        self._stretches: dict[tuple[int, int, int], tuple[float, float, float]] = {}
        self._peers: tuple[_Peer, ...] = ()
        self._counted_otherwise = (0, 0)
        if match is not None and evidence.comparison is not None:
            self._find_others(match, evidence.comparison.shared_bytes, evidence.route[1])
        self._marks: Sequence[tuple[int, Extent]] = ()
        if match is not None and self._whole:
            self._marks = match.lengths
        if known is not None:
            marks = list(self._marks)
            insort_left(marks, (known[0], exactly(known[1])), key=_place_of)
            self._marks = marks

    def of(self, place: int) -> Bearing:
        """The bearing of a place, which is given in bytes."""
        found = self._places.get(place)
        if found is None:
            found = self._places[place] = self._take(place)
        return found

    def bounds(self, place: int, total: int, least_otherwise: float) -> Bounds:
        """Tokens before a place, of a whole of so many; `least_otherwise` is what another model says."""
        bearing = self.of(place)
        if bearing.settled is not None:
            return bearing.settled
        least, most = bearing.near
        if bearing.rest is not None:
            few, many = bearing.rest
            few, many = max(0.0, total - many), max(0.0, total - few)
            if least <= few <= many <= most:
                least, most = few, many
            else:
                least, most = _within(least, most, few, many)
            if most - least <= OPENING_TOKENS:
                return least, most
        if bearing.others is None:
            bearing.others = self._others(place)
        for few, many in bearing.others:
            least, most = _within(least, most, few, many)
            if most - least <= OPENING_TOKENS:
                return least, most
        if least_otherwise:  # 0 where no other model says anything
            return _within(least, most, max(0.0, least_otherwise - bearing.missing), math.inf)
        return least, most

    def guesses(self, place: int, total: int) -> tuple[float, float]:
        """What may be charged up to a place, and its share of the whole."""
        bearing = self.of(place)
        usual = bearing.usual
        if usual is None:
            usual = self._weigh(bearing, place)
        known, left = bearing.known, total - bearing.known
        charged = charge(usual, bearing.share, bearing.trust, left)
        return known + charged, known + bearing.share * left

    def stretch(self, start: int, end: int, place: int) -> tuple[float, float, float]:
        """Of what lies between two places, and of a third: as a `Bearing` has ``usual, share, trust``."""
        if start == end:
            return 0.0, 0.0, 0.0
        found = self._stretches.get((start, end, place))
        if found is None:
            before = self._usual(start)
            usual = self._usual(end) - before
            passed = before if place == start else self._usual(place)
            share = usual / max(self._tape.usuals[-1] + _CLOSING_TOKENS - passed, 1.0)
            found = self._stretches[start, end, place] = (usual, share, _trust(share))
        return found

    def least_behind(self, place: int) -> float:
        """Tokens behind a place, at least."""
        return self._tape.between(place)[0]

    def least_otherwise(self, total: int) -> float:
        """Tokens up to where an earlier request to another model ended that all of this one goes on from, at
        least; 0 where there is none, or most of this request is new."""
        end, tokens = self._counted_otherwise
        if not end:
            return 0.0
        share = (total / self._prompt.total_bytes) / (tokens / end)
        return _ALIKE * min(share, 1.0) * tokens if share >= _LEAST_ALIKE else 0.0

    def _take(self, place: int) -> Bearing:
        bearing = Bearing()
        counted = self._counted(place)
        if counted is not None:
            bearing.settled = (counted, counted)
            return bearing
        marks = self._marks
        behind, least, most = bisect_right(marks, place, key=_place_of), 0.0, math.inf
        if behind:
            at, extent = marks[behind - 1]
            few, many = self._between(at, place) if at < place else (0.0, 0.0)
            least, most = extent.least + few, extent.most + many
        if behind < len(marks) and most - least > OPENING_TOKENS:
            at, extent = marks[behind]
            few, many = self._between(place, at)
            few, many = max(0.0, extent.least - many), max(0.0, extent.most - few)
            least, most = _within(least, most, few, many)
        if most - least <= OPENING_TOKENS:
            bearing.settled = (least, most)
            return bearing
        bearing.near = (least, most)
        if self._whole and self._prompt.total_bytes - place <= _LONG_BYTES:
            bearing.rest = self._tape.between(place)
        end = self._counted_otherwise[0]
        if end:
            bearing.missing = self._between(place, end)[1] if place < end else 0.0
        return bearing

    def _weigh(self, bearing: Bearing, place: int) -> float:
        at, tokens, marks = 0, 0.0, self._marks
        for index in range(bisect_right(marks, place, key=_place_of) - 1, -1, -1):
            mark, extent = marks[index]
            if extent.agrees:
                at, tokens = mark, (extent.least + extent.most) / 2
                break
        bearing.known = tokens
        usual, bearing.share, bearing.trust = self.stretch(at, place, at)
        bearing.usual = usual
        return usual

    def _counted(self, place: int) -> float | None:
        """The count of an earlier request that ended at this very place."""
        for peer, shared, tokens in self._peers:
            prompt = peer.prompt
            if tokens is None or place != prompt.offsets[-1] or place > shared or not is_whole(prompt):
                continue
            return tokens
        marks = self._marks
        for index in range(bisect_left(marks, place, key=_place_of), len(marks)):
            at, extent = marks[index]
            if at != place:
                break
            if extent.least == extent.most:
                return extent.least
        return None

    def _others(self, place: int) -> list[Bounds]:
        """What others that begin alike say, and the text itself."""
        behind, found = self._prompt.total_bytes - place, []
        for peer, shared, tokens in self._peers:
            # A long rest says little.
            shorter = peer.prompt.total_bytes - place <= min(behind // 2, _LONG_BYTES)
            if tokens is not None and place <= shared and shorter and is_whole(peer.prompt):
                few, many = self._tape_of(peer.prompt).between(place)
                found.append((max(0.0, tokens - many), max(0.0, tokens - few)))
        if not is_edited_by_provider(self._prompt):
            found.append((self._between(0, place)[0], math.inf))
        return found

    def _tape_of(self, prompt: Prompt) -> Tape:
        """The tape of this or an earlier prompt: the same for all bearings that are taken of this one."""
        found = self._tapes.get(id(prompt))
        if found is None:
            found = self._tapes[id(prompt)] = Tape(prompt)  # which keeps the prompt, so its id is no other's
        return found

    def _between(self, start: int, end: int) -> Bounds:
        return self._tape.between(start, end) if end - start <= _LONG_BYTES else (0.0, math.inf)

    def _find_others(self, match: Match, shared: int, model: str) -> None:
        """Find the requests that were counted; ``shared`` bytes are the predecessor's too."""
        living, best, counts = match.living, match.predecessor, self.counts
        if living is not None and living is not best:
            self._peers = ((living, self._prompt.offsets[match.living_segments], counts[1]),)
        if best is not None and best.model == model:
            self._peers = (*self._peers, (best, shared, counts[0]))
        elif best is not None and counts[0]:
            self._counted_otherwise = self._end_of(best.prompt, shared, counts[0])

    def _end_of(self, earlier: Prompt, shared: int, tokens: int) -> tuple[int, int]:
        """Where an earlier request to another model ended that all of this one goes on from, and its tokens;
        0 where it is none, or most of this request is new."""
        end = earlier.offsets[-1]
        whole = self._whole and is_whole(earlier) and end <= shared
        if not whole or 2 * end < self._prompt.total_bytes or is_edited_by_provider(self._prompt):
            return 0, 0
        return end, tokens

    def _usual(self, place: int) -> float:
        if not place:
            return 0.0
        index = bisect_right(self._prompt.offsets, place) - 1
        if index >= len(self._prompt.segments):
            return self._tape.usuals[-1]
        inside = place - self._prompt.offsets[index]
        if not inside:
            return self._tape.usuals[index]
        part = pieces_of(self._prompt)[index].usual_until(inside)
        return min(self._tape.usuals[index] + part, self._tape.usuals[index + 1])


def bearings_of(evidence: Evidence, known: tuple[int, int] | None = None) -> Bearings:
    """The bearings of a request, taken anew where an earlier one has been counted since."""
    kept, counts = (Bearings, known is None), evidence.counts
    found: tuple[Bearings, tuple[int, int] | None] | None = evidence.found.get(kept)
    if found is None or found[1] != known or found[0].counts != counts:
        found = evidence.found[kept] = Bearings(evidence, counts, known), known
    return found[0]


def charge(usual: float, share: float, trust: float, left: float) -> float:
    """Tokens of a stretch that may be charged, where so many are left for it and what stands behind it.

    As many as that kind of text has as a rule, and no more than its share of what is left; where it is nearly
    all that is left, its share.
    """
    shared = min(share, 1.0) * max(left, 0.0)
    return min(shared, trust * shared + (1.0 - trust) * usual)


def _within(least: float, most: float, few: float, many: float) -> Bounds:
    """`Extent.within` of plain bounds."""
    low, high = max(least, few), min(most, many)
    if low <= high:
        return low, high
    return min(least, few), max(most, many)


def _trust(share: float) -> float:
    return min(max((share - _SOME_SHARE) / (_MOST_SHARE - _SOME_SHARE), 0.0), 1.0)
