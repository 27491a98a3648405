"""Changes a request on its way to an upstream as the settings have it, and says what was changed.

Two steps: `prepare` is what must be done before the request is observed, because the upstream's cache will
see it so; `apply` is what depends on what was observed. A request for which nothing is configured pays
neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_gateway.exchange import Change
from promptcache_gateway.mutations.billing import NAME as BILLING
from promptcache_gateway.mutations.billing import drop_header
from promptcache_gateway.mutations.breakpoints import NAME as BREAKPOINTS
from promptcache_gateway.mutations.breakpoints import mark_prefixes, note_theirs
from promptcache_gateway.mutations.cache_keys import KEYED, SALTED, SESSION, put_header, put_member
from promptcache_gateway.mutations.rules import MutationSettings
from promptcache_gateway.mutations.sightings import Sightings

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.mutations.rules import MutationRules, Policy
    from promptcache_gateway.observe.observation import Observation, Sight
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry
    from promptcache_gateway.upstreams.base import Inbound
    from promptcache_gateway.upstreams.switchboard import Line

MUTATIONS = frozenset({BREAKPOINTS, BILLING, "prompt_cache_key", "cache_salt", SESSION})
"""The names of changes that are made only where they are asked for."""

_MESSAGES = "anthropic.messages"


class Mutator:
    """The settings at work, with what was seen of prefixes so far."""

    def __init__(self, settings: MutationSettings | None = None) -> None:
        self._settings = MutationSettings() if settings is None else settings
        self._sightings = Sightings()

    def renew(self, settings: MutationSettings) -> None:
        """Go by other settings; what was seen is remembered."""
        self._settings = settings

    def forget(self, tenant: str) -> None:
        """Forget what was seen of a tenant's requests."""
        self._sightings.forget(tenant)

    def watch(self, tenant: str, entry: Entry) -> None:
        """Note what another worker's gateway marked, or would have, as if it had been seen here."""
        note_theirs(tenant, entry, self._sightings)

    def prepare(self, call: Call, line: Line) -> Call:
        """The call as it is to be observed."""
        if (
            not self._settings.drops_anything
            or not self._settings.for_upstream(line.upstream.name).drop_billing_header
        ):
            return call
        return drop_header(call, line.settings)

    def apply(
        self, call: Call, inbound: Inbound, line: Line, observation: Observation
    ) -> tuple[Call, Inbound]:
        """The call and what comes with it as they go to the upstream."""
        if not self._settings.anything or call.dialect == "openai.embeddings":
            return call, inbound
        sight = observation.sight
        rules = self._settings.for_call(line.upstream.name, sight.name.name)
        if not rules.needs_sight:
            return call, inbound
        prompt = sight.prompt
        if rules.breakpoints and call.dialect == _MESSAGES:
            call, prompt = self._mark(call, line, sight, rules)
        for member, policy, dialects in (
            ("prompt_cache_key", rules.prompt_cache_key, KEYED),
            ("cache_salt", rules.cache_salt, SALTED),
        ):
            if policy != "off" and call.dialect in dialects:
                call, value = _member(call, line, sight, member, policy)
                if prompt is not None and value is not None:
                    parameters = {**prompt.parameters, member: value}
                    prompt = replace(prompt, parameters=parameters, own=prompt.own | {member})
        if prompt is not None and prompt is not sight.prompt:
            observation.revise(prompt)
        if rules.session_header and rules.session != "off" and line.settings.kind != "engine":
            return put_header(call, inbound, sight, rules.session_header, rules.session)
        return call, inbound

    def _mark(self, call: Call, line: Line, sight: Sight, rules: MutationRules) -> tuple[Call, Prompt | None]:
        if call.dialect not in line.upstream.dialects:
            return _skipped(call, BREAKPOINTS, "the request is translated"), sight.prompt
        return mark_prefixes(call, sight, self._sightings, rules.breakpoint_ttl)


def _member(call: Call, line: Line, sight: Sight, name: str, policy: Policy) -> tuple[Call, str | None]:
    if line.settings.kind != "openai":
        return _skipped(call, name, "this kind of upstream takes none"), None
    if call.dialect not in line.upstream.dialects:
        return _skipped(call, name, "the request is translated"), None
    if name == "cache_salt" and line.settings.tenant_salt:
        return _skipped(call, name, "tenant_salt sets it"), None
    return put_member(call, sight, name, policy)


def _skipped(call: Call, name: str, reason: str) -> Call:
    return replace(call, changes=(*call.changes, Change(name, skipped=((name, reason),))))
