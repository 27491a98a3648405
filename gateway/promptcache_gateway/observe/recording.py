"""From a request that has ended to its record. What was found out is the observer's; here it is put down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.observe.foreseen import Inquiry
from promptcache_gateway.observe.provider_verdict import ProviderVerdict
from promptcache_gateway.observe.record import RequestRecord
from promptcache_gateway.observe.stretches import outline

if TYPE_CHECKING:
    from promptcache_gateway.observe.diagnosis import Diagnosis
    from promptcache_gateway.observe.ending import Ended
    from promptcache_gateway.observe.money import Money


def make_record(ended: Ended, diagnosis: Diagnosis, money: Money, *, template: str) -> RequestRecord:
    """The record of a request; ``diagnosis`` is the whole, ``template`` is the name it is shown under."""
    observation, outcome = ended.observation, ended.outcome
    call, usage, cached = observation.call, outcome.usage, ended.cached_tokens
    sight = observation.sight
    ours = sight.rules.reports_exactly  # the built-in engine charges nothing
    estimate, cost, charged, saved = None if ours else outcome.estimate, None, None, None
    if not ours and money.knows(call.model):
        cost = money.cost(usage, call.model, answers=call.dialect != "openai.embeddings")
        saved = money.saved(usage, call.model)
        charged = None if estimate is None else money.cost(estimate, call.model)
        if cost is None and estimate is None:
            charged = money.most(usage, call.model)
            estimate = None if charged is None else usage
    # By position, which takes half the time: a record has more fields than anything else that is made here.
    return RequestRecord(
        call.id,
        call.received_at,
        template,
        sight.name.learned,
        call.tenant,
        call.upstream,
        call.model,
        call.dialect,
        outcome.status,
        outcome.error,
        ended.prompt_tokens,
        cached,
        usage.cache_write,
        usage.uncached,
        usage.output,
        cached is not None,
        outcome.ttft_ms,
        outcome.duration_ms,
        outcome.response_id,
        saved,
        diagnosis,
        cost,
        call.key_id,
        outcome.changes,
        call.trace,
        () if sight.prompt is None else outline(sight.prompt),
        usage.raw,
        _verdict(ended),
        outcome.placement,
        None if estimate is None else (estimate.total_input or 0) + (estimate.output or 0),
        charged,
        ours,
    )


def _verdict(ended: Ended) -> ProviderVerdict | None:
    """The provider's own diagnostics beside ours, None where nobody asked or the request failed."""
    outcome, observation, question = ended.outcome, ended.observation, ended.outcome.question
    if question is None or outcome.status >= 400:
        return None
    inquiry = Inquiry(question, ended.named, observation.sight.prompt, observation.sight.rules.kind)
    return ProviderVerdict(
        question.dialect,
        question.response_id,
        question.by_caller,
        inquiry.answer(outcome.usage.cache_read, observation.foreseen),
        outcome.answer,
        question.to_provider,
    )
