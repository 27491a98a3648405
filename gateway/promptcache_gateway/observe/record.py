"""What is kept of one request after it ended: counts, times and the diagnosis, no text of a prompt.

The excerpts of a diagnosis stay with the value while it is in memory; the store leaves them out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.quick_values import quick
from promptcache_gateway.exchange import changes_json
from promptcache_gateway.observe.stretches import outline_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Change, Placement
    from promptcache_gateway.observe.diagnosis import Diagnosis
    from promptcache_gateway.observe.pieces import Stretch
    from promptcache_gateway.observe.provider_verdict import ProviderVerdict


@quick
@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request, ended.

    Attributes:
        id: the gateway's id of the request.
        time: Unix time in seconds at which it came in.
        template: the template's name.
        learned: False where the caller named the template.
        tenant: whom it belongs to.
        upstream: where it went.
        model: the model asked for.
        dialect: which API the caller spoke.
        status: HTTP status the caller got.
        error: the code of the error that ended it, or None.
        prompt_tokens: the whole prompt, None where the upstream did not say.
        cached_tokens: read from the cache, None where the upstream did not say.
        cache_write_tokens: written to it, None where the upstream did not say.
        uncached_tokens: neither read nor written, None where the upstream did not say.
        output_tokens: generated, None where the upstream did not say.
        reported: the upstream said how much it read.
        ttft_ms: milliseconds to the first output, None where that cannot be seen.
        duration_ms: milliseconds to the last byte.
        response_id: the id of the response object, or None.
        saved_usd: what reading saved, less what writing cost more; None without prices.
        diagnosis: why what was not read was not.
        cost_usd: what it cost, at most that where the cache's part is not known; None where a price is not
            known, or nothing was counted.
        key_id: the id of the key that was shown, None where it is none of the file's.
        changes: what the gateway changed of it on its way to the upstream.
        trace: the caller's ``traceparent``, or None. In memory only.
        outline: the prompt's segments without their texts. In memory only.
        raw_usage: the upstream's own usage record as it sent it. In memory only.
        provider_verdict: the provider's own diagnostics beside ours, where someone asked. In memory only.
        placement: which replica of a fleet took it, and what was known then. In memory only.
        estimated_tokens: what it has used by an estimate of the gateway's, where the upstream did not say and
            its caller has a budget or a limit of tokens; None: none was needed. In memory only.
        estimated_usd: what that costs, None where the price is not known. In memory only.
        free: its upstream charges nothing, so that no price is missing. In memory only.
    """

    id: str
    time: float
    template: str
    learned: bool
    tenant: str
    upstream: str
    model: str
    dialect: str
    status: int
    error: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    uncached_tokens: int | None
    output_tokens: int | None
    reported: bool
    ttft_ms: float | None
    duration_ms: float
    response_id: str | None
    saved_usd: float | None
    diagnosis: Diagnosis
    cost_usd: float | None = None
    key_id: str | None = None
    changes: tuple[Change, ...] = ()
    trace: str | None = None
    outline: tuple[Stretch, ...] = ()
    raw_usage: Mapping[str, Any] = field(default_factory=dict)
    provider_verdict: ProviderVerdict | None = None
    placement: Placement | None = None
    estimated_tokens: int | None = None
    estimated_usd: float | None = None
    free: bool = False

    @property
    def charged_usd(self) -> float | None:
        """What budgets are charged: what it cost, or the estimate where there is one; None: not known."""
        return self.cost_usd if self.estimated_tokens is None else self.estimated_usd

    @property
    def failed(self) -> bool:
        """Whether it ended in an error, be it in the middle of a stream that had begun well."""
        return self.status >= 400 or self.error is not None

    def names(self) -> dict[str, str]:
        """Whose template it is of, as a listener to changes of templates is told."""
        return {"name": self.template, "tenant": self.tenant}

    def told(self) -> dict[str, Any]:
        """The record as JSON without any text of a prompt."""
        return self.to_dict(excerpts=False)

    def to_dict(self, *, excerpts: bool = True) -> dict[str, Any]:
        """The record as JSON; without ``excerpts`` no text of a prompt is in it."""
        return {
            "id": self.id,
            "time": self.time,
            "template": self.template,
            "learned": self.learned,
            "tenant": self.tenant,
            "upstream": self.upstream,
            "model": self.model,
            "dialect": self.dialect,
            "status": self.status,
            "error": self.error,
            "usage": {
                "prompt_tokens": self.prompt_tokens,
                "cached_tokens": self.cached_tokens,
                "cache_write_tokens": self.cache_write_tokens,
                "uncached_tokens": self.uncached_tokens,
                "output_tokens": self.output_tokens,
                "reported": self.reported,
            },
            "ttft_ms": self.ttft_ms,
            "duration_ms": self.duration_ms,
            "response_id": self.response_id,
            "saved_usd": self.saved_usd,
            "cost_usd": self.cost_usd,
            "key_id": self.key_id,
            "changes": changes_json(self.changes),
            "diagnosis": self.diagnosis.to_dict(excerpts=excerpts),
            **(self._remembered() if excerpts else {}),
        }

    def _remembered(self) -> dict[str, Any]:
        """What is never written down; None where it is not known."""
        return {
            "outline": outline_json(self.outline, self.prompt_tokens) or None,
            "raw_usage": dict(self.raw_usage) or None,
            "provider_verdict": self.provider_verdict.to_dict() if self.provider_verdict else None,
            "placement": None if self.placement is None else asdict(self.placement),
        }
