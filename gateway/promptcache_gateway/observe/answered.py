"""Answered requests by the id of their answer, and what is said where a caller names one.

A caller of a provider's diagnostics names an earlier *answer*. Nothing is kept here but weak references: what
history forgets is not found any more. References that lead nowhere are swept out whenever there are twice as
many as there were after the last time, so that memory is bounded by history's own bounds.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import ref

from promptcache_gateway.observe.foreseen import Inquiry

if TYPE_CHECKING:
    from promptcache.usage import Usage
    from promptcache_gateway.exchange import Question
    from promptcache_gateway.observe.observation import Observation
    from promptcache_gateway.observe.row import Entry


_LEAST_SWEPT = 1_024


class Answered:
    """The index. Safe to share between threads."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], ref[Entry]] = {}
        self._most = _LEAST_SWEPT
        self._lock = Lock()

    def add(self, tenant: str, entry: Entry, response_id: str | None) -> None:
        """Note under which id a request was answered.

        Where an API is translated, the gateway may have named the answer after the request.
        """
        entry.response_id = response_id
        known = ref(entry)
        with self._lock:
            self._entries[tenant, _tail(entry.id)] = known
            if response_id is not None:
                self._entries[tenant, response_id] = known
            if len(self._entries) > self._most:
                self._sweep()

    def find(self, tenant: str, response_id: str) -> Entry | None:
        """The request of that answer, or None: another tenant's is not found either."""
        with self._lock:
            found = self._led_to(tenant, response_id)
            return found if found is not None else self._led_to(tenant, _tail(response_id))

    def _led_to(self, tenant: str, name: str) -> Entry | None:
        known = self._entries.get((tenant, name))
        return None if known is None else known()

    def _sweep(self) -> None:
        self._entries = {name: known for name, known in self._entries.items() if known() is not None}
        self._most = max(_LEAST_SWEPT, 2 * len(self._entries))

    def foresee(self, observation: Observation) -> None:
        """Have ready what is said to what a request is known to ask, if nothing is read."""
        question = observation.question
        if question is not None:
            observation.foreseen = self._inquiry(observation, question).foresee()

    def answer(self, observation: Observation, question: Question, usage: Usage) -> dict[str, Any] | None:
        """The provider's diagnostics object as the gateway has it; ``usage`` as far as it is known."""
        return self._inquiry(observation, question).answer(usage.cache_read, observation.foreseen)

    def _inquiry(self, observation: Observation, question: Question) -> Inquiry:
        sight = observation.sight
        return Inquiry(question, self.named(observation, question), sight.prompt, sight.rules.kind)

    def named(self, observation: Observation, question: Question | None) -> Entry | None:
        """The request of the earlier answer that a question names; None where it is not known."""
        if question is None or question.response_id is None:
            return None
        return self.find(observation.call.tenant, question.response_id)

    def asks_about(self, observation: Observation) -> str | None:
        """The earlier answer that a request should be compared with at its upstream, None without one."""
        match = observation.sight.match
        if match is None or match.predecessor is None:
            return None
        entry = match.predecessor
        return entry.response_id if entry.upstream == observation.call.upstream else None

    def __len__(self) -> int:
        with self._lock:
            return sum(known() is not None for known in self._entries.values())


def _tail(name: str) -> str:
    """What follows an id's prefix: the same for a request and an answer that is named after it."""
    return name.partition("_")[2] or name
