"""Takes out the block ``x-anthropic-billing-header: …`` that some clients put first in ``system``.

It is another one in every request. Anthropic's own servers know it and leave it out of the prefix; to any
other server it is the first of the prompt's tokens, and nothing behind it is ever found in a cache.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from promptcache_gateway.exchange import Change
from promptcache_gateway.upstreams.splice import value_span

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstream_settings import UpstreamSettings

NAME = "billing_header"
_PREFIX = "x-anthropic-billing-header:"
_PATH = "system[0]"
_KNOWING_HOST = "api.anthropic.com"


def drop_header(call: Call, upstream: UpstreamSettings) -> Call:
    """The call without the block; one that has none is as it was."""
    system = call.payload.get("system")
    if call.dialect != "anthropic.messages" or not isinstance(system, list) or not system:
        return call
    block = system[0]
    if not isinstance(block, dict) or not _begins(block.get("text")):
        return call
    reason = _kept(block, upstream)
    if reason is not None:
        change = Change(NAME, skipped=((_PATH, reason),))
        return replace(call, changes=(*call.changes, change))
    return replace(
        call,
        body=_without_first(call.body, len(system)),
        payload={**call.payload, "system": system[1:]},
        changes=(*call.changes, Change(NAME, (_PATH,))),
    )


def _begins(text: object) -> bool:
    return isinstance(text, str) and text.lower().startswith(_PREFIX)


def _kept(block: dict[str, Any], upstream: UpstreamSettings) -> str | None:
    """Why the block stays, None where it goes."""
    if urlsplit(upstream.url).hostname == _KNOWING_HOST:
        return "Anthropic's own servers know it"
    if block.get("cache_control") is not None:
        return "it carries a breakpoint"
    return "more text follows in the same block" if "\n" in block["text"].strip() else None


def _without_first(body: bytes, count: int) -> bytes:
    """The body without ``system[0]`` and the comma behind it."""
    begin, end = value_span(body, ("system", 0))
    if count > 1:
        end, _ = value_span(body, ("system", 1))
    return body[:begin] + body[end:]
