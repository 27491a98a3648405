"""Counts one request: how much of it could have been read, from what was measured of it (`ruler`).

Where it was compared with another one, its `stops` say what is to be measured. What the built-in engine
counted comes before any measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.observe.bearings import bearings_of
from promptcache_gateway.observe.marked import unkept_bytes
from promptcache_gateway.observe.ruler import Length, Ruler, ruler_of
from promptcache_gateway.observe.stops import stops_of, tolerance_of
from promptcache_gateway.observe.tokens import Tokens
from promptcache_gateway.observe.unmarked import worth_marking

if TYPE_CHECKING:
    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.evidence import Evidence

ESTIMATE_SLACK = 0.02  # share of an estimate that it may be wrong by and still be the engine's own count

_UNCOUNTED = Tokens()
_GUESS_SLACK = 1.1  # how far off a guess may ordinarily be


def count_tokens(evidence: Evidence, usage: Usage | None, engine: EngineFacts | None) -> Tokens:
    """The token counts of a request as far as the evidence allows."""
    if usage is None and engine is None:
        return _UNCOUNTED
    prompt, cached = _reported(usage, engine)
    written = usage.cache_write if usage is not None else None
    if evidence.prompt is None or prompt is None:
        return Tokens(prompt=prompt, cached=cached, written=written)
    if evidence.comparison is None:
        known = cached or 0
        return Tokens(prompt, cached, written, expected=known, reusable=known)
    return Counting(evidence, prompt, cached, engine).tokens(written)


def all_was_read(evidence: Evidence, prompt: int, cached: int) -> bool:
    """Whether so much was read that a request whose prefix nothing breaks is a hit by any guess.

    No more than the prompt is promised, and of most hits that is enough to know; of others the bounds of the
    places are, in which no kind of text is weighed.
    """
    enough = cached + tolerance_of(evidence.rules)
    if enough >= evidence.rules.promised(prompt):
        return True
    return Counting(evidence, prompt, cached, None).promises_at_most(enough)


def _reported(usage: Usage | None, engine: EngineFacts | None) -> tuple[int | None, int | None]:
    if engine is not None:
        return engine.prompt_tokens, engine.cached_tokens
    if usage is None:
        return None, None
    return usage.total_input, usage.cache_read


class Counting:
    """Counts one request that was compared with another."""

    __slots__ = (
        "_cached",
        "_engine_expected",
        "_engine_offset",
        "_evidence",
        "_expected",
        "_floor",
        "_matched",
        "_prompt",
        "_ruler",
        "_rules",
        "_stops",
    )

    def __init__(
        self, evidence: Evidence, prompt: int, cached: int | None, engine: EngineFacts | None
    ) -> None:
        self._evidence, self._prompt, self._cached = evidence, prompt, cached
        self._rules, self._stops = evidence.rules, stops_of(evidence)
        self._engine_offset = self._engine_expected = None
        if engine is not None:
            self._engine_offset = _exact_offset(engine)
            self._engine_expected = _expected_exactly(engine, others=self._stops.theirs)
        if self._engine_offset is None:
            self._ruler = ruler_of(evidence, prompt)
        else:
            self._ruler = Ruler(bearings_of(evidence, self._stops.shared), prompt, self._engine_offset)
        self._floor: int | None = None
        self._matched: tuple[int, bool] | None = None
        self._expected = 0

    @property
    def due(self) -> int:
        """Tokens that were not read of what the bytes as sent allowed, once what was lost has been asked."""
        return self._expected - (self._cached or 0)

    def lost_by_break(self) -> int:
        """Tokens that were lost where the caller broke the prefix, as `tokens` has them."""
        cached, counted = self._cached or 0, self._engine_expected
        self._floor = self._lowest()
        expected = min(self._figure(self._promised()), self._prompt) if counted is None else counted
        self._expected = expected
        return max(self._had_it_matched()[0], expected, cached) - cached

    def lost_unbroken(self) -> int:
        """Tokens that were lost of a prefix that nothing breaks, as `tokens` has them."""
        cached, counted = self._cached or 0, self._engine_expected
        if counted is not None:
            self._expected = counted
            return max(self._reusable(counted)[0], counted, cached) - cached
        promised = self._promised()
        self._expected = expected = min(self._figure(promised), self._prompt)
        length = self._unbroken()
        if length is None or length is promised:
            return max(expected, cached) - cached
        return max(min(self._figure(length), self._prompt), expected, cached) - cached

    def tokens(self, written: int | None) -> Tokens:
        """All counts together."""
        stops, cached, counted, prompt = self._stops, self._cached, self._engine_expected, self._prompt
        self._floor = self._lowest()
        expected = min(self._figure(self._promised()), prompt) if counted is None else counted
        reusable, known, guessed = self._reusable(expected)
        offset = self._engine_offset
        return Tokens(
            prompt,
            cached,
            written,
            max(expected, 0),
            max(reusable, expected, cached or 0),
            offset if offset is not None else round(self._ruler.at(stops.shared).guess),
            stops.tolerance,
            not known or counted is None or offset is None,  # estimated
            counted is None
            and cached == 0
            and guessed > max(reusable, expected) + self._rules.granularity,  # uncertain
            self.is_contradicted(),
            self._floor,
            self._ruler,
        )

    def promises_at_most(self, tokens: int) -> bool:
        """Whether no more than so many tokens must be read of a prefix that nothing breaks."""
        promised = self._rules.promised
        if promised(self._promised().least) > tokens:
            return False
        length = self._unbroken()
        return length is None or promised(length.least) <= tokens

    def _figure(self, length: Length) -> int:
        """How much of a prefix must be read, given how much was.

        Less than the least it can be is too little whatever it is, and the guess is named. Between the two
        what was read is taken for all there was.
        """
        cached, least = self._cached, self._rules.promised(length.least)
        if cached is None or self._falls_below(length, least):
            known = least == self._rules.promised(length.most)  # in whole steps
            return least if known else self._rules.promised(length.guess)
        return cached if cached <= least else min(self._rules.promised(length.guess), cached)

    def _figures(self, length: Length) -> tuple[int, int]:
        """What `_figure` says, at least and at most, whatever the guess."""
        least, most = self._rules.promised(length.least), self._rules.promised(length.most)
        if self._cached is None or self._falls_below(length, least):
            return least, most
        return min(least, self._cached), min(most, self._cached)

    def _falls_below(self, length: Length, least: int) -> bool:
        """Whether less was read than a prefix has at least; ``least`` of that is promised."""
        slack = 0.0 if length.least == length.most else least * ESTIMATE_SLACK
        return (self._cached or 0) < least - max(self._stops.tolerance, slack)

    def _promised(self) -> Length:
        """What the bytes as sent allow."""
        length = self._ruler.at(self._stops.promised)
        return length.unassured() if self._stops.unassured else length

    def _reusable(self, expected: int) -> tuple[int, bool, int]:
        """What would have matched had the differing spans been equal, whether that is exact, and a guess."""
        if self._stops.broken:
            reusable, known = self._had_it_matched()
            return reusable, known, 0
        length = self._unbroken()
        if length is None:
            known = self._engine_expected is not None
            return expected, known, 0 if known else self._rules.promised(self._promised().likely)
        if self._engine_expected is not None and self._agrees(length, expected):
            return expected, True, 0  # nothing differs, so both are one number, and the engine counted it
        reusable = min(self._figure(length), self._prompt)
        return reusable, length.exact, self._rules.promised(length.likely)

    def _agrees(self, length: Length, counted: int) -> bool:
        """Whether a measured length is what the engine counted; most often it is whatever is guessed."""
        slack, prompt = max(self._rules.granularity, counted * ESTIMATE_SLACK), self._prompt
        least, most = self._figures(length)
        if abs(min(least, prompt) - counted) <= slack and abs(min(most, prompt) - counted) <= slack:
            return True
        return abs(min(self._figure(length), prompt) - counted) <= slack

    def _unbroken(self) -> Length | None:
        """What of the prefix could be read where time, marks and the upstream allow it; None: as expected."""
        stops = self._stops
        if stops.left is not None and not self._has_amiss_marks():
            return self._ruler.at(stops.left)
        if stops.alive is not None:
            as_expected = self._engine_expected is None and not stops.unmarked
            return None if as_expected else self._ruler.at(stops.alive)
        return self._ruler.at(stops.unbroken)

    def _has_amiss_marks(self) -> bool:
        """Whether a breakpoint is missing or in the wrong place."""
        evidence = self._evidence
        if evidence.comparison is None or evidence.comparison.broken:
            return False
        return self._stops.amiss or worth_marking(evidence, self._ruler, self._cached) is not None

    def _had_it_matched(self) -> tuple[int, bool]:
        """The same behind a fault of the caller's, which is shown wherever it may cost; found out once."""
        if self._matched is None:
            self._matched = self._would_have_matched()
        return self._matched

    def _would_have_matched(self) -> tuple[int, bool]:
        comparison, prompt = self._evidence.comparison, self._prompt
        whole = None if comparison is None else comparison.matching_full
        if whole is not None and whole.prompt_tokens is not None and not unkept_bytes(self._evidence):
            return min(self._rules.possible(whole.prompt_tokens), prompt), True
        size = min(self._matching(), prompt - self._ruler.least_behind(self._stops.turn))
        return min(self._rules.possible(size), prompt), False

    def _matching(self) -> float:
        """Tokens that would have matched: those before the difference, and of what stands behind it.

        Where only a part of that would have, as with documents before the instructions, it is not said which:
        it is charged as the cheaper of the beginning and the end of what stands before the turn.
        """
        stops, ruler = self._stops, self._ruler
        start, end, turn = stops.shared, stops.matching, stops.turn
        before = ruler.at(start)
        known = max(before.guess, 0 if self._floor == 0 else self._cached or 0)
        size = ruler.stretch(start, end, start, known)
        if end >= turn:
            whole = ruler.at(turn)
            return min(max(known + size, whole.least), whole.most)
        if end + unkept_bytes(self._evidence) >= turn:  # all but what no mark covered
            return known + size
        other = max(start, turn - max(end - start, 0))
        return known + min(size, ruler.stretch(other, turn, start, known))

    def _lowest(self) -> int | None:
        """0 where more was read than the predecessor can have left."""
        if not self._stops.broken or not self._cached:
            return None
        most = self._ruler.at(self._stops.shared).most
        return None if self._cached <= most + self._rules.granularity else 0

    def is_contradicted(self) -> bool:
        """Whether the counters refute the break: another request, that is forgotten, had more of this.

        Where some are known to be forgotten, the guess at what is shared need not be far off.
        """
        cached, rules, stops = self._cached, self._rules, self._stops
        if not cached or not stops.broken or rules.reports_exactly:  # 0 refutes nothing
            return False
        match = self._evidence.match
        for length in (self._ruler.at(stops.shared), self._ruler.at(stops.living)):
            near = length.likely * _GUESS_SLACK if match is not None and match.gaps else length.most
            if cached <= min(near, length.most) + rules.granularity:
                return False
        return True


def _exact_offset(engine: EngineFacts | None) -> int | None:
    """Where the engine saw the first token it remembers nothing of; None where it remembers nothing."""
    return engine.diverged_at or None if engine is not None else None


def _expected_exactly(engine: EngineFacts | None, *, others: bool) -> int | None:
    """What the engine knew of the prompt; ``others``: also what it holds for other tenants.

    That is a finding where the tenant itself sent the same before, and else not to be told.
    """
    if engine is None:
        return None
    known = (
        engine.reused
        + engine.evicted
        + (engine.isolated if others else 0)
        + engine.granularity
        + engine.window
    )
    return max(engine.cached_tokens, min(known, engine.prompt_tokens - 1))
