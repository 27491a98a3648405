"""Measures a prompt in tokens: how many stand before a place, at least and at most, and as the best guess.

A provider counts whole prompts. What lies before a place inside one is bounded from every side: by the
length of the whole less what follows, by other requests with the same beginning, by prefixes whose length
is known, by the text itself. Where a request ended at that very place, its count is exact. What a stretch
of text can have is `extents`' business, and what a length means for a diagnosis is `tokens`'.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING

from promptcache_gateway.observe.extents import ANY, Extent, exactly
from promptcache_gateway.observe.plausible import is_edited_by_provider, is_whole
from promptcache_gateway.observe.prompt import pieces_of
from promptcache_gateway.observe.tape import Tape, bounds_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptcache_gateway.exchange import Outcome
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.row import Entry

_SHORT_BYTES = 8_192  # a longer rest says little about what stands before it, and is not remembered
_CLOSING_TOKENS = 3.0  # of the answer's opening, as a rule
_SOME_SHARE = 0.7  # of the tokens, up to which the whole says little of a stretch: the rest may be dense
_MOST_SHARE = 0.9  # and from which it says nearly all
_ALIKE = 0.9  # of another model's count, where the two count such text alike
_LEAST_ALIKE = 0.5  # of its tokens to a byte: a model with fewer counts otherwise
_LONG_BYTES = 65_536  # and of this length it is not worth the time to look at it


class Length:
    """Tokens before a place: at least, at most, and guesses between the two, made when they are asked for.

    Attributes:
        least: there are no fewer.
        most: there are no more.
    """

    __slots__ = ("_guesses", "_made", "least", "most")

    def __init__(self, least: float, most: float, guesses: Callable[[], tuple[float, float]]) -> None:
        """``guesses`` makes both guesses."""
        self.least = least
        self.most = most
        self._guesses = guesses
        self._made: tuple[float, float] | None = None

    @property
    def guess(self) -> float:
        """What may be charged: as many as that kind of text has as a rule, and no more than its share of the
        whole; of nearly the whole prompt, its share."""
        return min(self._both())

    @property
    def likely(self) -> float:
        """Its share of the whole, by what each kind of text has as a rule."""
        return self._both()[1]

    @property
    def exact(self) -> bool:
        """Whether it was counted."""
        return self.least == self.most

    def unassured(self) -> Length:
        """The same length of which not one token is certain."""
        return Length(0.0, self.most, self._both)

    def _both(self) -> tuple[float, float]:
        if self._made is None:
            self._made = self._guesses()
        return self._made


class Ruler:
    """Measures one request's prompt.

    Args:
        evidence: the request and what it was compared with; it has a prompt.
        total: tokens of the whole prompt.
        known: a place in bytes whose length in tokens is known besides, or None.
    """

    def __init__(self, evidence: Evidence, total: int, known: tuple[int, int] | None = None) -> None:
        assert evidence.prompt is not None
        self._prompt = evidence.prompt
        self._tape = Tape(evidence.prompt)
        self._known: dict[int, Length] = {}
        self._total = total
        self._whole = is_whole(evidence.prompt)
        self._model = evidence.route[1]
        self._match = evidence.match
        self._comparison = evidence.comparison
        self._marks = [] if known is None else [(known[0], exactly(known[1]))]
        if evidence.match is not None and self._whole:
            offsets = evidence.prompt.offsets
            self._marks += [(offsets[depth], extent) for depth, extent in evidence.match.lengths if depth]
            if known is not None:  # those of history come in order
                self._marks.sort(key=_place_of)

    def at(self, place: int) -> Length:
        """Tokens before a place, which is given in bytes."""
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = self._measure(place)
        return known

    def stretch(self, start: int, end: int, place: int, known: float) -> float:
        """Tokens between two places that may be charged, where ``known`` are known to stand before a third.

        As many as that kind of text has as a rule, and no more than its share of what is left; where it is
        nearly all that is left, its share.
        """
        usual = self._usual(end) - self._usual(start)
        share = usual / max(self._usuals[-1] + _CLOSING_TOKENS - self._usual(place), 1.0)
        shared = min(share, 1.0) * max(self._total - known, 0.0)
        trust = min(max((share - _SOME_SHARE) / (_MOST_SHARE - _SOME_SHARE), 0.0), 1.0)
        return min(shared, trust * shared + (1.0 - trust) * usual)

    def least_behind(self, place: int) -> float:
        """Tokens behind a place, at least."""
        return self._tape.between(place).least

    def _measure(self, place: int) -> Length:
        extent = self._extent(place)
        least = min(extent.least, self._total)
        most = min(max(extent.most, least), self._total)
        return Length(least, most, partial(self._guesses_within, place, least, most))

    def _guesses_within(self, place: int, least: float, most: float) -> tuple[float, float]:
        usual, share = self._guesses(place)
        return min(max(usual, least), most), min(max(share, least), most)

    def _extent(self, place: int) -> Extent:
        counted = self._counted(place)
        if counted is not None:
            return counted
        found = ANY
        for extent in self._bounds(place):
            found = found.within(extent)
            if found.agrees:
                break
        return found

    def _counted(self, place: int) -> Extent | None:
        """The count of an earlier request that ended at this very place."""
        for peer, shared in self._peers:
            prompt, tokens = peer.prompt, peer.prompt_tokens
            if tokens is None or place != prompt.offsets[-1] or place > shared or not is_whole(prompt):
                continue
            return exactly(tokens)
        return next(
            (extent for at, extent in self._marks if at == place and extent.least == extent.most), None
        )

    def _bounds(self, place: int) -> Iterator[Extent]:
        """From the nearest known places, the whole, others that begin alike, the text itself."""
        behind = bisect_right(self._marks, place, key=_place_of)
        if behind:
            at, extent = self._marks[behind - 1]
            yield extent + self._between(at, place)
        if behind < len(self._marks):
            at, extent = self._marks[behind]
            yield extent - self._between(place, at)
        rest = self._prompt.total_bytes - place
        if self._whole and rest <= _LONG_BYTES:
            yield exactly(self._total) - self._tape.between(place)
        for peer, shared in self._peers:
            # A long rest says little.
            shorter = peer.prompt.total_bytes - place <= min(rest // 2, _LONG_BYTES)
            if peer.prompt_tokens is not None and place <= shared and shorter and is_whole(peer.prompt):
                yield exactly(peer.prompt_tokens) - Tape(peer.prompt).between(place)
        if not is_edited_by_provider(self._prompt):
            yield Extent(self._between(0, place).least, ANY.most)
        end, least = self._counted_otherwise
        if end:
            missing = self._between(place, end).most if place < end else 0.0
            yield Extent(max(0.0, least - missing), ANY.most)

    def _between(self, start: int, end: int) -> Extent:
        return self._tape.between(start, end) if end - start <= _LONG_BYTES else ANY

    @cached_property
    def _counted_otherwise(self) -> tuple[int, float]:
        """Where an earlier request to another model ended that all of this one goes on from, and how many
        tokens that are here at least; 0 where there is none, or most of this request is new."""
        best = None if self._match is None else self._match.predecessor
        if best is None or self._comparison is None or best.model == self._model or not best.prompt_tokens:
            return 0, 0.0
        end = best.prompt.offsets[-1]
        whole = self._whole and is_whole(best.prompt) and end <= self._comparison.shared_bytes
        if not whole or 2 * end < self._prompt.total_bytes or is_edited_by_provider(self._prompt):
            return 0, 0.0
        share = (self._total / self._prompt.total_bytes) / (best.prompt_tokens / end)
        return (end, _ALIKE * min(share, 1.0) * best.prompt_tokens) if share >= _LEAST_ALIKE else (0, 0.0)

    @cached_property
    def _peers(self) -> tuple[tuple[Entry, int], ...]:
        """Requests of the same model with the bytes that they share with this one at its beginning."""
        if self._match is None or self._comparison is None:
            return ()
        living, best, found = self._match.living, self._match.predecessor, []
        if living is not None and living is not best:
            found.append((living, self._prompt.offsets[self._match.living_segments]))
        if best is not None and best.model == self._model:
            found.append((best, self._comparison.shared_bytes))
        return tuple(found)

    def _guesses(self, place: int) -> tuple[float, float]:
        """From the nearest place that is known: what may be charged, and the share of the whole."""
        at, tokens = 0, 0.0
        for mark, extent in self._marks:
            if mark <= place and extent.agrees:
                at, tokens = mark, (extent.least + extent.most) / 2
        share = (self._usual(place) - self._usual(at)) / max(
            self._usuals[-1] + _CLOSING_TOKENS - self._usual(at), 1.0
        )
        return tokens + self.stretch(at, place, at, tokens), tokens + share * (self._total - tokens)

    @cached_property
    def _usuals(self) -> tuple[float, ...]:
        """Tokens before each segment, by what such texts have as a rule."""
        return (0.0, *accumulate([piece.usual for piece in pieces_of(self._prompt)]))

    def _usual(self, place: int) -> float:
        index = bisect_right(self._prompt.offsets, place) - 1
        if index >= len(self._prompt.segments):
            return self._usuals[-1]
        inside = place - self._prompt.offsets[index]
        if not inside:
            return self._usuals[index]
        part = pieces_of(self._prompt)[index].usual_until(inside)
        return min(self._usuals[index] + part, self._usuals[index + 1])


def _place_of(mark: tuple[int, Extent]) -> int:
    return mark[0]


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
