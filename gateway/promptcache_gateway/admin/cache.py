"""What the admin API does to an upstream's cache: empty it, warm it, look at the engine."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.exchange import Call

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.observe import Observer
    from promptcache_gateway.upstreams.base import Upstream


async def reset_caches(observer: Observer, upstreams: Sequence[Upstream]) -> bool:
    """Empty every cache this gateway owns; False where one is in use, and then it stays as it is.

    Raises:
        ApiError: 400 where no upstream has a cache that can be emptied from here.
    """
    answers = {upstream.name: await upstream.reset_cache() for upstream in upstreams}
    for name, answer in answers.items():
        if answer:
            observer.cache_was_emptied(name)
    known = [answer for answer in answers.values() if answer is not None]
    if not known:
        raise ApiError(400, "No upstream has a cache that this gateway can empty.", code="unsupported")
    return all(known)


async def warm_cache(
    observer: Observer, upstreams: Sequence[Upstream], payload: Mapping[str, Any], *, template: str | None
) -> dict[str, Any]:
    """Have a request's prompt computed and kept without an answer; what the engine knew of it.

    Raises:
        ApiError: 400 where the body is no request or no upstream can warm its cache.
    """
    for upstream in upstreams:
        call = _call(payload, upstream.name, template)
        facts = await upstream.warm(call)
        if facts is not None:
            observer.warmed(call)
            return {
                "success": True,
                "upstream": upstream.name,
                "prompt_tokens": facts.prompt_tokens,
                "cached_tokens": facts.cached_tokens,
                "computed_tokens": facts.prompt_tokens - facts.cached_tokens,
            }
    raise ApiError(
        400,
        "No upstream can be warmed from here: only the built-in engine computes a prompt without answering.",
        code="unsupported",
    )


def engine_view(upstreams: Sequence[Upstream]) -> dict[str, Any]:
    """The built-in engine's numbers, or ``{"available": false}`` where there is none."""
    for upstream in upstreams:
        health = upstream.health()
        stats = health.get("stats")
        if isinstance(stats, Mapping):
            pages = {name: stats.get(f"pages_{name}") for name in ("total", "free", "cached", "held")}
            about = {"available": True, "upstream": upstream.name, "model": health.get("model")}
            return {**about, "healthy": bool(health.get("ok")), **stats, "pages": pages}
    return {"available": False}


def engine_stats(upstreams: Sequence[Upstream]) -> dict[str, Mapping[str, Any]]:
    """The counters of each upstream that is an engine, by name."""
    found = {upstream.name: upstream.health().get("stats") for upstream in upstreams}
    return {name: stats for name, stats in found.items() if isinstance(stats, Mapping)}


def _call(payload: Mapping[str, Any], upstream: str, template: str | None) -> Call:
    model = payload.get("model")
    if not isinstance(model, str) or not model:
        raise invalid_request("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    dialect = _dialect(payload)
    if template is None:
        metadata = payload.get("metadata")
        name = metadata.get("promptcache_template") if isinstance(metadata, Mapping) else None
        template = name if isinstance(name, str) else None
    return Call(
        id=f"pcr_{secrets.token_hex(12)}",
        received_at=time.time(),
        dialect=dialect,
        path="/promptcache/v1/cache/warm",
        body=b"",
        payload=payload,
        model=model,
        stream=False,
        tenant="default",
        template=template,
        upstream=upstream,
        use_cache=True,
        want_body=False,
    )


def _dialect(payload: Mapping[str, Any]) -> Dialect:
    if "messages" in payload:
        return "openai.chat"
    if "prompt" in payload:
        return "openai.completions"
    raise invalid_request(
        "The body must be a chat completion ('messages') or a completion ('prompt').",
        "messages",
        "missing_required_parameter",
    )
