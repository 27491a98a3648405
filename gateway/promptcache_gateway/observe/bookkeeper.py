"""Counts and records requests, and looks at none: the observer where the operator has turned diagnosis off.

No prompt is cut, keyed, compared or remembered, and no template is learned. What a request's headers, its
answer and the clock tell is recorded as always, and its diagnosis says that there is none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_gateway.observe.diagnosis import Diagnosis
from promptcache_gateway.observe.ending import Ended
from promptcache_gateway.observe.observation import Observation, Sight
from promptcache_gateway.observe.observer import Observer

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call, EngineFacts, Outcome

OFF = Diagnosis(summary="Diagnosis is off ([serve] diagnosis): the request was counted and not looked at.")
"""What is said of every request."""


class Bookkeeper(Observer):
    """An `Observer` that looks at no prompt."""

    def open(self, call: Call) -> Observation:
        """Note a request that has come in. Its template is the one that its caller names."""
        self._open.add(call.id)
        observation = Observation(call, self._look)
        self._look(observation)
        return observation

    def prepare(
        self, observation: Observation, *, whatever_is_read: bool = False, at_leisure: bool = False
    ) -> None:
        """Nothing: there is nothing to compare."""

    def preview(self, observation: Observation, engine: EngineFacts | None) -> Diagnosis:  # noqa: ARG002
        """That it is not diagnosed."""
        return OFF

    def conclude(self, observation: Observation, outcome: Outcome) -> Ended:
        """What its answer says of a request; `finish` does the rest."""
        call = observation.call
        usage = self.conventions.read(call, outcome.usage)
        if usage is not outcome.usage:
            outcome = replace(outcome, usage=usage)
        outcome = self._upstreams.placed(call, outcome)
        shown = self.renames.shown(call.tenant, observation.template)
        return Ended(observation, outcome, OFF, shown, self.answered.named(observation, outcome.question))

    def _look(self, observation: Observation) -> None:
        call = observation.call
        observation.see(Sight(self._unread_name(call), self._upstreams.rules(call)))
