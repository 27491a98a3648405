"""One request while it is under way: what the observer noted when it came in.

Made by `Observer.open`, handed back to it with the outcome. The comparison with the predecessor is
made when it is first asked for, after the request has been forwarded.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from promptcache_gateway.observe.comparison import Comparison, compare
from promptcache_gateway.observe.evidence import Evidence

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.observe.history import Entry, Match
    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.rules import CacheRules
    from promptcache_gateway.observe.templates import TemplateName


class Observation:
    """A request under way.

    Attributes:
        call: the request.
        name: its template.
        prompt: the request, cut; None where its shape is unknown.
        match: what history found; None where the prompt is.
        entry: what history keeps of it; None where nothing is kept.
        rules: what the upstream's cache promises.
        emptied_at: Unix time at which that cache was last emptied on demand, or None.
    """

    def __init__(
        self,
        call: Call,
        name: TemplateName,
        *,
        prompt: Prompt | None = None,
        match: Match | None = None,
        entry: Entry | None = None,
        rules: CacheRules,
        emptied_at: float | None = None,
    ) -> None:
        self.call = call
        self.name = name
        self.prompt = prompt
        self.match = match
        self.entry = entry
        self.rules = rules
        self.emptied_at = emptied_at
        self._evidence: Evidence | None = None
        self._lock = Lock()

    @property
    def template(self) -> str:
        """The template's name."""
        return self.name.name

    def evidence(self, masker: Masker) -> Evidence:
        """Everything a diagnosis may rest on; the comparison is made once."""
        with self._lock:
            if self._evidence is None:
                self._evidence = self._gather(masker)
            return self._evidence

    def _gather(self, masker: Masker) -> Evidence:
        route = (self.call.upstream, self.call.model)
        comparison: Comparison | None = None
        if self.prompt is not None and self.match is not None:
            comparison = compare(self.prompt, self.match, route, masker)
        return Evidence(
            prompt=self.prompt,
            match=self.match,
            comparison=comparison,
            rules=self.rules,
            route=route,
            received_at=self.call.received_at,
            emptied_at=self.emptied_at,
            use_cache=self.call.use_cache,
        )
