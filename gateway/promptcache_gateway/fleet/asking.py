"""What a call asks of a fleet: its prefix, its session, and how long what it leaves there lives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache.providers import find_model
from promptcache_gateway.fleet.prefix import Prefix, read_prefix
from promptcache_gateway.upstreams.openai_http import tenant_salt

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstream_settings import UpstreamSettings
    from promptcache_gateway.upstreams.base import Inbound

SESSION_HEADERS = (b"x-promptcache-session", b"x-session-affinity", b"x-session-id")
"""Where callers name their conversation; the first that is there counts."""

_MAX_SESSION = 256
_LONGEST_NAME = 256


def read_asked(call: Call, inbound: Inbound, settings: UpstreamSettings, tokens_per_byte: float) -> Prefix:
    """The prefix of a call as it goes to an upstream."""
    if call.dialect == "openai.embeddings":
        return Prefix()
    prefix = read_prefix(
        call.payload,
        tenant=call.tenant,
        model=call.model,
        session=_session(inbound),
        lifetime_s=_lifetime_s(call.model),
        tokens_per_byte=tokens_per_byte,
        namespace=tenant_salt(call.tenant) if settings.tenant_salt else _own_salt(call),
    )
    # SGLang keeps prefixes of other extra keys apart too, and its events never tell them.
    return replace(prefix, token_ids=()) if call.payload.get("extra_key") else prefix


def _lifetime_s(model: str) -> float | None:
    """The longest that the model's provider keeps a prefix; None: not known, or until eviction."""
    facts = find_model(model) if len(model) <= _LONGEST_NAME else None
    return max(map(float, facts.ttl_s), default=None) if facts is not None else None


def _own_salt(call: Call) -> str:
    """The caller's own ``cache_salt`` (vLLM, SGLang)."""
    salt = call.payload.get("cache_salt")
    return salt if isinstance(salt, str) else ""


def _session(inbound: Inbound) -> str | None:
    said = {name: value for name, value in inbound.headers if name in SESSION_HEADERS}
    for name in SESSION_HEADERS:
        text = said.get(name, b"").decode("latin-1").strip()
        if text:
            return text[:_MAX_SESSION]
    return None
