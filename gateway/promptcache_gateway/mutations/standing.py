"""The names of the changes that are made without being asked for, so that a record names every one.

They are made elsewhere (`plane.dispatch`, `plane.questions`, `upstreams.openai_http`, `translate`); the
gateway's README has the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.exchange import Change
from promptcache_gateway.upstreams.splice import lacks_include_usage

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstreams.switchboard import Line

_MESSAGES = "anthropic.messages"
_NO_COUNTERPART = "has no counterpart in a chat completion and is dropped"
_MOST_PATHS = 20
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
        return (Change("translation", skipped=_dropped(call)),)
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


def _dropped(call: Call) -> tuple[tuple[str, str], ...]:
    """What a translation leaves out that says something: that a tool failed; the first places of it."""
    if call.dialect != _MESSAGES:
        return ()
    found: list[tuple[str, str]] = []
    messages = call.payload.get("messages")
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        blocks = message.get("content") if isinstance(message, dict) else None
        for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if isinstance(block, dict) and block.get("type") == "tool_result" and block.get("is_error"):
                found.append((f"messages[{at}].content[{index}].is_error", _NO_COUNTERPART))
    return tuple(found[:_MOST_PATHS])
