"""A request's record as the attributes of a span: OpenTelemetry's conventions for generative AI, and ours.

Names of the conventions are those of ``opentelemetry-semantic-conventions`` 0.66b2 (all of them still in
development); what they have no name for is under ``promptcache.``. Unknown is absent, never 0. No text of a
prompt or an answer is among them. Spans themselves are `exporting`'s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache.providers import find_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe.record import RequestRecord

Value = str | bool | int | float | list[str]

_OPERATIONS = {"openai.completions": "text_completion", "openai.embeddings": "embeddings"}
# The conventions' names of providers, by the SDK's. Servers of open models are called after their API.
_PROVIDERS = {
    "amazon": "aws.bedrock",
    "anthropic": "anthropic",
    "deepseek": "deepseek",
    "google": "gcp.gemini",
    "groq": "groq",
    "mistral": "mistral_ai",
    "openai": "openai",
    "xai": "x_ai",
}
_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


def operation_of(record: RequestRecord) -> str:
    """The convention's name of what was asked for."""
    return _OPERATIONS.get(record.dialect, "chat")


def span_name(record: RequestRecord) -> str:
    """The span's name: operation and model."""
    return f"{operation_of(record)} {record.model}".rstrip()


def attributes_of(record: RequestRecord) -> dict[str, Value]:
    """Everything there is to say of a request."""
    diagnosis = record.diagnosis
    found: dict[str, Value | None] = {
        "gen_ai.operation.name": operation_of(record),
        "gen_ai.provider.name": _provider(record),
        "gen_ai.request.model": record.model or None,
        "gen_ai.response.id": record.response_id,
        "gen_ai.response.time_to_first_chunk": None if record.ttft_ms is None else record.ttft_ms / 1000.0,
        "gen_ai.usage.input_tokens": record.prompt_tokens,
        "gen_ai.usage.output_tokens": record.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": record.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": record.cache_write_tokens,
        "http.response.status_code": record.status,
        "error.type": (record.error or str(record.status)) if record.failed else None,
        "promptcache.request_id": record.id,
        "promptcache.template": record.template,
        "promptcache.tenant": record.tenant,
        "promptcache.upstream": record.upstream,
        "promptcache.hit": diagnosis.hit,
        "promptcache.cause": diagnosis.cause,
        "promptcache.causes": _listed(diagnosis.causes),
        "promptcache.attribution": diagnosis.attribution,
        "promptcache.path": diagnosis.path,
        "promptcache.expected_cached_tokens": diagnosis.expected_cached_tokens,
        "promptcache.reusable_tokens": diagnosis.reusable_tokens,
        "promptcache.lost_tokens": diagnosis.lost_tokens,
        "promptcache.lost_usd": diagnosis.lost_usd,
        "promptcache.cost_usd": record.cost_usd,
        "promptcache.saved_usd": record.saved_usd,
        "promptcache.changes": _listed([change.name for change in record.changes if change.paths]),
    }
    return {name: value for name, value in found.items() if value is not None}


def parent_of(record: RequestRecord) -> tuple[int, int, int] | None:
    """Trace, span and flags of the caller's ``traceparent`` (W3C Trace Context), None where it sent none."""
    found = _PARENT.fullmatch(record.trace or "")
    if found is None:
        return None
    trace, span, flags = (int(digits, 16) for digits in found.groups())
    return (trace, span, flags) if trace and span else None


def _provider(record: RequestRecord) -> str:
    """Whose model it is, as far as that is known; else whose API was spoken."""
    facts = find_model(record.model)
    known = _PROVIDERS.get(facts.provider) if facts is not None else None
    return known or record.dialect.partition(".")[0]


def _listed(names: Sequence[str]) -> list[str] | None:
    return list(names) or None
