"""The counts of one request: how much could have been read, how much was, and what was lost.

What the built-in engine counted is exact, and so is the length of an earlier request that would have
matched as a whole. Everything else is bounded (`ruler`), and says that it is an estimate: less than the
least it can be was lost for certain, anything above may well be all there was.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from promptcache.quick_values import quick
from promptcache_gateway.observe.marked import (
    breaks_behind_marks,
    has_no_marks,
    kept_thoughts,
    left_segments,
    readable_segments,
)
from promptcache_gateway.observe.ruler import Length, Ruler
from promptcache_gateway.observe.unmarked import codes_beside_text, worth_marking

if TYPE_CHECKING:
    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.rules import CacheRules


_ESTIMATE_SLACK = 0.02  # share of an estimate that it may be wrong by and still be the engine's own count

_OPENING_TOKENS = 16
_GUESS_SLACK = 1.1  # how far off a guess may ordinarily be


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
        return replace(self, expected=expected, reusable=self.cached)


def count_tokens(evidence: Evidence, usage: Usage | None, engine: EngineFacts | None) -> Tokens:
    """The token counts of a request as far as the evidence allows."""
    prompt, cached = _reported(usage, engine)
    written = usage.cache_write if usage is not None else None
    if evidence.prompt is None or prompt is None:
        return Tokens(prompt=prompt, cached=cached, written=written)
    if evidence.comparison is None:
        known = cached or 0
        return Tokens(prompt, cached, written, expected=known, reusable=known)
    return _Counting(evidence, prompt, cached, engine).tokens(written)


def all_was_read(evidence: Evidence, prompt: int, cached: int) -> bool:
    """Whether so much was read that a request whose prefix nothing breaks is a hit by any guess.

    No more than the prompt is promised, and of most hits that is enough to know; of others the bounds of the
    places are, in which no kind of text is weighed.
    """
    enough = cached + tolerance_of(evidence.rules)
    if enough >= evidence.rules.promised(prompt):
        return True
    return _Counting(evidence, prompt, cached, None).promises_at_most(enough)


def _reported(usage: Usage | None, engine: EngineFacts | None) -> tuple[int | None, int | None]:
    if engine is not None:
        return engine.prompt_tokens, engine.cached_tokens
    if usage is None:
        return None, None
    return usage.total_input, usage.cache_read


class _Counting:
    """Counts one request that was compared with another."""

    def __init__(
        self, evidence: Evidence, prompt: int, cached: int | None, engine: EngineFacts | None
    ) -> None:
        assert evidence.comparison is not None
        assert evidence.prompt is not None
        self._evidence, self._prompt, self._cached = evidence, prompt, cached
        self._comparison, self._rules, self._sent = evidence.comparison, evidence.rules, evidence.prompt
        self._broken = evidence.comparison.broken and not breaks_behind_marks(evidence)
        self._engine_offset = _exact_offset(engine)
        theirs = evidence.comparison.broken or evidence.comparison.shares_nothing
        self._engine_expected = _expected_exactly(engine, others=not theirs)
        known = None if self._engine_offset is None else (self._comparison.shared_bytes, self._engine_offset)
        self._ruler = Ruler(evidence, prompt, known)

    def tokens(self, written: int | None) -> Tokens:
        """All counts together."""
        shared = self._ruler.at(self._comparison.shared_bytes)
        promised = self._promised()
        expected = self._engine_expected
        if expected is None:
            expected = min(figure(promised, self._cached, self._rules), self._prompt)
        reusable, known, guessed = self._reusable(promised, expected)
        offset = self._engine_offset
        return Tokens(
            prompt=self._prompt,
            cached=self._cached,
            written=written,
            expected=max(expected, 0),
            reusable=max(reusable, expected, self._cached or 0),
            offset=offset if offset is not None else round(shared.guess),
            tolerance=tolerance_of(self._rules),
            estimated=not known or self._engine_expected is None or offset is None,
            uncertain=self._engine_expected is None
            and self._cached == 0
            and guessed > max(reusable, expected) + self._rules.granularity,
            contradicted=self._is_contradicted(shared),
            floor=self._floor(shared),
            ruler=self._ruler,
        )

    def promises_at_most(self, tokens: int) -> bool:
        """Whether no more than so many tokens must be read of a prefix that nothing breaks."""
        lengths = (self._promised(), self._unbroken())
        return all(length is None or self._rules.promised(length.least) <= tokens for length in lengths)

    def _promised(self) -> Length:
        """What the bytes as sent allow."""
        place = self._comparison.living_bytes
        offsets = self._sent.offsets
        whole = self._comparison.living_full
        if self._rules.marked_only:
            return self._ruler.at(offsets[readable_segments(self._evidence)])
        if whole is not None:
            place = offsets[len(whole.prompt.segments)]
        length = self._ruler.at(min(place, offsets[kept_thoughts(self._evidence)]))
        if self._rules.whole_units and whole is None:
            return length.unassured()
        return length

    def _reusable(self, promised: Length, expected: int) -> tuple[int, bool, int]:
        """What would have matched had the differing spans been equal, whether that is exact, and a guess."""
        if self._broken:
            reusable, known = self._had_it_matched()
            return reusable, known, 0
        length = self._unbroken()
        if length is None:
            return expected, self._engine_expected is not None, self._rules.promised(promised.likely)
        reusable = min(figure(length, self._cached, self._rules), self._prompt)
        if self._engine_expected is not None and abs(reusable - expected) <= max(
            self._rules.granularity, expected * _ESTIMATE_SLACK
        ):
            return expected, True, 0  # nothing differs, so both are one number, and the engine counted it
        return reusable, length.exact, self._rules.promised(length.likely)

    def _unbroken(self) -> Length | None:
        """What of the prefix could be read where time, marks and the upstream allow it; None: as expected."""
        comparison, match = self._comparison, self._evidence.match
        assert match is not None
        offsets = self._sent.offsets
        if self._rules.marked_only and not has_no_marks(self._evidence):
            left = left_segments(self._evidence)
            if left is not None and not self._has_amiss_marks():
                return self._ruler.at(offsets[left])
        elif match.living is not None and match.living_segments >= comparison.depth:
            if self._engine_expected is None and not has_no_marks(self._evidence):
                return None
            return self._ruler.at(offsets[comparison.depth])
        place = offsets[comparison.depth] if comparison.broken else comparison.matching_bytes
        return self._ruler.at(min(place, offsets[kept_thoughts(self._evidence)]))

    def _has_amiss_marks(self) -> bool:
        """Whether a breakpoint is missing or in the wrong place."""
        if self._comparison.broken:
            return False
        if any(code.startswith("PC6") for code in codes_beside_text(self._evidence)):
            return True
        return worth_marking(self._evidence, self._ruler, self._cached) is not None

    def _had_it_matched(self) -> tuple[int, bool]:
        """The same behind a fault of the caller's, which is shown wherever it may cost."""
        whole = self._comparison.matching_full
        if whole is not None and whole.prompt_tokens is not None:
            return min(self._rules.possible(whole.prompt_tokens), self._prompt), True
        turn = self._sent.offsets[min(self._sent.turn, len(self._sent.segments))]
        size = min(self._matching(turn), self._prompt - self._ruler.least_behind(turn))
        return min(self._rules.possible(size), self._prompt), False

    def _matching(self, turn: int) -> float:
        """Tokens that would have matched: those before the difference, and of what stands behind it.

        Where only a part of that would have, as with documents before the instructions, it is not said which:
        it is charged as the cheaper of the beginning and the end of what stands before the turn.
        """
        start, end = self._comparison.shared_bytes, self._comparison.matching_bytes
        before = self._ruler.at(start)
        known = max(before.guess, 0 if self._floor(before) == 0 else self._cached or 0)
        ways = (
            {(start, end), (max(start, turn - max(end - start, 0)), turn)} if end < turn else {(start, end)}
        )
        size = known + min(self._ruler.stretch(one, other, start, known) for one, other in ways)
        whole = self._ruler.at(turn)
        return min(max(size, whole.least), whole.most) if end >= turn else size

    def _floor(self, shared: Length) -> int | None:
        """0 where more was read than the predecessor can have left."""
        read = self._cached or 0
        return None if not self._broken or read <= shared.most + self._rules.granularity else 0

    def _is_contradicted(self, shared: Length) -> bool:
        """Whether the counters refute the break: another request, that is forgotten, had more of this.

        Where some are known to be forgotten, the guess at what is shared need not be far off.
        """
        if self._cached is None or self._rules.reports_exactly or not self._broken:
            return False
        match = self._evidence.match
        for length in (shared, self._ruler.at(self._comparison.living_bytes)):
            near = length.likely * _GUESS_SLACK if match is not None and match.gaps else length.most
            if self._cached <= min(near, length.most) + self._rules.granularity:
                return False
        return True


def figure(length: Length, cached: int | None, rules: CacheRules) -> int:
    """How much of a prefix must be read, given how much was.

    Less than the least it can be is too little whatever it is, and the guess is named. Between the two what
    was read is taken for all there was.
    """
    least, guess = rules.promised(length.least), rules.promised(length.guess)
    slack = 0.0 if length.exact else least * _ESTIMATE_SLACK
    if cached is None or cached < least - max(tolerance_of(rules), slack):
        return guess
    return min(guess, cached)


def tolerance_of(rules: CacheRules) -> int:
    """How much less than expected may be read: a step, or what opens an answer and is not said again."""
    return rules.granularity if rules.reports_exactly else max(rules.granularity, _OPENING_TOKENS)


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
