"""The look at one request: its template, what its cache promises, its predecessor, its own place in history.

When a look is taken is `arrivals`' business, and what follows from it `observation`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.observe.history import Entry
from promptcache_gateway.observe.observation import Sight
from promptcache_gateway.observe.prompt import Prompt, share_texts
from promptcache_gateway.observe.rules import CacheRules, with_marks

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.observe.history import History
    from promptcache_gateway.observe.known_upstreams import KnownUpstreams
    from promptcache_gateway.observe.reading import PromptReader
    from promptcache_gateway.observe.template_name import TemplateName
    from promptcache_gateway.observe.templates import Templates

_FOREVER = float("-inf")


class Lookout:
    """Looks at requests, one after the other."""

    def __init__(
        self, reader: PromptReader, templates: Templates, upstreams: KnownUpstreams, history: History
    ) -> None:
        self._reader, self._templates = reader, templates
        self._upstreams, self._history = upstreams, history

    def look(self, call: Call) -> Sight:
        """What is seen of a call; it is a predecessor from then on.

        Raises:
            promptcache.errors.MalformedRequestError: its body is not one of the known shapes.
        """
        prompt = self._reader.read(call.payload, call.tenant)
        name = self._templates.name(call.tenant, call.template, prompt)
        rules = with_marks(self._upstreams.rules(call), prompt.marked, prompt.parameters)
        emptied, route = self._upstreams.emptied_at(call.upstream), (call.upstream, call.model)
        since = _FOREVER if rules.lifetime_s is None else call.received_at - rules.lifetime_s
        since = since if emptied is None else max(since, emptied)
        match = self._history.find(
            call.tenant, name.family, prompt, route=route, not_before=since, at=call.received_at
        )
        if match.predecessor is not None:
            prompt = share_texts(prompt, match.predecessor.prompt)
        entry = self._remember(call, name, prompt, rules) if call.use_cache else None
        return Sight(name, rules, prompt, match, entry, emptied)

    def _remember(self, call: Call, name: TemplateName, prompt: Prompt, rules: CacheRules) -> Entry:
        entry = Entry(call.id, prompt, call.model, call.upstream, call.received_at, lifetime_s=rules.kept_s)
        self._history.add(call.tenant, name.family, entry)
        return entry
