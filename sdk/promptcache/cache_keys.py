"""Cache keys: which requests a provider should send to the same machine.

OpenAI routes by the first tokens and ``prompt_cache_key``. Requests that share a prefix should share a key,
as long as they are not more than one machine takes; a key that changes within a conversation, or is another
for each user of one template, loses what is cached. So a key is of the template and tenant, for ever, and is
spread over as many keys as the rate needs. It is a hash: names of tenants do not leave, nothing is cut off.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from promptcache.errors import ConversationError
from promptcache.providers import KEY_REQUESTS_PER_MINUTE

__all__ = ["cache_key", "session_key"]


def cache_key(
    template: str,
    *,
    tenant: str | None = None,
    requests_per_minute: float | None = None,
    spread: str = "",
) -> str:
    """Return the key for requests of a template: 27 characters, equal in every process.

    ``requests_per_minute`` is the rate of the template and tenant; where one key takes less, ``spread`` (what
    stays the same in one conversation, such as its id) chooses among as many keys as needed.

    Raises `promptcache.errors.ConversationError` for a rate that is not a finite number from 0.

    >>> cache_key("support") == cache_key("support", spread="another conversation")
    True
    >>> cache_key("support", tenant="a") == cache_key("support", tenant="b")
    False
    """
    shards = max(1, math.ceil(_rate(requests_per_minute) / KEY_REQUESTS_PER_MINUTE))
    shard = int.from_bytes(_digest(spread), "big") % shards
    return f"pc-{_digest(template, tenant or '', str(shard)).hex()}"


def session_key(body: Mapping[str, Any]) -> str | None:
    """Return a key for the session an Anthropic body names in ``metadata.user_id``; None when it names none.

    Clients that run sessions write a JSON object with a ``session_id`` there. A plain user id is no session:
    one user's sessions need not share a prefix.
    """
    metadata = body.get("metadata")
    named = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    try:
        told = json.loads(named) if isinstance(named, str) else None
    except (ValueError, RecursionError):
        told = None
    session = told.get("session_id") if isinstance(told, dict) else None
    return f"pc-{_digest('session', str(named)).hex()}" if session else None


def _rate(value: object) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ConversationError(
            f"{value!r} is no rate of requests a minute.", remedy="Give a finite number from 0, or None."
        )
    return value


def _digest(*parts: str) -> bytes:
    """Hash the parts with their lengths, so that no two ways of dividing a text are alike."""
    written = [part.encode("utf-8", "surrogatepass") for part in parts]
    whole = b"".join(len(part).to_bytes(8, "big") + part for part in written)
    return blake2b(whole, digest_size=12).digest()
