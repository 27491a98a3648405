"""From bytes to tokens: how much could have been read, how much was, and what was lost.

What the built-in engine counted is exact, and so is the length of an earlier request that would have
matched as a whole. Everything else is read off a line from bytes to tokens, and says that it is an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_gateway.observe.marked import readable_segments

if TYPE_CHECKING:
    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.evidence import Evidence

_ESTIMATE_SLACK = 0.02  # share of an estimate that it may be wrong by before anyone is told of a loss


@dataclass(frozen=True, slots=True)
class Tokens:
    """The counts of one request. None is unknown.

    Attributes:
        prompt: tokens of the whole prompt.
        cached: tokens read from the cache.
        expected: what the bytes as sent allowed.
        reusable: what would have matched had the differing spans been equal.
        offset: tokens before the first difference.
        tolerance: how far ``cached`` may stay below ``expected`` and still be a hit.
        estimated: at least one of the counts rests on a ratio of bytes to tokens.
    """

    prompt: int | None = None
    cached: int | None = None
    expected: int | None = None
    reusable: int | None = None
    offset: int | None = None
    tolerance: int = 0
    estimated: bool = False

    @property
    def lost(self) -> int | None:
        """``max(0, reusable - cached)``, None while either is unknown."""
        if self.reusable is None or self.cached is None:
            return None
        return max(0, self.reusable - self.cached)

    @property
    def fell_short(self) -> bool:
        """Whether less was read than the bytes as sent allowed."""
        if self.expected is None or self.cached is None:
            return False
        return self.cached < self.expected - self.tolerance


@dataclass(frozen=True, slots=True)
class _Scale:
    """A line from bytes to tokens through an anchor and the prompt's end."""

    at_bytes: int
    at_tokens: int
    per_byte: float

    def __call__(self, size: int) -> float:
        return max(0.0, self.at_tokens + (size - self.at_bytes) * self.per_byte)


def count_tokens(evidence: Evidence, usage: Usage | None, engine: EngineFacts | None) -> Tokens:
    """The token counts of a request as far as the evidence allows."""
    prompt, cached = _reported(usage, engine)
    if evidence.prompt is None or prompt is None:
        return Tokens(prompt=prompt, cached=cached)
    if evidence.comparison is None:
        known = cached or 0
        return Tokens(prompt, cached, expected=known, reusable=known, tolerance=evidence.rules.granularity)
    return _compared(evidence, prompt, cached, engine)


def _reported(usage: Usage | None, engine: EngineFacts | None) -> tuple[int | None, int | None]:
    if engine is not None:
        return engine.prompt_tokens, engine.cached_tokens
    if usage is None:
        return None, None
    return usage.total_input, usage.cache_read


def _compared(evidence: Evidence, prompt: int, cached: int | None, engine: EngineFacts | None) -> Tokens:
    comparison = evidence.comparison
    assert comparison is not None
    scale = _scale(evidence, prompt, engine)
    rules = evidence.rules
    exact = _expected_exactly(engine, others=not (comparison.broken or comparison.shares_nothing))
    expected = exact if exact is not None else min(rules.promised(_expected(evidence, scale)), prompt)
    tolerance = _tolerance(evidence, expected, exact=exact is not None)
    reusable, known = _reusable(evidence, prompt, scale)
    if reusable > expected and _is_left_unmarked(evidence):
        reusable, known = expected, False
    if (
        exact is not None
        and not comparison.broken
        and abs(reusable - exact) <= max(tolerance, exact * _ESTIMATE_SLACK)
    ):
        reusable, known = exact, True  # nothing differs, so both are one number, and the engine counted it
    offset = _exact_offset(engine)
    return Tokens(
        prompt=prompt,
        cached=cached,
        expected=max(expected, 0),
        reusable=max(reusable, expected, cached or 0),
        offset=offset if offset is not None else round(scale(comparison.shared_bytes)),
        tolerance=tolerance,
        estimated=not known or exact is None or offset is None,
    )


def _reusable(evidence: Evidence, prompt: int, scale: _Scale) -> tuple[int, bool]:
    """What would have matched had the differing spans been equal, and whether that is exact.

    A fault of the caller's is shown wherever it may cost; an upstream is held to its promises only.
    """
    comparison, rules = evidence.comparison, evidence.rules
    assert comparison is not None
    reach = rules.possible if comparison.broken else rules.promised
    whole = comparison.matching_full.prompt_tokens if comparison.matching_full is not None else None
    size = whole if whole is not None else scale(comparison.matching_bytes)
    return min(reach(size), prompt), whole is not None


def _is_left_unmarked(evidence: Evidence) -> bool:
    """Whether the rest of an unbroken prefix is not kept for want of a breakpoint, and none is amiss."""
    comparison = evidence.comparison
    if comparison is None or comparison.broken or not evidence.rules.marked_only:
        return False
    match = evidence.match
    if match is None or match.living is None:
        return False  # it expired, or never was there: that is another reason
    return not any(code.startswith("PC6") for code in comparison.divergence.causes)


def _scale(evidence: Evidence, prompt: int, engine: EngineFacts | None) -> _Scale:
    assert evidence.prompt is not None
    assert evidence.comparison is not None
    total = max(evidence.prompt.total_bytes, 1)
    at_tokens, at_bytes = _exact_offset(engine), evidence.comparison.shared_bytes
    if at_tokens is None or at_bytes >= total:
        return _Scale(0, 0, prompt / total)
    return _Scale(at_bytes, at_tokens, (prompt - at_tokens) / (total - at_bytes))


def _exact_offset(engine: EngineFacts | None) -> int | None:
    """Where the engine saw the first token it remembers nothing of; None where it remembers nothing."""
    return engine.diverged_at or None if engine is not None else None


def _expected_exactly(engine: EngineFacts | None, *, others: bool) -> int | None:
    """What the engine knew of the prompt; ``others``: also what it holds for other tenants.

    That is a finding where the tenant itself sent the same before, and else not to be told.
    """
    if engine is None:
        return None
    isolated = engine.isolated if others else 0
    known = engine.reused + engine.evicted + isolated + engine.granularity + engine.window
    return max(engine.cached_tokens, min(known, engine.prompt_tokens - 1))


def _expected(evidence: Evidence, scale: _Scale) -> float:
    comparison = evidence.comparison
    assert comparison is not None
    whole = comparison.living_full
    if evidence.rules.marked_only:
        assert evidence.prompt is not None
        segments = readable_segments(evidence.prompt, evidence.match)
        if whole is None or segments < len(whole.prompt.segments):
            return scale(min(comparison.living_bytes, evidence.prompt.offsets[segments]))
    if whole is not None and whole.prompt_tokens is not None:
        return whole.prompt_tokens
    return scale(comparison.living_bytes)


def _tolerance(evidence: Evidence, expected: int, *, exact: bool) -> int:
    step = evidence.rules.granularity
    return step if exact else step + round(expected * _ESTIMATE_SLACK)
