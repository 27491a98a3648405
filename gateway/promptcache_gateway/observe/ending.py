"""A request that has ended: what its answer says of it, and what it leaves behind for those that come.

The first is found out before the answer is sent, which must not wait for the rest: history hears of the end
once the answer is out, or earlier, where another request is looked at in between. What is recorded of it is
`recording`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.quick_values import quick
from promptcache_gateway.observe.ruler import lengths_told

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Outcome
    from promptcache_gateway.observe.answered import Answered
    from promptcache_gateway.observe.diagnosis import Diagnosis, Draft
    from promptcache_gateway.observe.history import History
    from promptcache_gateway.observe.observation import Observation
    from promptcache_gateway.observe.row import Entry


@quick
@dataclass(frozen=True, slots=True)
class Ended:
    """A request, ended.

    Attributes:
        observation: what was noted of it.
        outcome: how it ended, with the counts that are believed.
        diagnosis: why what was not read was not, as far as the answer says it.
        template: the name that its template is shown under.
        named: the request of the earlier answer that it was asked to be compared with, None without one.
    """

    observation: Observation
    outcome: Outcome
    diagnosis: Diagnosis | Draft
    template: str
    named: Entry | None = None

    @property
    def id(self) -> str:
        """The gateway's id of the request."""
        return self.observation.call.id

    @property
    def prompt_tokens(self) -> int | None:
        """The whole prompt, None where the upstream did not say."""
        engine = self.outcome.engine
        return self.outcome.usage.total_input if engine is None else engine.prompt_tokens

    @property
    def cached_tokens(self) -> int | None:
        """Read from the cache, None where the upstream did not say."""
        engine = self.outcome.engine
        return self.outcome.usage.cache_read if engine is None else engine.cached_tokens


def was_computed(outcome: Outcome) -> bool:
    """Whether an upstream worked on the prompt: it told counts, or the caller hung up on an answer."""
    return outcome.engine is not None or outcome.usage.total_input is not None


def settle(ended: Ended, history: History, answered: Answered) -> None:
    """Tell history how it ended: what no upstream worked on is no predecessor.

    A stream that was cut after its first output has been worked on, whether or not it was counted.
    """
    sight, call, outcome = ended.observation.sight, ended.observation.call, ended.outcome
    entry = sight.entry
    if entry is None:
        return
    if outcome.ttft_ms is None and not was_computed(outcome) and outcome.status >= 400:
        history.discard(call.tenant, sight.name.family, entry)
        return
    wait_s = (outcome.ttft_ms if outcome.ttft_ms is not None else outcome.duration_ms) / 1000.0
    entry.prompt_tokens = outcome.usage.total_input
    entry.cached_tokens = outcome.usage.cache_read
    entry.answered_at = call.received_at + wait_s
    told = lengths_told(entry, outcome, marked_only=sight.rules.marked_only)
    history.learn(call.tenant, sight.name.family, entry, told)
    answered.add(call.tenant, entry, outcome.response_id)
