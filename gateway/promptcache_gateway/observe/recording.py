"""From a request that has ended to its record. What was found out is the observer's; here it is put down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.observe.record import RequestRecord
from promptcache_gateway.observe.stretches import outline

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Outcome
    from promptcache_gateway.observe.diagnosis import Diagnosis
    from promptcache_gateway.observe.money import Money
    from promptcache_gateway.observe.observation import Observation
    from promptcache_gateway.observe.provider_verdict import ProviderVerdict


def make_record(
    observation: Observation,
    outcome: Outcome,
    diagnosis: Diagnosis,
    money: Money,
    *,
    template: str,
    verdict: ProviderVerdict | None,
) -> RequestRecord:
    """The record of a request; ``template`` is the name it is shown under."""
    call, usage, engine = observation.call, outcome.usage, outcome.engine
    prompt = usage.total_input if engine is None else engine.prompt_tokens
    cached = usage.cache_read if engine is None else engine.cached_tokens
    sight = observation.sight
    ours = sight.rules.reports_exactly  # the built-in engine charges nothing
    estimate = None if ours else outcome.estimate
    cost = None if ours else money.cost(usage, call.model, answers=call.dialect != "openai.embeddings")
    charged = None if estimate is None else money.cost(estimate, call.model)
    if cost is None and estimate is None and not ours:
        charged = money.most(usage, call.model)
        estimate = None if charged is None else usage
    return RequestRecord(
        id=call.id,
        time=call.received_at,
        template=template,
        learned=sight.name.learned,
        tenant=call.tenant,
        upstream=call.upstream,
        model=call.model,
        dialect=call.dialect,
        status=outcome.status,
        error=outcome.error,
        prompt_tokens=prompt,
        cached_tokens=cached,
        cache_write_tokens=usage.cache_write,
        uncached_tokens=usage.uncached,
        output_tokens=usage.output,
        reported=cached is not None,
        ttft_ms=outcome.ttft_ms,
        duration_ms=outcome.duration_ms,
        response_id=outcome.response_id,
        saved_usd=None if ours else money.saved(usage, call.model),
        cost_usd=cost,
        key_id=call.key_id,
        trace=call.trace,
        changes=outcome.changes,
        diagnosis=diagnosis,
        outline=() if sight.prompt is None else outline(sight.prompt),
        raw_usage=usage.raw,
        provider_verdict=verdict,
        placement=outcome.placement,
        estimated_tokens=None if estimate is None else (estimate.total_input or 0) + (estimate.output or 0),
        estimated_usd=charged,
    )
