"""The names of the changes that are made without being asked for, so that a record names every one.

They are made elsewhere (`plane.dispatch`, `plane.questions`, `upstreams.openai_http`, `translate`); the
gateway's README has the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.exchange import Change
from promptcache_gateway.translate import left_out
from promptcache_gateway.upstreams.splice import lacks_include_usage

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstreams.switchboard import Line

_MESSAGES = "anthropic.messages"
_MODEL = Change("model", ("model",))
_USAGE = Change("include_usage", ("stream_options",))
_SALT = Change("tenant_salt", ("cache_salt",))
_CHAT = frozenset({"openai.chat", "openai.completions"})


def standing_changes(received: Call, call: Call, asked: bytes, line: Line) -> tuple[Change, ...]:
    """What is changed of a call anyway.

    Args:
        received: as the caller sent it.
        call: as it goes to the upstream, before anything that was asked for is changed.
        asked: its body before a question about the provider's cache was put in or taken out.
        line: the upstream.
    """
    if call.dialect not in line.upstream.dialects:
        return (Change("translation", skipped=left_out(line.upstream, call)),)
    found = []
    if call.model != received.payload.get("model", call.model):
        found.append(_MODEL)
    if asked != call.body:
        name = "diagnostics" if call.dialect == _MESSAGES else "prompt_cache_options"
        found.append(Change("diagnostics", (name,)))
    settings = line.settings
    if settings.kind == "openai":
        if (
            call.stream
            and settings.include_usage
            and call.dialect in _CHAT
            and lacks_include_usage(call.payload)
        ):
            found.append(_USAGE)
        if settings.tenant_salt and call.dialect != "openai.embeddings":
            found.append(_SALT)
    return tuple(found)
