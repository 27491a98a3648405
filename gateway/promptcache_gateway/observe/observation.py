"""One request while it is under way: what the observer noted when it came in.

Made by `Observer.open`, handed back to it with the outcome. It is looked at a moment later (`arrivals`), and
the comparison with the predecessor is made when it is first asked for, after the request has been forwarded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

from promptcache.quick_values import quick
from promptcache_gateway.observe.alternation import in_another_form
from promptcache_gateway.observe.compaction import of_another_template
from promptcache_gateway.observe.comparison import Comparison, compare
from promptcache_gateway.observe.drawn import unless_drawn_anew
from promptcache_gateway.observe.evidence import Evidence
from promptcache_gateway.observe.joined import unless_joined
from promptcache_gateway.observe.rules import with_marks

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.exchange import Call, Question
    from promptcache_gateway.observe.forecast import Forecast
    from promptcache_gateway.observe.foreseen import Foreseen
    from promptcache_gateway.observe.history import Entry, Match
    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.rules import CacheRules
    from promptcache_gateway.observe.template_name import TemplateName


@quick
@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen of a request.

    Attributes:
        name: its template.
        rules: what the upstream's cache promises.
        prompt: the request, cut; None where its shape is unknown.
        match: what history found; None where the prompt is.
        entry: what history keeps of it; None where nothing is kept.
        emptied_at: Unix time at which that cache was last emptied on demand, or None.
    """

    name: TemplateName
    rules: CacheRules
    prompt: Prompt | None = None
    match: Match | None = None
    entry: Entry | None = None
    emptied_at: float | None = None


class Observation:
    """A request under way.

    Attributes:
        call: the request.
        over: its answer has been found out; nothing more is made ready for it.
        forecast: what the head of its answer said, where the built-in engine serves it.
        question: what is asked about the cache at its provider, None where that is nothing.
        foreseen: what will be said to that if nothing was read, once it has been made ready.
    """

    __slots__ = (
        "_evidence",
        "_lock",
        "_look_at",
        "_sight",
        "call",
        "forecast",
        "foreseen",
        "over",
        "question",
    )

    def __init__(self, call: Call, look_at: Callable[[Observation], None]) -> None:
        """``look_at`` has the request looked at."""
        self.call = call
        self.over = False
        self.forecast: Forecast | None = None
        self.question: Question | None = None
        self.foreseen: Foreseen | None = None
        self._look_at = look_at
        self._sight: Sight | None = None
        self._evidence: Evidence | None = None
        self._lock = Lock()

    @property
    def sight(self) -> Sight:
        """What was seen of it."""
        if self._sight is None:
            self._look_at(self)
        assert self._sight is not None, "a look always leaves a sight"
        return self._sight

    @property
    def looked_at(self) -> bool:
        """Whether it has been looked at."""
        return self._sight is not None

    @property
    def seen(self) -> bool:
        """Whether it has been looked at and compared, so that nothing of it remains to be done."""
        return self._evidence is not None

    def see(self, sight: Sight) -> None:
        """Keep what a look found."""
        self._sight = sight

    def revise(self, prompt: Prompt) -> None:
        """Take the prompt as it goes to the upstream, where marks or keys were put into it on the way.

        Its texts are the same, so that history finds it as before.
        """
        sight = self.sight
        with self._lock:
            rules = with_marks(sight.rules, prompt.marked, prompt.parameters)
            if sight.entry is not None:
                sight.entry.prompt, sight.entry.lifetime_s = prompt, rules.kept_s
            self._sight = replace(sight, prompt=prompt, rules=rules)
            self._evidence = None

    @property
    def template(self) -> str:
        """The template's name."""
        return self.sight.name.name

    def evidence(self, masker: Masker) -> Evidence:
        """Everything a diagnosis may rest on; the comparison is made once.

        Where marks or keys were put into the predecessor meanwhile, it is made anew.
        """
        known = self._evidence
        if known is not None and not known.is_stale:
            return known
        sight = self.sight
        with self._lock:
            if self._evidence is None or self._evidence.is_stale:
                self._evidence = self._gather(sight, masker)
            return self._evidence

    def _gather(self, sight: Sight, masker: Masker) -> Evidence:
        route = (self.call.upstream, self.call.model)
        comparison: Comparison | None = None
        match = sight.match
        if sight.prompt is not None and match is not None:
            own, match = match, of_another_template(sight.prompt, match)
            comparison = compare(sight.prompt, match, route, masker, compacted=match is not own)
            if comparison is not None and match is own:
                comparison = unless_drawn_anew(
                    comparison, masker, shuffled=match.shuffled, forked=match.forked
                )
                if sight.rules.reports_exactly:
                    comparison = unless_joined(comparison)
                match, comparison = in_another_form(
                    comparison, match, route, masker, marked_only=sight.rules.marked_only
                )
        return Evidence(
            prompt=sight.prompt,
            match=match,
            comparison=comparison,
            rules=sight.rules,
            route=route,
            received_at=self.call.received_at,
            emptied_at=sight.emptied_at,
            use_cache=self.call.use_cache,
            living=None if match is None or match.living is None else match.living.prompt,
        )
