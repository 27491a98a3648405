"""What is known of a prompt's places before the whole has been counted: all that a count need not be had for.

A place is bounded by prefixes whose length is known, by other requests with the same beginning, by the text
itself, and, once that is known, by the length of the whole (`ruler`). The built-in engine tells one length
more, up to a place that is known beforehand. Everything but these counts is found out here, once for each
place, so that with them little more than arithmetic remains.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING

from promptcache_gateway.observe.bearing import Bearing, Bounds, charge, within
from promptcache_gateway.observe.extents import OPENING_TOKENS
from promptcache_gateway.observe.plausible import is_edited_by_provider, is_whole
from promptcache_gateway.observe.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe.evidence import Counts, Evidence
    from promptcache_gateway.observe.extents import Extent
    from promptcache_gateway.observe.history import Match
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry

_ALIKE = 0.9  # of another model's count, where the two count such text alike
_LEAST_ALIKE = 0.5  # of its tokens to a byte: a model with fewer counts otherwise
_LONG_BYTES = 65_536  # of a stretch of this length it is not worth the time to look at it

_place_of = itemgetter(0)

_Mark = tuple[int, "Extent | None"]
"""A place and its tokens; None: they are told."""

_Peer = tuple["Entry", int, "int | None"]
"""A request of the same model, the bytes that it shares with this one at its beginning, and its count."""


class Bearings:
    """All places of one request's prompt.

    Args:
        evidence: the request and what it was compared with; it has a prompt.
        counts: the evidence's counts of earlier requests that this rests on: some may not be known yet.
        told_at: a place in bytes whose length in tokens the upstream tells, or None.
    """

    def __init__(self, evidence: Evidence, counts: Counts, told_at: int | None = None) -> None:
        prompt, match = evidence.prompt, evidence.match
        assert prompt is not None
        self.counts = counts
        self._prompt = prompt
        self._tapes: dict[int, Tape] = evidence.found.setdefault(Tape, {})
        self._tape = self._tape_of(prompt)
        self._whole = is_whole(prompt)
        self._places: dict[int, Bearing] = {}
        self._peers: tuple[_Peer, ...] = ()
        self._counted_otherwise = (0, 0)
        if match is not None and evidence.comparison is not None:
            self._find_others(match, evidence.comparison.shared_bytes, evidence.route[1])
        self.told_at = told_at
        self._marks: Sequence[_Mark] = ()
        if match is not None and self._whole:
            self._marks = match.lengths
        if told_at is not None:
            marks: list[_Mark] = list(self._marks)
            told: _Mark = (told_at, None)
            marks.insert(bisect_left(marks, told_at, key=_place_of), told)
            self._marks = marks

    def of(self, place: int) -> Bearing:
        """The bearing of a place, which is given in bytes."""
        found = self._places.get(place)
        if found is None:
            found = self._places[place] = self._take(place)
        return found

    def bounds(self, place: int, total: int, least_otherwise: float, told: int = 0) -> Bounds:
        """Tokens before a place, of a whole of so many.

        Args:
            place: in bytes.
            total: tokens of the whole.
            least_otherwise: what another model says.
            told: tokens before the place that is told.
        """
        bearing = self._places.get(place)
        if bearing is None:
            bearing = self.of(place)
        if bearing.settled is not None:
            return bearing.settled
        least, most = bearing.near
        if bearing.after is not None or bearing.ahead is not None:
            least, most = bearing.nearest(told)
            if most - least <= OPENING_TOKENS:
                return least, most
        if bearing.rest is not None:
            few, many = bearing.rest
            few, many = max(0.0, total - many), max(0.0, total - few)
            if least <= few <= many <= most:
                least, most = few, many
            else:
                least, most = within(least, most, few, many)
            if most - least <= OPENING_TOKENS:
                return least, most
        if bearing.others is None:
            bearing.others = self._others(place)
        for few, many in bearing.others:
            least, most = within(least, most, few, many)
            if most - least <= OPENING_TOKENS:
                return least, most
        if least_otherwise:  # 0 where no other model says anything
            return within(least, most, max(0.0, least_otherwise - bearing.missing), math.inf)
        return least, most

    def guesses(self, place: int, total: int, told: int = 0) -> tuple[float, float]:
        """What may be charged up to a place, and its share of the whole; ``told`` as for `bounds`."""
        bearing = self.of(place)
        usual = bearing.usual
        if usual is None:
            usual = self._weigh(bearing, place)
        known = told if bearing.known is None else bearing.known
        left = total - known
        charged = charge(usual, bearing.share, bearing.trust, left)
        return known + charged, known + bearing.share * left

    def stretch(self, start: int, end: int, place: int) -> tuple[float, float, float]:
        """Of what lies between two places, and of a third: as a `Bearing` has ``usual, share, trust``."""
        return self._tape.stretch(start, end, place)

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
        counted: float | None = self._counted_by_peer(place)
        if counted is None and place == self.told_at:
            bearing.after = (0, 0)
            return bearing
        if counted is None:
            counted = self._counted_as_mark(place)
        if counted is not None:
            bearing.settled = (counted, counted)
            return bearing
        self._take_near(bearing, place)
        least, most = bearing.near
        if most - least <= OPENING_TOKENS and bearing.after is None and bearing.ahead is None:
            bearing.settled = (least, most)
            return bearing
        if self._whole and self._prompt.total_bytes - place <= _LONG_BYTES:
            bearing.rest = self._tape.between(place)
        end = self._counted_otherwise[0]
        if end:
            bearing.missing = self._between(place, end)[1] if place < end else 0.0
        return bearing

    def _take_near(self, bearing: Bearing, place: int) -> None:
        """What the nearest marks say; of that which is told, how far off it is."""
        marks = self._marks
        behind, least, most = bisect_right(marks, place, key=_place_of), 0.0, math.inf
        if behind:
            at, extent = marks[behind - 1]
            few, many = self._between(at, place) if at < place else (0.0, 0.0)
            if extent is None:
                bearing.after = (few, many)
            else:
                least, most = extent.least + few, extent.most + many
        if behind < len(marks) and most - least > OPENING_TOKENS:
            at, extent = marks[behind]
            few, many = self._between(place, at)
            if extent is None:
                bearing.ahead = (few, many)
            else:
                few, many = max(0.0, extent.least - many), max(0.0, extent.most - few)
                least, most = within(least, most, few, many)
        bearing.near = (least, most)

    def _weigh(self, bearing: Bearing, place: int) -> float:
        at, marks = 0, self._marks
        known: float | None = 0.0
        for index in range(bisect_right(marks, place, key=_place_of) - 1, -1, -1):
            mark, extent = marks[index]
            if extent is None or extent.agrees:
                at, known = mark, None if extent is None else (extent.least + extent.most) / 2
                break
        bearing.known = known
        usual, bearing.share, bearing.trust = self._tape.stretch(at, place, at)
        bearing.usual = usual
        return usual

    def _counted_by_peer(self, place: int) -> int | None:
        """The count of an earlier request that ended at this very place."""
        for peer, shared, tokens in self._peers:
            if tokens is None or place > shared:
                continue
            if place == peer.prompt.offsets[-1] and is_whole(peer.prompt):
                return tokens
        return None

    def _counted_as_mark(self, place: int) -> float | None:
        """What is known of prefixes that end at this very place."""
        marks = self._marks
        for index in range(bisect_left(marks, place, key=_place_of), len(marks)):
            at, extent = marks[index]
            if at != place:
                break
            if extent is not None and extent.least == extent.most:
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


def bearings_of(evidence: Evidence, told_at: int | None = None) -> Bearings:
    """The bearings of a request, taken anew where an earlier one has been counted since."""
    kept, counts = (Bearings, told_at), evidence.counts
    found: Bearings | None = evidence.found.get(kept)
    if found is None or found.counts != counts:
        found = evidence.found[kept] = Bearings(evidence, counts, told_at)
    return found
