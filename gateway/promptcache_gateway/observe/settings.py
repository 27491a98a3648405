"""Which fields of a request are remembered beside its contents: those that a comparison asks for.

Names of users, numbers of tokens and whatever else a caller sends along say nothing of its prompt, and may be
megabytes. What a changed setting means is the SDK's and `provider_reasons`' business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptcache.divergence.parameters import COMPARED

if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT_ELSEWHERE = frozenset(
    {"previous_response_id", "conversation", "container", "prompt_id", "context_management", "mcp_servers"}
)
"""Fields that say that a part of the prompt stands in no request."""

ASKING = frozenset({"prompt_cache_options", "prompt_cache_retention"})
"""Fields that ask a cache for more than it does by itself."""

CACHE_NAMES = frozenset({"prompt_cache_key", "cache_salt"})
"""Fields that say which cache, or which part of it, a prompt belongs to."""

_CONTENTS = frozenset({"messages", "system", "tools", "prompt", "instructions", "input", "functions"})
_TELLING = (COMPARED | KEPT_ELSEWHERE | ASKING) - _CONTENTS


def parameters_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a request's body says beside its contents, as far as it can matter to a cache.

    >>> parameters_of({"model": "m", "temperature": 1, "service_tier": "flex", "messages": []})
    {'model': 'm', 'service_tier': 'flex'}
    """
    return {name: value for name, value in body.items() if name in _TELLING}


def written(value: object) -> bytes:
    """A setting's value written down, the same for the same value whatever the order of its names."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # numbers and texts that only other readers of JSON let through
        return repr(value).encode(errors="backslashreplace")
