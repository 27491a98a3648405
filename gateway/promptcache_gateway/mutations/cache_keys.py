"""Names for a cache: ``prompt_cache_key``, ``cache_salt`` and a session's header, by policy.

A name is a digest of the tenant and of what the policy says: the template, or the first message of the
conversation, which stays while the conversation grows. It tells nothing of its text and is the same in every
process. What the caller wrote stays.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from promptcache_gateway.exchange import Change
from promptcache_gateway.upstreams.splice import set_member

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.mutations.rules import Policy
    from promptcache_gateway.observe.observation import Sight
    from promptcache_gateway.upstreams.base import Inbound

KEYED = frozenset({"openai.chat", "openai.responses"})
"""The APIs whose requests take a ``prompt_cache_key``."""
SALTED = frozenset({"openai.chat", "openai.completions", "openai.responses"})
"""The APIs whose requests take a ``cache_salt``."""

SESSION = "session_header"

_CONTINUES = ("previous_response_id", "conversation")


def name_of(policy: Policy, call: Call, sight: Sight) -> tuple[str | None, str]:
    """The name by a policy, or None and why there is none."""
    if policy == "tenant":
        return _digest("tenant", call.tenant), ""
    if policy == "template":
        return _digest("template", call.tenant, sight.name.name), ""
    if any(call.payload.get(name) is not None for name in _CONTINUES):
        return None, "it continues a conversation that the upstream keeps"
    prompt = sight.prompt
    if prompt is None or prompt.head >= len(prompt.segments):
        return None, "it has no first message to know a conversation by"
    first = prompt.segments[prompt.head]
    texts = [segment.text for segment in prompt.segments[prompt.head :] if segment.message == first.message]
    return _digest("conversation", call.tenant, sight.name.name, *texts), ""


def _digest(*parts: str) -> str:
    """Thirty-two hexadecimal digits; the parts cannot run into one another."""
    digest = hashlib.sha256(b"promptcache")
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:32]


def put_member(call: Call, sight: Sight, member: str, policy: Policy) -> tuple[Call, str | None]:
    """The call with a member that the caller did not write, and its value; None where it was left alone."""
    if member in call.payload:
        return _noted(call, Change(member, skipped=((member, "the caller set it"),))), None
    name, reason = name_of(policy, call, sight)
    if name is None:
        return _noted(call, Change(member, skipped=((member, reason),))), None
    body = set_member(call.body, (member,), orjson.dumps(name))
    payload = {**call.payload, member: name}  # routing reads there which salt a prompt has
    return _noted(replace(call, body=body, payload=payload), Change(member, (member,))), name


def put_header(
    call: Call, inbound: Inbound, sight: Sight, header: str, policy: Policy
) -> tuple[Call, Inbound]:
    """The call and what comes with it, with a header that the caller did not send."""
    raw = header.encode("ascii")
    if any(name == raw for name, _ in inbound.headers):
        return _noted(call, Change(SESSION, skipped=((header, "the caller sent it"),))), inbound
    name, reason = name_of(policy, call, sight)
    if name is None:
        return _noted(call, Change(SESSION, skipped=((header, reason),))), inbound
    headers = [*inbound.headers, (raw, name.encode("ascii"))]
    return _noted(call, Change(SESSION, (header,))), replace(inbound, headers=headers)


def _noted(call: Call, change: Change) -> Call:
    return replace(call, changes=(*call.changes, change))
