"""Which upstreams and models did not answer of late, and whether that drove a request to another one.

A caller that asks another model because the first one refused did not change its mind. The gateway saw the
refusal: of the very same prompt, or of the last request that went there.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry

_MOST = 512
_WITHIN_S = 300.0
_Route = tuple[str, str]


@dataclass(eq=False, slots=True)
class Failed:
    """When one tenant's requests failed of late, by upstream and model, and by these and the prompt."""

    times: OrderedDict[tuple[_Route, int | None], float] = field(default_factory=OrderedDict)

    def add(self, entry: Entry) -> None:
        """Note a request that no upstream worked on."""
        for key in ((entry.route, None), (entry.route, entry.prompt.exact[-1])):
            self.times[key] = entry.received_at
            self.times.move_to_end(key)
        while len(self.times) > _MOST:
            self.times.popitem(last=False)

    def answered(self, entry: Entry) -> None:
        """Note a request that was answered: where it went, others can go again."""
        if self.times.get((entry.route, None), entry.received_at) <= entry.received_at:
            self.times.pop((entry.route, None), None)

    def drove(self, prompt: Prompt, best: Entry, at: float) -> bool:
        """Whether a request that came at a time could not go where its predecessor ``best`` had gone."""
        keys = ((best.route, prompt.exact[-1]), (best.route, None))
        return any(0 <= at - self.times[key] <= _WITHIN_S for key in keys if key in self.times)
