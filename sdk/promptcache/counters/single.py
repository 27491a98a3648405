"""Judges one request's counters against what was possible for it.

Knows minimum lengths, granularity and the previous request's size; a read one step below the best possible
is a hit, and a prompt below the minimum is not a miss.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.providers import find_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache.usage import Usage

__all__ = ["RequestFacts", "UsageDiagnosis", "diagnose_usage"]


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What is known of a request beside its usage; None where nothing is.

    ``min_tokens`` and ``step`` are the provider's; ``marks`` counts the breakpoints it carried;
    ``append_only`` says whether it extends the previous request, whose size is ``previous_tokens``.
    ``caching`` is False where reuse is known to be switched off.
    """

    model: str | None = None
    prompt_tokens: int | None = None
    min_tokens: int | None = None
    step: int | None = None
    marks: int | None = None
    append_only: bool | None = None
    previous_tokens: int | None = None
    caching: bool | None = None

    @classmethod
    def from_mapping(cls, meta: Mapping[str, Any]) -> RequestFacts:
        """Read a log line's facts; what it leaves out is taken from the model's entry, where there is one."""
        model = meta.get("model")
        known = find_model(model) if isinstance(model, str) else None
        caching = meta.get("enable_prefix_caching", meta.get("caching"))
        return cls(
            model=model,
            prompt_tokens=meta.get("prompt_tokens"),
            min_tokens=meta.get("min_cacheable_tokens", known.min_tokens if known else None),
            step=meta.get("step", meta.get("block_size", known.step if known else None)),
            marks=meta.get("marks"),
            append_only=meta.get("append_only"),
            previous_tokens=meta.get("previous_prompt_tokens"),
            caching=caching if isinstance(caching, bool) else None,
        )


@dataclass(frozen=True, slots=True)
class UsageDiagnosis:
    """What one request's counters say.

    ``cause`` None means that there is nothing to report. ``alarm`` asks for attention; ``counts_as_miss``
    is False where no hit was possible. ``best_possible`` is the largest read that was possible, in tokens.
    """

    cause: str | None
    alarm: bool
    counts_as_miss: bool
    best_possible: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def diagnose_usage(usage: Usage, facts: RequestFacts) -> UsageDiagnosis:
    """Judge ``usage`` by what was possible for the request."""
    prompt = usage.total_input if usage.total_input is not None else facts.prompt_tokens
    best = _best_possible(prompt, facts)
    if usage.cache_read is None:
        return UsageDiagnosis("PC810", alarm=False, counts_as_miss=False, best_possible=best)
    if usage.cache_read or usage.cache_write:
        return _judge_read(usage, best, facts)
    if facts.caching is False:
        return UsageDiagnosis("PC811", alarm=True, counts_as_miss=False, best_possible=0)
    if prompt is not None and facts.min_tokens is not None and prompt < facts.min_tokens:
        details = {"prompt_tokens": prompt, "min_cacheable_tokens": facts.min_tokens}
        return UsageDiagnosis("PC604", alarm=False, counts_as_miss=False, best_possible=0, details=details)
    if facts.marks == 0 and usage.convention == "disjoint":
        return UsageDiagnosis("PC602", alarm=True, counts_as_miss=True, best_possible=best)
    return _judge_read(usage, best, facts)


def _best_possible(prompt: int | None, facts: RequestFacts) -> int | None:
    """The previous request's tokens, the last one recomputed, rounded down to whole steps."""
    if facts.previous_tokens is None or facts.append_only is False:
        return None
    reach = facts.previous_tokens if prompt is None else min(facts.previous_tokens, prompt - 1)
    step = facts.step or 1
    best = reach // step * step
    return best if facts.min_tokens is None or best >= facts.min_tokens else 0


def _judge_read(usage: Usage, best: int | None, facts: RequestFacts) -> UsageDiagnosis:
    read = usage.cache_read or 0
    if best is None:
        return UsageDiagnosis(None, alarm=False, counts_as_miss=not read)
    if best == 0 and not read:
        return UsageDiagnosis("PC807", alarm=False, counts_as_miss=False, best_possible=0)
    if read >= best - (facts.step or 1):
        return UsageDiagnosis(None, alarm=False, counts_as_miss=False, best_possible=best)
    cause = "PC809" if facts.append_only else None
    return UsageDiagnosis(cause, alarm=True, counts_as_miss=True, best_possible=best)
